"""Messages, the rounds that they form, and the JSON form that every store uses.

Start with `Message`, `ToolCall`, `ToolResult` and `split_rounds`.
"""

from agentic.messages._coverage import Coverage as Coverage
from agentic.messages._coverage import SummaryOutcome as SummaryOutcome
from agentic.messages._landmarks import Task as Task
from agentic.messages._landmarks import find_summary as find_summary
from agentic.messages._landmarks import find_task as find_task
from agentic.messages._landmarks import prefix_length as prefix_length
from agentic.messages._landmarks import read_summary as read_summary
from agentic.messages._message import ContextSummary, Message
from agentic.messages._message import Role as Role
from agentic.messages._message import SummaryText as SummaryText
from agentic.messages._parts import Media, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._plain import from_plain, to_plain
from agentic.messages._plain import to_json as to_json
from agentic.messages._provider_compaction import NativeCompaction as NativeCompaction
from agentic.messages._provider_compaction import compaction_text as compaction_text
from agentic.messages._restoration import Restoration as Restoration
from agentic.messages._rounds import Round, close_open_rounds, leading_system_count, split_rounds
from agentic.messages._rounds import count_settled as count_settled
from agentic.messages._rounds import count_sound as count_sound
from agentic.messages._rounds import reopen_rounds as reopen_rounds
from agentic.messages._rounds import repair_rounds as repair_rounds
from agentic.messages._timeline import RecentConversations as RecentConversations
from agentic.messages._timeline import Timeline
from agentic.messages._timeline import common_length as common_length
from agentic.messages._timeline import continues as continues
from agentic.messages._timeline import renew as renew
from agentic.messages._timeline import same as same

__all__ = [
    "ContextSummary",
    "Media",
    "Message",
    "ProviderPayload",
    "Round",
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
