"""Many conversations in one SQLite file that many processes share.

Start with `SqliteStore` and `SqliteSessions`.

It is imported separately because it loads the database driver: `from agentic.history import
sqlite`.
"""

from agentic.history.sqlite._sessions import SqliteSessions, SqliteStore

__all__ = ["SqliteSessions", "SqliteStore"]
