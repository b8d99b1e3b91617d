"""The time of a run: what dates its messages, and what measures it. A replay repeats both."""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime

import attrs


@attrs.define
class Stopwatch:
    """Measures time, except while it is paused."""

    recorded: float | None = attrs.field(default=None, kw_only=True)
    """The seconds at the latest recorded step of a run that an engine records; else None."""
    end: float | None = attrs.field(default=None, init=False)
    """The seconds at which the run must end. Who records its steps sees to it."""
    _before: float = attrs.field(default=0.0, init=False)
    """The seconds that were measured before the latest pause."""
    # Not the time of day, which may be set while a run lasts.
    _since: float | None = attrs.field(init=False)
    """When it last began to run; None while it is paused."""

    @_since.default
    def _start(self) -> float:
        return time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds that were measured so far."""
        return self._before + (0.0 if self._since is None else time.monotonic() - self._since)

    @property
    def settled(self) -> float:
        """Return the seconds by which a run decides: in a replay they are those of the records."""
        return self.seconds if self.recorded is None else self.recorded

    def pause(self) -> None:
        """Stand still, until `go_on`."""
        self._before, self._since = self.seconds, None

    def go_on(self) -> None:
        """Run again after a pause."""
        self._since = time.monotonic() if self._since is None else self._since

    def advance(self, seconds: float) -> None:
        """Show at least these seconds, and go on from there."""
        # Never back: a replay may have taken longer so far than the attempt that it repeats.
        self._before += max(0.0, seconds - self.seconds)

    def record(self, seconds: float) -> None:
        """Take the seconds of a recorded step, which another process may have measured."""
        self.advance(seconds)
        # Steps run side by side, so their records may be read in another order than they ended.
        self.recorded = max(seconds, self.recorded or 0.0)


@attrs.frozen
class _Clock:
    now: Callable[[], datetime]
    stopwatch: Stopwatch


# For each context, because a process may replay one run while others go on.
_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


def now() -> datetime:
    """Return the current time, in UTC, by the clock in use."""
    clock = _clock.get()
    return datetime.now(UTC) if clock is None else clock.now()


def stopwatch() -> Stopwatch:
    """Return what measures a run that starts now."""
    clock = _clock.get()
    return Stopwatch() if clock is None else clock.stopwatch


def is_replayable() -> bool:
    """Return whether an engine records this run, so that its history must not depend on chance.

    >>> is_replayable()
    False
    """
    return _clock.get() is not None


@contextlib.contextmanager
def use_clock(
    clock: Callable[[], datetime] | None, measure: Stopwatch | None = None
) -> Iterator[None]:
    """Take the time from `clock` inside the block, and in the tasks that are started in it.

    None is the real time, for the work of a recorded step, which is not replayed.

    >>> noon = datetime(2026, 11, 23, 12, tzinfo=UTC)
    >>> with use_clock(lambda: noon):
    ...     now() == noon
    True
    """
    # By records from the start: whoever decides by time must decide alike in a replay.
    active = None if clock is None else _Clock(clock, measure or Stopwatch(recorded=0.0))
    token = _clock.set(active)
    try:
        yield
    finally:
        _clock.reset(token)
