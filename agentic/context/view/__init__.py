"""What to send of a conversation: a `View` decides, and returns a `Prepared`.

Start with `View` and `Prepared`.
"""

from agentic.context.view._records import Check, Note, Prepared, Removal
from agentic.context.view._request import as_chain, begins_with
from agentic.context.view._view import View

__all__ = ["Check", "Note", "Prepared", "Removal", "View", "as_chain", "begins_with"]
