"""Redaction of a session in PostgreSQL, and what the server keeps of rows that are gone.

A changed row leaves its former version in the table until a VACUUM, and what the planner sampled in
its statistics until an ANALYZE. So the tables are written anew, for which nobody else may use them
meanwhile. What the server has sent elsewhere or written to its log (WAL, replicas, backups) is its
administrator's.
"""

import asyncio

from agentic.errors import HistoryNotWritten
from agentic.history._redaction import Redacted, Request, redact_lines
from agentic.history._state import State
from agentic.history.postgres._rows import Rows
from agentic.history.postgres._server import Connection, without_limit

__all__ = ["check_owner", "purge", "redact_rows"]

_TABLES = ("entries", "outputs", "sessions")
_OWNED = """
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class
    WHERE relnamespace = 'agentic'::regnamespace AND relname = ANY(%s)
"""


async def check_owner(connection: Connection, name: str) -> None:
    """Refuse to begin what would end with a warning: VACUUM leaves out tables of others.

    Raises:
        HistoryNotWritten: the tables belong to somebody else.
    """
    row = await (await connection.execute(_OWNED, [[*_TABLES]])).fetchone()
    if not row or not row[0]:
        problem = "only the owner of the tables in the schema agentic can remove former rows"
        raise HistoryNotWritten(name, problem)


async def redact_rows(rows: Rows, request: Request, state: State, writer: int) -> State:
    """Change the entries that hold a message, and return the state that this leaves.

    Raises:
        HistoryCorrupt: an entry cannot be read.
        MessageNotFound: there is no such message.
    """
    async with rows.connection.transaction():
        numbers, texts = await rows.all_texts()
        redacted = await asyncio.to_thread(redact_lines, texts, request, rows.name)
        for seq, before, after in zip(numbers, texts, redacted.lines, strict=True):
            if after is not before:
                await rows.change(seq, after)
        gone = await _remove_outputs(rows, redacted)
        await rows.set_title(request.hide_in_title(await rows.title()))
        state = state.follow(None)
        await rows.append("optional", request.record(gone), state, writer)
    return state


async def purge(connection: Connection) -> None:
    """Leave nothing in the tables' files but the rows that are there."""
    async with without_limit(connection):
        for table in _TABLES:
            await connection.execute(f"VACUUM (FULL, ANALYZE) agentic.{table}".encode())


async def _remove_outputs(rows: Rows, redacted: Redacted) -> list[str]:
    gone = [
        ref for ref in await rows.refs() if redacted.must_go(ref, await rows.output(ref) or b"")
    ]
    await rows.remove_outputs(gone)
    return gone
