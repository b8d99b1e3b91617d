"""`agentic sessions`: what a place holds, and what people call it."""

import asyncio
import sys
from collections.abc import Sequence

import attrs
import click

from agentic.cli._place import Place, place_argument
from agentic.cli._printable import json_line, printable
from agentic.cli._shown import clip, local_time
from agentic.history import SessionInfo

__all__ = ["sessions_command"]

_TITLE_WIDTH = 40


@click.command("sessions")
@place_argument
@click.option("--rename", nargs=2, metavar="ID TITLE", help="Give a session a title for people.")
@click.option("--delete", "delete_id", metavar="ID", help="Remove a session and all it holds.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def sessions_command(
    *, name: str, rename: tuple[str, str] | None, delete_id: str | None, yes: bool, as_json: bool
) -> int:
    """List the sessions of PLACE, the one that changed last first; or rename or delete one.

    PLACE is an agent (its file or its name), a folder of sessions, a session file, sqlite:FILE, or
    postgresql://SERVER/DATABASE.

    Example: agentic sessions agent.yaml
    """
    _check(rename=bool(rename), delete=delete_id is not None, yes=yes, as_json=as_json)
    place = Place.at(name)
    sessions = place.agent.sessions()
    if rename:
        asyncio.run(sessions.rename(*rename))
        return 0
    if delete_id is not None:
        if not _is_meant(delete_id, yes=yes):
            return 1
        asyncio.run(sessions.delete(delete_id))
        return 0
    found = [each for each in asyncio.run(_list(place)) if place.session_id in (None, each.id)]
    click.echo(_as_json(found) if as_json else _as_table(found))
    return 0


def _check(*, rename: bool, delete: bool, yes: bool, as_json: bool) -> None:
    """Refuse options of which one would be passed over in silence."""
    if rename and delete:
        raise click.UsageError("--rename and --delete exclude each other")
    if yes and not delete:
        raise click.UsageError("--yes answers what --delete asks: add --delete ID")
    if as_json and (rename or delete):
        raise click.UsageError("--json is for the list: leave it out")


async def _list(place: Place) -> Sequence[SessionInfo]:
    return await place.agent.sessions().list()


def _is_meant(session_id: str, *, yes: bool) -> bool:
    """Ask before what cannot be undone."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError("--delete asks before it deletes, which needs a terminal: add --yes")
    return click.confirm(printable(f"Delete session {session_id} with everything in it?"), err=True)


def _as_json(found: Sequence[SessionInfo]) -> str:
    return json_line(
        [
            attrs.asdict(each)
            | {"created_at": each.created_at.isoformat(), "changed_at": each.changed_at.isoformat()}
            for each in found
        ]
    )


def _as_table(found: Sequence[SessionInfo]) -> str:
    """Draw a table that does not depend on the width of a screen."""
    rows = [("SESSION", "MESSAGES", "SUMMARIZED", "CHANGED", "TITLE")]
    rows += [
        (
            each.id,
            f"{each.messages:,}",
            f"{each.summarized:,}",
            local_time(each.changed_at),
            clip(each.title, _TITLE_WIDTH),
        )
        for each in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_as_line(row, widths) for row in rows)


def _as_line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = zip(row, widths, strict=True)
    number_columns = (1, 2)
    padded = [
        cell.rjust(width) if at in number_columns else cell.ljust(width)
        for at, (cell, width) in enumerate(cells)
    ]
    return "  ".join(padded).rstrip()
