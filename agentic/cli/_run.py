"""From a command line to an exit status, with every problem as one sentence on stderr."""

import contextlib
import sys
from collections.abc import Sequence

import click

from agentic.cli._group import group
from agentic.cli._printable import ended, printable
from agentic.cli._problems import sentence
from agentic.cli._standard import whole_streams

__all__ = ["run"]

_INTERRUPTED = 130
"""128 and the number of SIGINT, as a shell reports a command that Ctrl-C ended."""
_READER_GONE = 141
"""128 and the number of SIGPIPE, as a shell reports a command whose reader left."""


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line and give its exit status."""
    with whole_streams():
        try:
            status = _invoke(arguments)
            sys.stdout.flush()
        except BrokenPipeError:
            return _READER_GONE
        except OSError as problem:  # of the flush: a full disk
            return _tell(sentence(problem))
        return status


def _invoke(arguments: Sequence[str] | None) -> int:
    try:
        with group.make_context(
            "agentic", list(sys.argv[1:] if arguments is None else arguments)
        ) as top:
            given = group.invoke(top)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as mistake:
        return _tell(_usage(mistake), mistake.exit_code)
    except (click.Abort, KeyboardInterrupt, EOFError):
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as problem:
        if not (told := sentence(problem)):
            raise
        return _tell(told)
    return given if isinstance(given, int) else 0


def _usage(mistake: click.UsageError) -> str:
    """Say what was mistaken, and where the right way is written."""
    path = mistake.ctx.command_path if mistake.ctx else "agentic"
    return f"{ended(mistake.format_message())} See '{path} --help'."


def _tell(told: str, status: int = 1) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"agentic: {printable(told)}", err=True)
    return status
