"""Messages, the rounds that they form, and the JSON form that every store uses.

Start with `Message`, `ToolCall`, `ToolResult` and `split_rounds`.
"""

from agentic.messages._growth import RecentConversations, continues
from agentic.messages._landmarks import Task, find_summary, find_task, prefix_length, read_summary
from agentic.messages._message import ContextSummary, Message, Role, SummaryText, check_messages
from agentic.messages._parts import Media, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._plain import from_plain, to_plain
from agentic.messages._rounds import (
    Round,
    close_open_rounds,
    count_settled,
    leading_system_count,
    reopen_rounds,
    split_rounds,
)

__all__ = [
    "ContextSummary",
    "Media",
    "Message",
    "ProviderPayload",
    "RecentConversations",
    "Role",
    "Round",
    "SummaryText",
    "Task",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "check_messages",
    "close_open_rounds",
    "continues",
    "count_settled",
    "find_summary",
    "find_task",
    "from_plain",
    "leading_system_count",
    "prefix_length",
    "read_summary",
    "reopen_rounds",
    "split_rounds",
    "to_plain",
]
