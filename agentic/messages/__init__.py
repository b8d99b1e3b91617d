"""Messages, the rounds that they form, and the JSON form that every store uses.

Start with `Message`, `ToolCall`, `ToolResult` and `split_rounds`.
"""

from agentic.messages._message import ContextSummary, Message, SummaryText
from agentic.messages._parts import Media, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._plain import from_plain, to_plain
from agentic.messages._rounds import Round, close_open_rounds, leading_system_count, split_rounds
from agentic.messages._timeline import Timeline

__all__ = [
    "ContextSummary",
    "Media",
    "Message",
    "ProviderPayload",
    "Round",
    "SummaryText",
    "Timeline",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "close_open_rounds",
    "from_plain",
    "leading_system_count",
    "split_rounds",
    "to_plain",
]
