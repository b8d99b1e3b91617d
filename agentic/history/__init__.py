"""Where a conversation is kept: the protocols, and stores in memory and in files.

Start with `MemoryStore`, `JsonlStore`, `Store` and `Archive`.

`history.sqlite` and `history.postgres` are imported separately: each loads a database driver.
"""

import typing

from agentic._base import _lazy
from agentic.history._abilities import BatchStore as BatchStore
from agentic.history._abilities import DiffArchive as DiffArchive
from agentic.history._abilities import EditsSessions as EditsSessions
from agentic.history._abilities import KeepsLeases as KeepsLeases
from agentic.history._abilities import KeyedStore as KeyedStore
from agentic.history._abilities import Lease as Lease
from agentic.history._abilities import LeasedSessions as LeasedSessions
from agentic.history._abilities import ListsSessions as ListsSessions
from agentic.history._abilities import MovesSessions as MovesSessions
from agentic.history._abilities import Redactor as Redactor
from agentic.history._abilities import RedactsSessions as RedactsSessions
from agentic.history._abilities import Revisioned as Revisioned
from agentic.history._abilities import SessionInfo as SessionInfo
from agentic.history._abilities import Sessions
from agentic.history._replace import Diff as Diff
from agentic.history._replace import begins_with as begins_with
from agentic.history._replace import replace_known as replace_known
from agentic.protocols import Archive, Rewriter, Store
from agentic.protocols import OutputStore as OutputStore

if typing.TYPE_CHECKING:
    from agentic.history._folder import JsonlSessions
    from agentic.history._jsonl import JsonlStore
    from agentic.history._stores import MemoryStore

# What users only receive is not listed; `as` re-exports it for strict type checkers all the same.
__all__ = [
    "Archive",
    "JsonlSessions",
    "JsonlStore",
    "MemoryStore",
    "Rewriter",
    "Sessions",
    "Store",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"JsonlSessions": "._folder", "JsonlStore": "._jsonl", "MemoryStore": "._stores"}
)
