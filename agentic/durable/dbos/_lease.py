"""A worker's lease: while it holds it, nobody takes over its runs."""

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable

import attrs

from agentic._base._lazy import asyncio
from agentic.durable.dbos._tables import Tables
from agentic.errors import AgenticError

_log = logging.getLogger(__name__)
# Before it would expire: so two in a row may fail.
_RENEWALS = 4


@attrs.define
class LeaseLost(AgenticError):
    """A worker was silent for so long that others have taken over its runs."""

    worker: str

    def __str__(self) -> str:
        return (
            f"worker {self.worker} was silent for longer than its lease, and its runs have been "
            "taken over; start it again"
        )


def _new_id() -> str:
    # Unlike the engine's default, which all workers would share.
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"


@attrs.define(eq=False)
class WorkerLease:
    """Renews a lease in a thread, and tells at any moment whether it is held."""

    tables: Tables
    service: str
    """The name of the service, whose workers take over from each other."""
    seconds: float
    each_renewal: Callable[[], None]
    """Called in the thread after each renewal, unless the database was away: then the leases of all
    others have expired too, and they get the time of a lease to renew theirs."""
    worker: str = attrs.field(factory=_new_id, init=False)
    lost: threading.Event = attrs.field(factory=threading.Event, init=False)
    _renewed: float = attrs.field(init=False, default=0.0)
    _cut_off: float = attrs.field(init=False, default=-math.inf)
    """When the database was back, the latest time."""
    _stop: threading.Event = attrs.field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = attrs.field(init=False, default=None)

    @property
    def is_held(self) -> bool:
        """Return whether nobody can have taken over yet.

        The monotonic clock goes on while a process is stopped, so one that is continued knows at
        once that it was away, without asking.
        """
        return not self.lost.is_set() and time.monotonic() - self._renewed < self.seconds

    async def hold(self) -> None:
        """Return when the lease is held: at once, or when the database answers again.

        Raises:
            LeaseLost: somebody has taken over.
        """
        while not self.is_held:
            if self.lost.is_set():
                raise LeaseLost(self.worker)
            await asyncio.sleep(0.05)

    async def confirm(self) -> None:
        """Ask the database, as soon as it answers, and renew the lease: nobody has taken over.

        Raises:
            LeaseLost: somebody has.
        """
        while True:
            try:
                is_held = await asyncio.to_thread(self._renew)
            except Exception as problem:  # noqa: BLE001  the database may come back
                _log.warning("the lease of worker %s is not renewed: %s", self.worker, problem)
                await asyncio.sleep(self.seconds / _RENEWALS)
                continue
            if not is_held:
                raise LeaseLost(self.worker)
            return

    def start(self) -> None:
        """Take the lease, and go on renewing it."""
        # From before the question on: the database counts from a later moment, so this side is the
        # first to know that a lease is over.
        start = time.monotonic()
        self.tables.register(self.worker, self.service, self.seconds)
        self._renewed = start
        self._thread = threading.Thread(
            target=self._keep_renewing, name="agentic-lease", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Release the lease."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self.seconds)
        if not self.lost.is_set():
            try:
                self.tables.renew(self.worker, -1.0)  # over already: nobody has to wait
            except Exception:  # noqa: BLE001  it expires by itself
                _log.warning("the lease of worker %s could not be released", self.worker)

    def _renew(self) -> bool:
        """Extend the lease; return whether it was still held."""
        start = time.monotonic()
        if not self.tables.renew(self.worker, self.seconds):
            self.lost.set()
            return False
        if (now := time.monotonic()) - self._renewed > self.seconds * (1 - 1 / _RENEWALS):
            self._cut_off = now
        self._renewed = max(start, self._renewed)
        return True

    def _keep_renewing(self) -> None:
        while not self._stop.wait(self.seconds / _RENEWALS):
            try:
                if not self._renew():
                    _log.error("%s", LeaseLost(self.worker))
                    return
                if time.monotonic() - self._cut_off > self.seconds:
                    self.each_renewal()
            except Exception as problem:  # noqa: BLE001  the database may come back
                self._cut_off = time.monotonic()
                _log.warning("the lease of worker %s is not renewed: %s", self.worker, problem)
