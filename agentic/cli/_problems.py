"""Which exceptions are a user's problem, and the sentence that tells it."""

import click

from agentic.cli._printable import ended
from agentic.errors import AgenticError, NothingToRestore

__all__ = ["sentence"]


def sentence(problem: BaseException) -> str:
    """Say what went wrong, for a person; "" for what is a defect of the program.

    >>> sentence(FileNotFoundError(2, "No such file or directory", "notes.txt"))
    'notes.txt: no such file or directory'
    >>> sentence(KeyError("turn"))
    ''
    """
    if isinstance(problem, OSError) and problem.strerror:
        told = problem.strerror[:1].lower() + problem.strerror[1:]
        return told if problem.filename is None else f"{_name(problem.filename)}: {told}"
    if isinstance(problem, NothingToRestore):
        return f"{problem.session}: there is no summary to take back"
    if isinstance(problem, click.ClickException):
        return problem.format_message()
    if isinstance(problem, AgenticError | OSError | ImportError):
        told = str(problem) or type(problem).__name__
        return ended(told) if told.endswith((".", "?")) else told
    return ""


def _name(filename: object) -> str:
    name = filename.decode(errors="replace") if isinstance(filename, bytes) else str(filename)
    return name or "''"
