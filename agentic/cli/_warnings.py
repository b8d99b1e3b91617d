"""Warnings that the library logs, printed as a line with nothing in it that a terminal obeys."""

import contextlib
import logging
from collections.abc import Callable, Iterator

import click

from agentic.cli._output import printable

__all__ = ["print_warnings", "print_warnings_on_stderr"]


@contextlib.contextmanager
def print_warnings(print_line: Callable[[str], None]) -> Iterator[None]:
    """Print warnings meanwhile, unless the caller of the command has set up logging."""
    before = logging.lastResort
    logging.lastResort = _Printer(print_line)
    try:
        yield
    finally:
        logging.lastResort = before


def print_warnings_on_stderr() -> contextlib.AbstractContextManager[None]:
    """Print warnings like any problem of a command."""
    return print_warnings(lambda line: click.echo(f"agentic: {line}", err=True))


class _Printer(logging.Handler):
    def __init__(self, print_line: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._print_line = print_line

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            self._print_line(printable(self.format(record)))
