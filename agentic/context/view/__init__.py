"""What to send of a conversation: a `View` decides, and returns a `Prepared`.

Start with `View` and `Prepared`.
"""

from agentic.context.view._explain import Removal as Removal
from agentic.context.view._picture import EpochNote as EpochNote
from agentic.context.view._picture import Explanation as Explanation
from agentic.context.view._picture import measure_parts as measure_parts
from agentic.context.view._scheduler import Check as Check
from agentic.context.view._view import Prepared, View
from agentic.context.view._window import Note as Note
from agentic.protocols import ChangeWriter as ChangeWriter
from agentic.protocols import RequestPrefix as RequestPrefix

__all__ = ["Prepared", "View"]
