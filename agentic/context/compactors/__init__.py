"""Compactors: what turns old messages into the text of a summary.

Anything with `async compact(messages) -> str` is one; `testing.check_compactor` proves yours.
"""

from agentic.context.compactors._first_of import first_of
from agentic.context.compactors._model import Ask, Model
from agentic.context.compactors._with_digest import with_digest
from agentic.context.digest import Digest, ToolKind, ToolTable, message_ref

__all__ = [
    "Ask",
    "Digest",
    "Model",
    "ToolKind",
    "ToolTable",
    "first_of",
    "message_ref",
    "with_digest",
]
