"""What to send of a conversation: a `View` decides, and returns a `Prepared`.

Start with `View` and `Prepared`.
"""

from agentic.context.view._prepared import Prepared
from agentic.context.view._view import View
from agentic.protocols import ChangeWriter as ChangeWriter
from agentic.protocols import RequestPrefix as RequestPrefix

__all__ = ["Prepared", "View"]
