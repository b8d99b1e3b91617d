"""The clock that dates messages and summaries. A replayed run sets it, so that its times repeat."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime

__all__ = ["is_replayable", "now", "use_clock"]

# For each context, because a process may replay one run while others go on.
_clock: ContextVar[Callable[[], datetime] | None] = ContextVar("clock", default=None)


def now() -> datetime:
    """Return the current time, in UTC, by the clock in use."""
    clock = _clock.get()
    return datetime.now(UTC) if clock is None else clock()


def is_replayable() -> bool:
    """Return whether an engine records this run, so that its history must not depend on chance.

    >>> is_replayable()
    False
    """
    return _clock.get() is not None


@contextlib.contextmanager
def use_clock(clock: Callable[[], datetime]) -> Iterator[None]:
    """Take the time from `clock` inside the block, and in the tasks that are started in it.

    >>> noon = datetime(2026, 11, 23, 12, tzinfo=UTC)
    >>> with use_clock(lambda: noon):
    ...     now() == noon
    True
    """
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
