"""What a command prints: text that is safe for a terminal, JSON, problems and warnings."""

import contextlib
import json
import logging
import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import click

import agentic
from agentic.errors import AgenticError, IncompleteReply, NothingToRestore

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The Bidi_Control characters: they change the order in which text is shown, so that a line can
show something else than it says (https://www.unicode.org/reports/tr9/, revision 50). Letters of
right-to-left scripts stay: the terminal orders them."""
FOLDER_GONE = "the working directory no longer exists: change to another one"
DEBUG = "AGENTIC_DEBUG"
"""The environment variable that has tracebacks printed."""
_PACKAGE = os.path.dirname(os.path.realpath(agentic.__file__))  # noqa: PTH120  compared as a text
_NO_HOME = "Could not determine home directory."
"""What `Path.expanduser` raises as a RuntimeError, in CPython 3.11 to 3.14."""
_INCAPABLE = {"", "dumb", "unknown"}
# An escape sequence as a whole, since the rest of one would be shown as text.
_CONTROLS = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]|\r(?=\n)|[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_ESCAPED = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Remove control characters, and characters that would show the text in another order.

    >>> printable("\x1b[2Jred\x07\r\n\tgreen \u202eder")
    'red\n\tgreen der'
    """
    return _CONTROLS.sub("", text)


def clip(text: str, width: int) -> str:
    r"""Return a text on one line of at most `width` columns; an emoji takes two.

    >>> clip("one\n  two three", 10)
    'one two t…'
    >>> clip("設定を読む", 6)
    '設定…'
    """
    # Only a part of it, as it may be megabytes. Blanks and control characters drop out of the part.
    line = " ".join(printable(text[: 4 * width + 1_000]).split())
    if line.isascii():
        return line if len(line) <= width else f"{line[: width - 1]}…"
    from rich.cells import cell_len, chop_cells  # noqa: PLC0415  most lines are ASCII

    return line if cell_len(line) <= width else f"{chop_cells(line, width - 1)[0]}…"


def is_capable() -> bool:
    """Return whether the terminal can move its cursor, by the name that TERM gives it."""
    return os.environ.get("TERM", "") not in _INCAPABLE


def embolden(text: str) -> str:
    """Return a text in bold letters, where the terminal has them."""
    return click.style(text, bold=True) if is_capable() else text


def escape(line: str) -> str:
    r"""Escape control characters in a line of JSON, which keeps its meaning.

    >>> escape('"red\u202e"')
    '"red\\u202e"'
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def local_time(when: datetime) -> str:
    """Return a time in the local time zone, to the minute."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def count_of(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_of(1, "message"), count_of(2_000, "message")
    ('1 message', '2,000 messages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def json_line(plain: Any) -> str:
    r"""Return the line of JSON that a command prints.

    >>> json_line({"title": "ü\x9b"})
    '{"title": "ü\\u009b"}'
    """
    return escape(json.dumps(plain, ensure_ascii=False))


def end_sentence(text: str) -> str:
    """Add a full stop to a sentence if it has no end mark.

    >>> end_sentence("it is red"), end_sentence("did you mean 'red'?."), end_sentence("it is red.")
    ('it is red.', "did you mean 'red'?", 'it is red.')
    """
    whole = text.rstrip(".")
    return whole if whole.endswith(("?", "!", "…")) else f"{whole}."


def describe_problem(problem: BaseException) -> str:
    """Return what went wrong as a sentence, or "" for a defect of the program.

    >>> describe_problem(FileNotFoundError(2, "No such file or directory", "notes.txt"))
    'notes.txt: no such file or directory'
    >>> describe_problem(KeyError("turn"))
    ''
    """
    if sentence := _describe_in_own_words(problem):
        return sentence
    if isinstance(problem, OSError) and problem.strerror:
        reason = problem.strerror[:1].lower() + problem.strerror[1:]
        return reason if problem.filename is None else f"{_name(problem.filename)}: {reason}"
    if isinstance(problem, click.ClickException):
        return problem.format_message()
    if isinstance(problem, AgenticError | OSError | ImportError):
        reason = str(problem) or type(problem).__name__
        return end_sentence(reason) if reason.endswith((".", "?")) else reason
    return ""


def describe_failure(problem: BaseException) -> str:
    """Return what went wrong, and where if it was in the user's code; "" for a defect of agentic.

    With AGENTIC_DEBUG, the traceback is printed on stderr as well.
    """
    if os.environ.get(DEBUG):
        traceback.print_exception(problem)
    place = _users_line(problem)
    sentence = describe_problem(problem)
    if isinstance(problem, click.ClickException | AgenticError | OSError) or not place:
        return sentence
    sentence = sentence or f"{type(problem).__name__}: {problem}".removesuffix(": ")
    hint = "" if os.environ.get(DEBUG) else f"; {DEBUG}=1 prints the traceback"
    return f"{sentence} ({place}{hint})"


def _users_line(problem: BaseException) -> str:
    """Return the innermost line of a traceback that is neither ours nor installed; else "".

    >>> _users_line(KeyError("turn"))
    ''
    """
    folders = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    others = tuple(os.path.join(path, "") for path in (_PACKAGE, *folders))  # noqa: PTH118  texts
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        name = os.path.realpath(frame.filename)
        # <string>, <frozen importlib._bootstrap> and the like are no files.
        if os.path.isfile(name) and not name.startswith(others):  # noqa: PTH113  a text
            return f"{os.path.relpath(name)}:{frame.lineno}"
    return ""


def _describe_in_own_words(problem: BaseException) -> str:
    """Return a sentence for users, where the error's own is for programmers; else an empty text."""
    if isinstance(problem, NothingToRestore):
        return f"{problem.session}: there is no summary to take back"
    if isinstance(problem, IncompleteReply):
        return f"the connection ended after {len(problem.received):,} characters of the reply"
    # Of a folder that is gone, every relative path says "no such file", which sends one looking.
    if isinstance(problem, FileNotFoundError) and is_folder_gone():
        return FOLDER_GONE
    if isinstance(problem, RuntimeError) and str(problem) == _NO_HOME:
        return "the home directory for ~ is unknown: set HOME"
    return ""


def is_folder_gone() -> bool:
    """Return whether the working directory was deleted, so that no relative path exists."""
    try:
        os.getcwd()  # noqa: PTH109  Path.cwd() is the same call
    except FileNotFoundError:
        return True
    return False


def _name(filename: object) -> str:
    name = filename.decode(errors="replace") if isinstance(filename, bytes) else str(filename)
    return name or "''"


@contextlib.contextmanager
def print_warnings(print_line: Callable[[str], None]) -> Iterator[None]:
    """Print warnings in this block, unless the caller of the command has set up logging."""
    # Python asks its handler of last resort only where logging has none.
    before = logging.lastResort
    logging.lastResort = _Printer(print_line)
    try:
        yield
    finally:
        logging.lastResort = before


def say(sentence: str) -> None:
    """Print a sentence about the command itself on stderr."""
    click.echo(f"agentic: {printable(sentence)}", err=True)


class _Printer(logging.Handler):
    def __init__(self, print_line: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._print_line = print_line

    def emit(self, record: logging.LogRecord) -> None:
        # A reader of stderr that has left must not end what is only warned about.
        with contextlib.suppress(OSError):
            self._print_line(printable(self.format(record)))
