"""The sessions on this machine, as a list to choose from."""

import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from agentic.cli._options import whole_number
from agentic.cli._output import clip, local_time, printable, say
from agentic.cli._stdio import is_asked
from agentic.replay import FoundSession, find_sessions

__all__ = ["ask_for_sessions"]

_LISTED = 20
"""The most sessions that are listed, the latest ones."""


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
