"""Where a conversation is kept: the protocols, and stores in memory and in files.

`history.sqlite` and `history.postgres` are addresses of their own: each loads a database driver.
"""

from agentic.history._diff import Diff
from agentic.history._folder import JsonlSessions
from agentic.history._jsonl import JsonlStore
from agentic.history._memory import MemoryStore
from agentic.history._protocols import (
    Archive,
    Keeper,
    Redactor,
    Rewriter,
    SessionInfo,
    Sessions,
    Store,
)

__all__ = [
    "Archive",
    "Diff",
    "JsonlSessions",
    "JsonlStore",
    "Keeper",
    "MemoryStore",
    "Redactor",
    "Rewriter",
    "SessionInfo",
    "Sessions",
    "Store",
]
