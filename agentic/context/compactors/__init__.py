"""Compactors: objects that turn old messages into the text of a summary.

Start with `Digest`, `Model` and `first_of`.

Any object with `async compact(messages) -> str` is a compactor. Test a custom one with
`testing.check_compactor`.
"""

import typing

from agentic import _lazy
from agentic.context.digest import message_ref as message_ref

if typing.TYPE_CHECKING:
    from agentic.context.compactors._combinators import first_of, with_digest
    from agentic.context.compactors._model import Ask as Ask
    from agentic.context.compactors._model import Model
    from agentic.context.digest import Digest
    from agentic.context.digest import ToolKind as ToolKind
    from agentic.context.digest import ToolTable as ToolTable

__all__ = ["Digest", "Model", "first_of", "with_digest"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "Ask": "._model",
        "Digest": "agentic.context.digest",
        "Model": "._model",
        "ToolKind": "agentic.context.digest",
        "ToolTable": "agentic.context.digest",
        "first_of": "._combinators",
        "with_digest": "._combinators",
    },
)
