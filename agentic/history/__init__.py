"""Where a conversation is kept: the protocols, and stores in memory and in files.

Start with `MemoryStore`, `JsonlStore`, `Store` and `Archive`.

`history.sqlite` and `history.postgres` are imported separately: each loads a database driver.
"""

import typing

from agentic import _lazy
from agentic._protocols import Rewriter, Store
from agentic.history._protocols import (
    Archive,
    OutputStore,
    Redactor,
    Revisioned,
    SessionInfo,
    Sessions,
)
from agentic.history._replace import Diff, begins_with, counts_replaced, replace_known

if typing.TYPE_CHECKING:
    from agentic.history._folder import JsonlSessions
    from agentic.history._jsonl import JsonlStore
    from agentic.history._memory import MemoryStore

__all__ = [
    "Archive",
    "Diff",
    "JsonlSessions",
    "JsonlStore",
    "MemoryStore",
    "OutputStore",
    "Redactor",
    "Revisioned",
    "Rewriter",
    "SessionInfo",
    "Sessions",
    "Store",
    "begins_with",
    "counts_replaced",
    "replace_known",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"JsonlSessions": "._folder", "JsonlStore": "._jsonl", "MemoryStore": "._memory"}
)
