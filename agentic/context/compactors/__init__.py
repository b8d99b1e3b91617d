"""Compactors: what turns old messages into the text of a summary.

Anything with `async compact(messages) -> str` is one; `testing.check_compactor` proves yours.
"""

from agentic.context.compactors._digest import Digest
from agentic.context.compactors._first_of import first_of
from agentic.context.compactors._tools import ToolKind, ToolTable

__all__ = ["Digest", "ToolKind", "ToolTable", "first_of"]
