"""What `agentic replay` asks at a terminal: which sessions to replay, and which request is next."""

import itertools
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from agentic.cli._compaction import describe_message
from agentic.cli._options import whole_number
from agentic.cli._output import clip, count_of, embolden, local_time, printable, say
from agentic.cli._stdio import is_asked
from agentic.messages import Message
from agentic.replay import FoundSession, Replayed, Transcript, find_sessions

__all__ = ["ask_for_sessions", "step_through"]

_LISTED = 20
"""The most sessions that are listed, the latest ones."""
_HINT = "-- space: next request, q: leave --"
_LEAVE = {"q", "Q", "\x03", "\x04", "\x1b"}
_INDENT = 10
"""The columns before a message, which hold its number."""


def ask_for_sessions() -> tuple[str, ...]:
    """List the sessions on this machine, and return the files that the user chooses.

    Without a terminal nobody can be asked: the list says what to pass, and nothing is returned.

    Raises:
        UsageError: there is no session.
    """
    found = find_sessions()
    if not found:
        raise click.UsageError(
            "No session of agentic, Claude Code, Codex, Gemini CLI, Kimi, mini-swe-agent, OpenCode "
            "or pi is on this machine: name a file or a folder of transcripts"
        )
    asks = is_asked() and sys.stdout.isatty()
    for number, session in enumerate(found[:_LISTED], 1):
        click.echo(_line(number, session, asks=asks))
    if (more := len(found) - _LISTED) > 0:
        click.echo(f"and {more:,} older")
    if not asks:
        path = shlex.quote(str(found[0].path))
        say(f"pass the sessions to replay, such as: agentic replay {path} --window 200k")
        return ()
    chosen = click.prompt(
        "Which? (such as 1 or 1,3-5, or all)",
        default="1",
        value_proc=lambda told: _chosen(str(told), len(found)),
    )
    return tuple(str(found[at].path) for at in chosen)


def _line(number: int, session: FoundSession, *, asks: bool) -> str:
    changed = local_time(datetime.fromtimestamp(session.changed, UTC))
    # A list that is piped on has whole paths; one that is looked at fits the screen.
    path = clip(_short(session.path), 72) if asks else printable(str(session.path))
    size = f"{session.size / 1_000:,.0f} KB"
    return f"{number:3}  {changed}  {size:>9}  {session.agent:<14}  {path}"


def _short(path: Path) -> str:
    """Return a path from the home folder on, without its middle if it is long."""
    home = str(Path.home())
    text = str(path)
    text = f"~{text[len(home) :]}" if text.startswith(home + "/") else text
    return text if len(text) <= 72 else f"{text[:20]}…{text[-51:]}"  # noqa: PLR2004  as wide as it may be


def _chosen(told: str, number: int) -> Sequence[int]:
    """Return the positions that a user chose.

    >>> _chosen("1,3-5", 9), _chosen("all", 2)
    ([0, 2, 3, 4], [0, 1])
    """
    if told.strip().lower() == "all":
        return list(range(number))
    chosen: dict[int, None] = {}
    for part in filter(None, told.replace(" ", ",").split(",")):
        begin, _, end = part.partition("-")
        first, last = whole_number(begin), whole_number(end or begin)
        if first is None or last is None:
            raise click.UsageError(f"{clip(part, 20)!r} is no number: write 1 or 1,3-5, or all")
        span = range(first, last + 1)
        if not span or span[0] < 1 or span[-1] > number:
            raise click.UsageError(f"{part} is not in the list, which has 1 to {number}")
        chosen |= dict.fromkeys(at - 1 for at in span)
    if not chosen:
        raise click.UsageError("choose one: write 1 or 1,3-5, or all")
    return list(chosen)


def step_through(transcript: Transcript, replayed: Replayed) -> bool:
    """Show a session that was replayed with its views; return False if the user left before.

    In a terminal, a key shows the next request. Otherwise everything is printed.
    """
    asks = is_asked() and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns
    click.echo(embolden(printable(f"{transcript.name} under {replayed.policy}")))
    for number, lines in enumerate(_request_lines(transcript, replayed, width), 1):
        if asks and number > 1 and not _wants_next():
            return False
        click.echo("\n".join(["", *lines]))
    return True


def _request_lines(transcript: Transcript, replayed: Replayed, width: int) -> Iterator[list[str]]:
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
                lines.append(f"{'':{_INDENT}}{count_of(shown, 'message')} as before")
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
        gap = [f"{'':{_INDENT}}[{count_of(missing, 'message')} not sent]"] if missing > 0 else []
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
