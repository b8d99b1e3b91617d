"""What the library logs, told like all else: a line for people, with nothing a terminal obeys."""

import contextlib
import logging
from collections.abc import Callable, Iterator

import click

from agentic.cli._printable import printable

__all__ = ["telling", "telling_on_stderr"]


@contextlib.contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell of warnings meanwhile, unless whoever runs the command has set up logging."""
    before = logging.lastResort
    logging.lastResort = _Teller(tell)
    try:
        yield
    finally:
        logging.lastResort = before


def telling_on_stderr() -> contextlib.AbstractContextManager[None]:
    """Tell of warnings as of any problem of a command."""
    return telling(lambda told: click.echo(f"agentic: {told}", err=True))


class _Teller(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            self._tell(printable(self.format(record)))
