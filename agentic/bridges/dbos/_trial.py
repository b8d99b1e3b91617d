"""How often a run is tried: one that ends each of its workers would otherwise be tried for ever.

Attempts are counted while nothing new is recorded, so that a run which goes on, if only by one step
in the life of a worker, is never given up. A worker has many runs, and all of them are interrupted
by the one that ends it. So half of the attempts are made alone.
"""

import logging

import attrs
import sqlalchemy as sa

from agentic._lazy import asyncio
from agentic.bridges.dbos._tables import Tables, insist

__all__ = ["Trial"]

_log = logging.getLogger(__name__)
_ALONE_SECONDS = 30.0
"""How long one run may keep the others of its kind waiting: its step may last for hours."""


@attrs.define(eq=False)
class Trial:
    """One attempt at a run that was begun before, until it records something new."""

    run_id: str
    tables: Tables
    limit: int
    alone: "asyncio.Semaphore"
    """Held by the one run of the worker that is tried alone."""
    _is_alone: bool = attrs.field(init=False, default=False)
    _is_counted: bool = attrs.field(init=False, default=False)

    async def begin(self) -> str:
        """Count this attempt; return why it must not be made, or an empty text."""
        if await insist(self.tables.attempts, self.run_id) >= self.limit // 2:
            await self.alone.acquire()
            self._is_alone = True
            asyncio.get_running_loop().call_later(_ALONE_SECONDS, self.end)
        self._is_counted = True
        count = await insist(self.tables.count_attempt, self.run_id)
        if count <= self.limit:
            return ""
        return (
            f"{self.limit} attempts in a row ended at the same step, with their workers; the run "
            "is not tried again. Look for a tool that ends its process, then submit it anew"
        )

    async def succeed(self) -> None:
        """Begin to count anew: this attempt has recorded something, or waits for a person."""
        if self._is_counted:
            self._is_counted = False
            await insist(self.tables.forget_attempts, self.run_id)
        self.end()

    def hand_over(self) -> None:
        """Take the count back: the worker is stopped in order, so the run has not ended it."""
        if self._is_counted:
            try:
                self.tables.forget_attempts(self.run_id)
            except sa.exc.SQLAlchemyError as problem:
                _log.warning("an attempt at run %s counts as in vain: %s", self.run_id, problem)

    def end(self) -> None:
        """Let others be tried."""
        if self._is_alone:
            self._is_alone = False
            self.alone.release()
