"""Where a conversation is kept: the protocols, and stores in memory and in files.

Start with `MemoryStore`, `JsonlStore`, `Store` and `Archive`.

`history.sqlite` and `history.postgres` are imported separately: each loads a database driver.
"""

import typing

from agentic._base import _lazy
from agentic.history._abilities import DiffArchive, Redactor, Sessions
from agentic.history._replace import replace_known
from agentic.protocols import Archive, Rewriter, Store
from agentic.protocols import OutputStore as OutputStore

if typing.TYPE_CHECKING:
    from agentic.history._folder import JsonlSessions
    from agentic.history._jsonl import JsonlStore
    from agentic.history._stores import MemoryStore

__all__ = [
    "Archive",
    "DiffArchive",
    "JsonlSessions",
    "JsonlStore",
    "MemoryStore",
    "Redactor",
    "Rewriter",
    "Sessions",
    "Store",
    "replace_known",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"JsonlSessions": "._folder", "JsonlStore": "._jsonl", "MemoryStore": "._stores"}
)
