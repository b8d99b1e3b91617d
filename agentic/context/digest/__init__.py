"""A hand-over note written without a model: what was asked, what changed, where things stand.

Start with `Digest` and `ToolTable`. A conversation is read once, turn by turn (`_turns.py`). Every
section takes turns and offers lines, of which those are shown that fit (`_section.py`). To add a
section, write a class and add it to the list in `_digest.py`.
"""

from agentic.context.digest._digest import Digest
from agentic.context.digest._section import TITLE as TITLE
from agentic.context.digest._tools import ToolKind, ToolTable
from agentic.context.digest._turns import message_ref as message_ref

__all__ = ["Digest", "ToolKind", "ToolTable"]
