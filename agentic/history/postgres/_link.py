"""A connection that is made when it is needed, and made anew when it was lost."""

import attrs
import psycopg

from agentic.history.postgres import _schema
from agentic.history.postgres._server import Connection, connect, is_over

__all__ = ["Link"]


@attrs.define(eq=False)
class Link:
    """The way to one database. Not for two tasks at once."""

    dsn: str = attrs.field(repr=False)
    name: str
    """What is asked for there, as an error calls it."""
    fsync: bool
    _connection: Connection | None = attrs.field(default=None, init=False)
    _ready: bool = attrs.field(default=False, init=False)
    """The tables are known to be there."""

    async def to_read(self) -> Connection | None:
        """Return the connection; None if nothing was ever written in the database.

        Raises:
            HistoryUnavailable: the tables are newer than this version of the library.
            psycopg.Error: the server does not answer, or not as it should.
        """
        connection = await self._connect()
        self._ready = self._ready or await _schema.is_there(connection, self.name)
        return connection if self._ready else None

    async def to_write(self) -> Connection:
        """Return the connection to a database that has the tables.

        Raises:
            HistoryUnavailable: they are newer than this version of the library.
            psycopg.Error: the server does not answer, or not as it should.
        """
        connection = await self._connect()
        if not self._ready and not await _schema.is_there(connection, self.name):
            await _schema.make(connection)
        self._ready = True
        return connection

    def is_lost(self, problem: psycopg.Error) -> bool:
        """Return whether there was a connection and this was its end."""
        return self._connection is not None and is_over(self._connection, problem)

    async def aclose(self) -> None:
        """Let the connection go, with the locks that it holds."""
        connection, self._connection, self._ready = self._connection, None, False
        if connection:
            await connection.close()

    async def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            await self.aclose()
            self._connection = await connect(self.dsn, fsync=self.fsync)
        return self._connection
