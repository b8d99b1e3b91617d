"""One agent's conversation across processes: its archive, its budget, its status, its memory.

Start with `Session` and `Status`.
"""

from agentic.session._recall import RecallTool
from agentic.session._session import Session
from agentic.session._status import Status, render_context

__all__ = ["RecallTool", "Session", "Status", "render_context"]
