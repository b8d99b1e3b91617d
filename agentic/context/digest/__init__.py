"""The hand-over note that needs no model: what was asked, what changed, where things stand.

Start with `Digest` and `ToolTable`.

`_sections.py` lists the sections, each of which is a module. A conversation is read once, turn by
turn (`_turns.py`); every section takes in the turns and offers lines; `_fit.py` gives them room.
"""

import typing

from agentic import _lazy
from agentic.context.digest._references import message_ref

if typing.TYPE_CHECKING:
    from agentic.context.digest._digest import Digest
    from agentic.context.digest._sections import TITLE
    from agentic.context.digest._tools import ToolKind, ToolTable

__all__ = ["TITLE", "Digest", "ToolKind", "ToolTable", "message_ref"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "Digest": "._digest",
        "TITLE": "._sections",
        "ToolKind": "._tools",
        "ToolTable": "._tools",
    },
)
