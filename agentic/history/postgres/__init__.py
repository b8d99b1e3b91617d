"""Many conversations in one PostgreSQL database that many machines share.

Start with `PostgresStore` and `PostgresSessions`.

It needs the extra `postgres`, and is imported by its own path because it loads the database driver:
`from agentic.history import postgres`.
"""

from agentic._base import _imports

try:
    with _imports.quietly():
        import psycopg  # noqa: F401
except ImportError as missing:
    raise ImportError(
        f"history.postgres needs psycopg 3: {_imports.pip_install('agentic-weave[postgres]')}"
    ) from missing

from agentic.history.postgres._sessions import PostgresSessions, PostgresStore

__all__ = ["PostgresSessions", "PostgresStore"]
