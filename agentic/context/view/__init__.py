"""What to send of a conversation: a `View` decides, and returns a `Prepared`.

Start with `View` and `Prepared`.
"""

from agentic.context.strategies import as_chain as as_chain
from agentic.context.view._records import Check as Check
from agentic.context.view._records import Note as Note
from agentic.context.view._records import Prepared
from agentic.context.view._records import Removal as Removal
from agentic.context.view._request import begins_with as begins_with
from agentic.context.view._view import View

__all__ = ["Prepared", "View"]
