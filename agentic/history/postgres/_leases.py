"""Leases: who may write a session, as a row that every write checks in its own transaction.

A write locks the row of its lease until it has committed, and a takeover changes that row. So a
takeover waits for a write that is under way, and a write that comes later finds another epoch. The
times are those of the server: the clocks of the workers do not matter.

Direct writers hold the session's advisory lock. They are refused while a lease is in force, and a
lease is refused while one of them holds that lock.
"""

import math
import secrets
import time
from datetime import UTC

import attrs

from agentic.errors import HistoryConflict
from agentic.history._protocols import Lease
from agentic.history._rows import is_leased
from agentic.history.postgres._database import lock_session
from agentic.history.postgres._server import SYNCHRONOUS, Connection

__all__ = ["HELD", "Fence", "acquire", "refuse_leased", "release", "renew"]

_COMMIT = f"SELECT set_config('synchronous_commit', {SYNCHRONOUS}, true)"
# clock_timestamp(), not now(): that is the start of the transaction, which may have waited since.
_IN_FORCE = """
    FROM agentic.leases
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() FOR SHARE
"""
HELD = f"{_COMMIT} {_IN_FORCE}"
"""One row if the lease is in force; it also sets for this transaction what a direct connection
sets once."""
# A client that is stopped between two statements must not hold the row for longer than its lease.
_HOLD = f"""
    {_COMMIT}, set_config('idle_in_transaction_session_timeout', greatest(100,
        ceil(1000 * extract(epoch FROM expires_at - clock_timestamp())))::bigint::text, true)
    {_IN_FORCE}
"""
_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', %s, true)"
_ACQUIRE = """
    INSERT INTO agentic.leases AS held (session, owner, expires_at)
    VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s))
    ON CONFLICT (session) DO UPDATE
        SET owner = excluded.owner, epoch = DEFAULT, expires_at = excluded.expires_at
        WHERE held.owner = excluded.owner OR held.expires_at <= clock_timestamp()
    RETURNING epoch, expires_at
"""
_RENEW = """
    UPDATE agentic.leases SET expires_at = clock_timestamp() + make_interval(secs => %s)
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() RETURNING epoch, expires_at
"""
_FIND = "SELECT owner FROM agentic.leases WHERE session = %s AND expires_at > clock_timestamp()"
_AWAIT = """
    SELECT 1 FROM agentic.leases
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() FOR UPDATE
"""
_SECONDS = 60.0
"""How long a store behind a pooler holds its session without writing before others may take it."""


@attrs.define(eq=False)
class Fence:
    """The lease under which one writer writes: its caller's, or one of its own."""

    session_id: str
    name: str
    """The name for the session in error messages."""
    fsync: bool
    given: Lease | None
    _owner: str = attrs.field(factory=lambda: secrets.token_hex(8), init=False)
    _lease: Lease | None = attrs.field(default=None, init=False)
    _renewed: float = attrs.field(default=0.0, init=False)

    @property
    def values(self) -> tuple[object, ...]:
        """The values of the placeholders in `HELD`."""
        return self.fsync, self.session_id, self._lease.epoch if self._lease else 0

    async def claim(self, connection: Connection) -> None:
        """Take the lease, after all that was sent under it before is done or has failed.

        Raises:
            HistoryConflict: the given lease is lost, or somebody else writes this session.
        """
        if self.given:
            # An entry that a lost connection had sent holds the row, so this waits for its end.
            wait = await connection.execute(_AWAIT, [self.session_id, self.given.epoch])
            if await wait.fetchone() is None:
                raise self.lost()
            self._lease = self.given
        else:
            # A new epoch: what a lost connection had sent under the former one fails from now on.
            self._lease = await acquire(
                connection, self.session_id, self._owner, _SECONDS, self.name
            )
        self._renewed = time.monotonic()

    async def keep(self, connection: Connection) -> bool:
        """Renew the writer's own lease if it is time; return False if it is lost."""
        if self.given or time.monotonic() < self._renewed + _SECONDS / 3:
            return True
        try:
            self._lease = self._lease and await renew(connection, self._lease, _SECONDS, self.name)
        except HistoryConflict:
            return False
        self._renewed = time.monotonic()
        return True

    async def check(self, connection: Connection) -> None:
        """Hold the lease until the end of this transaction, which ends with it if it is idle.

        Raises:
            HistoryConflict: it is lost.
        """
        held = await connection.execute(_HOLD.encode(), self.values)
        if await held.fetchone() is None:
            raise self.lost()

    async def release(self, connection: Connection) -> None:
        """Release a lease of the writer's own."""
        lease, self._lease = self._lease, None
        if lease and not self.given:
            await release(connection, lease)

    def lost(self) -> HistoryConflict:
        """Return the error for a lease that is no longer in force."""
        lease = self._lease or self.given
        assert lease  # noqa: S101  claim() comes before every write
        return HistoryConflict(self.name, lease.describe_loss())


async def acquire(
    connection: Connection, session_id: str, owner: str, seconds: float, name: str
) -> Lease:
    """Take a lease with a new epoch.

    Raises:
        HistoryConflict: somebody else writes this session, with or without a lease.
    """
    async with connection.transaction():
        # Nor must a client that is stopped here keep others away for longer than its lease would.
        await connection.execute(_LIMIT, [f"{max(100, math.ceil(1000 * seconds))}ms"])
        await lock_session(connection, session_id, name, until_commit=True)
        found = await connection.execute(_ACQUIRE, [session_id, owner, seconds])
        row = await found.fetchone()
        if row is None:
            await refuse_leased(connection, session_id, name)
            raise HistoryConflict(name)  # it expired just now
    epoch, expires_at = row
    return Lease(session_id, owner, epoch, expires_at.astimezone(UTC))


async def renew(connection: Connection, lease: Lease, seconds: float, name: str) -> Lease:
    """Extend a lease that is in force.

    Raises:
        HistoryConflict: it has expired, or somebody else has it.
    """
    found = await connection.execute(_RENEW, [seconds, lease.session_id, lease.epoch])
    row = await found.fetchone()
    if row is None:
        raise HistoryConflict(name, lease.describe_loss())
    return attrs.evolve(lease, expires_at=row[1].astimezone(UTC))


async def release(connection: Connection, lease: Lease) -> None:
    """Remove a lease, unless somebody else has taken the session over."""
    remove = "DELETE FROM agentic.leases WHERE session = %s AND epoch = %s"
    await connection.execute(remove, [lease.session_id, lease.epoch])


async def refuse_leased(connection: Connection, session_id: str, name: str) -> None:
    """Raise if a lease on the session is in force, because only its owner may write.

    Raises:
        HistoryConflict: there is one.
    """
    row = await (await connection.execute(_FIND, [session_id])).fetchone()
    if row is not None:
        raise is_leased(name, row[0])
