"""A hand-over note written without a model: what was asked, what changed, where things stand.

Start with `Digest` and `ToolTable`. Sections take the turns of a conversation (`_turns.py`) and
offer lines (`_section.py`). To add one, write a class and add it to the list in `_digest.py`.
"""

from agentic.context.digest._digest import Digest
from agentic.context.digest._explained import NoteLine, explain_note
from agentic.context.digest._section import Fact as Fact
from agentic.context.digest._tools import ToolKind, ToolTable
from agentic.context.digest._turns import message_ref as message_ref

__all__ = ["Digest", "NoteLine", "ToolKind", "ToolTable", "explain_note"]
