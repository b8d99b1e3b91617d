"""The lock of a session: one connection holds it, and whatever ends the connection frees it.

It is an advisory lock of PostgreSQL, under a number made of the session id.
"""

import asyncio
import hashlib
import time

from agentic.errors import HistoryConflict
from agentic.history.postgres._server import Connection

__all__ = ["end_former", "lock_session"]

_GRACE_SECONDS = 0.5
"""How long somebody who has just ended, or was killed, may still seem to hold the lock."""
_END_SECONDS = 10.0
"""How long the server may take to end a process that it is told to end."""
_POLL_SECONDS = 0.02
_TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = %s
        AND classid::bigint = %s AND objid::bigint = %s
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def lock_session(connection: Connection, session_id: str, name: str) -> None:
    """Take the lock for this connection.

    Raises:
        HistoryConflict: somebody else has it.
        psycopg.Error: the connection is lost.
    """
    key, deadline = _make_key(session_id), time.monotonic() + _GRACE_SECONDS
    while not await _try(connection, key):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


async def end_former(connection: Connection, session_id: str, name: str, process: int) -> None:
    """See to it that a lost connection has ended for the server, too.

    Where the network broke, its process there still has the lock, and waits for somebody who will
    not come back. Once it has no lock any more, what it did is done, and it will do nothing else.

    Raises:
        HistoryConflict: it does not end.
        psycopg.Error: the connection is lost.
    """
    key, deadline = _make_key(session_id), time.monotonic() + _END_SECONDS
    while await _end(connection, key, process):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


def _make_key(session_id: str) -> int:
    """Make the number of a lock, in which an accidental equality is not to be expected.

    >>> _make_key("main") == _make_key("main") != _make_key("Main")
    True
    """
    digest = hashlib.blake2b(session_id.encode(), digest_size=8, person=b"agentic").digest()
    return int.from_bytes(digest, signed=True)


async def _try(connection: Connection, key: int) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [key])).fetchone()
    return row is not None and row[0] is True


async def _end(connection: Connection, key: int, process: int) -> bool:
    """End a process that holds the lock; False if it does not."""
    high, low = (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF
    found = await connection.execute(_TERMINATE, [process, high, low])
    return await found.fetchone() is not None
