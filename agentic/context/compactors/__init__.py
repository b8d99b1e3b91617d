"""Compactors: what turns old messages into the text of a summary.

Anything with `async compact(messages) -> str` is one; `testing.check_compactor` proves yours.
"""

from agentic.context.compactors._digest import Digest
from agentic.context.compactors._first_of import first_of
from agentic.context.compactors._model import Ask, Model
from agentic.context.compactors._quoted import message_ref
from agentic.context.compactors._tools import ToolKind, ToolTable
from agentic.context.compactors._with_digest import with_digest

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
