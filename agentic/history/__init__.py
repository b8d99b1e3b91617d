"""Where a conversation is kept: the protocols, and stores in memory and in files.

`history.sqlite` and `history.postgres` are addresses of their own: each loads a database driver.
"""

from agentic._protocols import Rewriter, Store
from agentic.history._folder import JsonlSessions
from agentic.history._jsonl import JsonlStore
from agentic.history._memory import MemoryStore
from agentic.history._protocols import (
    Archive,
    OutputStore,
    Redactor,
    Revisioned,
    SessionInfo,
    Sessions,
)
from agentic.history._replace import Diff, begins_with, counts_replaced, replace_known

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
