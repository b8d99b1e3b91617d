"""`agentic export` and `agentic import`: a session as JSON lines, from any store into any other."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from agentic.cli._place import Place, place_argument, session_option
from agentic.cli._streams import opened

__all__ = ["export_command", "import_command"]


@click.command("export")
@place_argument
@session_option
@click.option(
    "-o", "--output", metavar="FILE", help="Write there, to a file that is not there yet."
)
def export_command(*, name: str, session_id: str | None, output: str | None) -> None:
    """Write a session as JSON lines, with its title and the tool outputs that it keeps.

    PLACE is an agent (its file or its name), a folder of sessions, a session file, sqlite:FILE, or
    postgresql://SERVER/DATABASE.

    Example: agentic export agent.yaml --session monday > monday.jsonl
    """
    place = Place.at(name)
    with _target(output) as target:
        asyncio.run(_export(place, session_id, target))


@click.command("import")
@place_argument
@click.argument("file", default="-", metavar="[FILE]")
@click.option("-s", "--session", "session_id", metavar="ID", help="Its id; by default FILE's name.")
def import_command(*, name: str, file: str, session_id: str | None) -> None:
    """Make a session of PLACE from FILE, or from stdin, as agentic export wrote it.

    It becomes a new session, whole or not at all: one of that id must not be there yet.

    Example: agentic import sqlite:sessions.db monday.jsonl
    """
    place = Place.at(name, new=True)
    session_id = place.only(session_id) or (Path(file).stem if file != "-" else None)
    if session_id is None:
        raise click.UsageError("what comes from stdin has no name: give it one by --session ID")
    with opened(file) as source:
        asyncio.run(place.agent.sessions().import_(session_id, source))
    click.echo(f"agentic: imported as {session_id}", err=True)


async def _export(place: Place, session_id: str | None, target: BinaryIO) -> None:
    found = await place.find(session_id)
    async for line in place.agent.sessions().export(found):
        target.write(line)


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[BinaryIO]:
    """Give stdout, or a new file that only its owner can read; after a failure there is none."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open(output, "xb", opener=_open_private) as target:
        try:
            yield target
        except BaseException:
            Path(output).unlink()
            raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
