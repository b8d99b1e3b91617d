"""What to send of a conversation: a `View` decides, and returns a `Prepared`.

Start with `View` and `Prepared`.
"""

from agentic.context.strategies import as_chain as as_chain
from agentic.context.view._explain import Removal as Removal
from agentic.context.view._request import begins_with as begins_with
from agentic.context.view._scheduler import Check as Check
from agentic.context.view._view import Prepared, View
from agentic.context.view._window import Note as Note

__all__ = ["Prepared", "View"]
