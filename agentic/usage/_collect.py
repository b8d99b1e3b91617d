"""Which work a model call belongs to that is made on the way, such as one that summarizes.

A call reports what it used; whoever began the work collects it, across any functions and tasks in
between. These pass on a text and need not know of tokens.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

from agentic.errors import ConfigError
from agentic.usage._usage import Usage, normalize

__all__ = ["Collected", "collect", "report"]


@attrs.define
class Collected:
    """What was reported inside a block, up to now."""

    usage: Usage = attrs.field(factory=Usage)
    """The sum of the reports."""


_collecting: ContextVar[Collected | None] = ContextVar("collecting", default=None)


@contextmanager
def collect() -> Iterator[Collected]:
    """Collect what model calls inside the block report.

    Tasks and threads that begin inside the block belong to it (`asyncio.to_thread` included, an
    executor's own threads not). Of nested blocks the innermost collects.

    >>> with collect() as collected:
    ...     report(Usage(input=7, output=3))
    >>> collected.usage.total
    10
    """
    collected = Collected()
    token = _collecting.set(collected)
    try:
        yield collected
    finally:
        _collecting.reset(token)


def report(usage: Usage | None) -> None:
    """Add what a model call used to the block around it; without one, do nothing.

    None is a provider that does not say.

    Raises:
        ConfigError: a provider's own record, which is to be mapped first.
    """
    if not isinstance(usage, Usage | None):
        raise ConfigError("usage", usage, "a usage.Usage, or None", "pass Usage(input=..., ...)")
    collected = _collecting.get()
    if collected is not None:
        collected.usage += normalize(usage)
