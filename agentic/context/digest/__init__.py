"""A hand-over note written without a model: what was asked, what changed, where things stand.

Start with `Digest` and `ToolTable`. Sections take the turns of a conversation (`_turns.py`) and
offer lines (`_section.py`). To add one, write a class and add it to the list in `_digest.py`.
"""

from agentic.context.digest._digest import Digest
from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import message_ref

__all__ = ["Digest", "ToolTable", "message_ref"]
