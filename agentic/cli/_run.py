"""From a command line to an exit status, with every problem as one sentence on stderr."""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from agentic.cli._group import group
from agentic.cli._problems import sentence

__all__ = ["run"]

_INTERRUPTED = 130
"""128 and the number of SIGINT, as a shell reports a command that Ctrl-C ended."""
_READER_GONE = 141
"""128 and the number of SIGPIPE, as a shell reports a command whose reader left."""


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line and give its exit status."""
    for name in ("stdout", "stderr"):
        _make_writable(name)
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return _READER_GONE
    except OSError as problem:  # of the flush: a full disk
        _forget_output()
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
    return f"{mistake.format_message().rstrip('.')}. See '{path} --help'."


def _tell(told: str, status: int = 1) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"agentic: {told}", err=True)
    return status


def _forget_output() -> None:
    """Let the interpreter's last flush go nowhere, or it would complain once more."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _make_writable(name: str) -> None:
    """Print `?` for a character that an encoding lacks, and nothing to a stream that is closed."""
    stream = getattr(sys, name)
    if stream is None:
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  open to the end
        setattr(sys, name, nowhere)
    elif hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
