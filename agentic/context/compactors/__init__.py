"""Compactors: objects that turn old messages into the text of a summary.

Start with `Continuation`, `Digest`, `Model` and `first_of`.

Any object with `async compact(messages) -> str` is a compactor. Test a custom one with
`testing.check_compactor`.
"""

import typing

from agentic._base import _lazy
from agentic.context.digest import message_ref as message_ref

if typing.TYPE_CHECKING:
    from agentic.context.compactors._combinators import first_of, with_digest
    from agentic.context.compactors._continuation import Continuation
    from agentic.context.compactors._coverage import with_coverage
    from agentic.context.compactors._model import Model
    from agentic.context.compactors._provider import ProviderCompactor
    from agentic.context.compactors._restoration import ReadAgain, with_restoration
    from agentic.context.digest import Digest
    from agentic.context.digest import ToolTable as ToolTable

__all__ = [
    "Continuation",
    "Digest",
    "Model",
    "ProviderCompactor",
    "ReadAgain",
    "first_of",
    "with_coverage",
    "with_digest",
    "with_restoration",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "Continuation": "._continuation",
        "Digest": "agentic.context.digest",
        "Model": "._model",
        "ProviderCompactor": "._provider",
        "ReadAgain": "._restoration",
        "ToolTable": "agentic.context.digest",
        "first_of": "._combinators",
        "with_coverage": "._coverage",
        "with_digest": "._combinators",
        "with_restoration": "._restoration",
    },
)
