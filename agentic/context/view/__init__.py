"""What to send of a conversation: `View` decides, `Prepared` is what it decided."""

from agentic.context.view._records import Check, Note, Prepared, Removal
from agentic.context.view._view import View

__all__ = ["Check", "Note", "Prepared", "Removal", "View"]
