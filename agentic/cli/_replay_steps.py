"""A session in the terminal, request by request: what the model would have seen."""

import itertools
import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from agentic.cli._compaction import describe_message
from agentic.cli._output import embolden, printable
from agentic.cli._stdio import is_asked
from agentic.messages import Message
from agentic.replay import Replayed, Transcript

__all__ = ["request_lines", "step_through"]

_HINT = "-- space: next request, q: leave --"
_LEAVE = {"q", "Q", "\x03", "\x04", "\x1b"}
_INDENT = 10
"""The columns before a message, which hold its number."""


def step_through(transcript: Transcript, replayed: Replayed) -> bool:
    """Show a session that was replayed with its views; return False if the user left before.

    In a terminal, a key shows the next request. Otherwise everything is printed.
    """
    asks = is_asked() and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    click.echo(embolden(printable(f"{transcript.name} under {replayed.policy}")))
    for number, lines in enumerate(request_lines(transcript, replayed, width), 1):
        if asks and number > 1 and not _wants_next():
            return False
        click.echo("\n".join(["", *lines]))
    return True


def request_lines(
    transcript: Transcript, replayed: Replayed, width: int = 80
) -> Iterator[list[str]]:
    """Yield the lines of each request. What a request sends as the one before did is one line."""
    for series in replayed.series:
        shown = 0
        items = _item_lines(transcript.messages, series.items, width)
        for number, length in enumerate(series.lengths, series.first):
            request = replayed.requests[number - 1]
            head = f"request {number:,} of {len(replayed.requests):,}: {request.tokens:,} tokens"
            refused = f", refused: {printable(request.refused)}" if request.refused else ""
            lines = [f"{head}{refused}"]
            if shown:
                lines.append(f"{'':{_INDENT}}{_count(shown, 'message')} as before")
            for each in itertools.islice(items, length - shown):
                lines += each
            yield lines
            shown = length


def _item_lines(
    messages: Sequence[Message], items: Sequence[int | Message], width: int
) -> Iterator[list[str]]:
    """Yield the lines of each item, with how many messages are missing before it."""
    following = 0
    for item in items:
        if isinstance(item, Message):
            # A summary stands for what is missing behind it; another one for itself.
            following += item.role in {"assistant", "tool"}
            yield list(_made_lines(item, width))
            continue
        missing = item - following
        gap = [f"{'':{_INDENT}}[{_count(missing, 'message')} not sent]"] if missing > 0 else []
        label = f"m{item + 1}"
        line = f"{label:>{_INDENT - 1}} {describe_message(messages[item], width - _INDENT)}"
        yield [*gap, line]
        following = item + 1


def _made_lines(message: Message, width: int) -> Iterator[str]:
    """Yield the lines of a message that is not in the transcript: of a summary, all of them."""
    if message.summary is None:
        yield f"{'shortened':>{_INDENT - 1}} {describe_message(message, width - _INDENT)}"
        return
    yield f"{'summary':>{_INDENT - 1}}"
    for line in printable(message.content).split("\n"):
        yield f"{'':{_INDENT}}{line}".rstrip()


def _wants_next() -> bool:
    click.echo(_HINT, nl=False)
    try:
        key = click.getchar()
    except (KeyboardInterrupt, EOFError):
        key = "q"
    click.echo("\r" + " " * len(_HINT) + "\r", nl=False)
    return key not in _LEAVE


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
