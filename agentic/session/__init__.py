"""One agent's conversation across processes: its archive, its budget, its status, its memory.

Start with `Session` and `Status`.
"""

import typing

from agentic._base import _lazy
from agentic.session._session import Session, Status, render_context

if typing.TYPE_CHECKING:
    from agentic.session._compaction_tool import CompactionTool
    from agentic.session._recall import RecallTool

__all__ = ["CompactionTool", "RecallTool", "Session", "Status", "render_context"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"CompactionTool": "._compaction_tool", "RecallTool": "._recall"}
)
