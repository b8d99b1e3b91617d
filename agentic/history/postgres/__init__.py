"""Many conversations in one PostgreSQL database that many machines share.

Start with `PostgresStore` and `PostgresSessions`.

It is imported separately because it loads the database driver: `from agentic.history import
postgres`, after `pip install 'agentic-weave[postgres]'`.
"""

from agentic import _imports

try:
    with _imports.quietly():
        import psycopg  # noqa: F401
except ImportError as missing:
    raise ImportError(
        "history.postgres needs psycopg 3: pip install 'agentic-weave[postgres]'"
    ) from missing

from agentic.history.postgres._sessions import PostgresSessions, PostgresStore

__all__ = ["PostgresSessions", "PostgresStore"]
