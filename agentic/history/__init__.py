"""Where a conversation is kept: the protocols, and stores in memory and in files.

Start with `MemoryStore`, `JsonlStore`, `Store` and `Archive`.

`history.sqlite` and `history.postgres` are imported separately: each loads a database driver.
"""

import typing

from agentic import _lazy
from agentic._protocols import Rewriter, Store
from agentic.history._protocols import Archive, Sessions
from agentic.history._protocols import KeyedStore as KeyedStore
from agentic.history._protocols import Lease as Lease
from agentic.history._protocols import LeasedSessions as LeasedSessions
from agentic.history._protocols import OutputStore as OutputStore
from agentic.history._protocols import Redactor as Redactor
from agentic.history._protocols import Revisioned as Revisioned
from agentic.history._protocols import SessionInfo as SessionInfo
from agentic.history._replace import Diff as Diff
from agentic.history._replace import begins_with as begins_with
from agentic.history._replace import counts_replaced as counts_replaced
from agentic.history._replace import replace_known as replace_known

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
