"""`agentic export` and `agentic import`: a session as JSON lines, from any store into any other."""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from agentic.cli._place import Place, place_argument, session_option
from agentic.cli._printable import escaped
from agentic.cli._streams import opened
from agentic.history import JsonlSessions

__all__ = ["export_command", "import_command"]


@click.command("export")
@place_argument
@session_option
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Write there, to a file that is not there yet; - is stdout.",
)
def export_command(*, name: str, session_id: str | None, output: str) -> None:
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
    session_id = place.only(session_id)
    if session_id is None and file == "-":
        raise click.UsageError("what comes from stdin has no name: give it one by --session ID")
    session_id = Path(file).stem if session_id is None else session_id
    with opened(file) as source:
        lines = source.readlines()
    told = "stdin" if file == "-" else file
    asyncio.run(_import(place, session_id, lines, told))
    click.echo(f"agentic: imported as {session_id}", err=True)


async def _import(place: Place, session_id: str, lines: list[bytes], file: str) -> None:
    """Import into a folder that is thrown away, and if that is a session, into its place."""
    if _is_foreign(lines):
        raise click.ClickException(
            f"{file} is no export of a session, which agentic export writes; agentic replay reads "
            "conversations of other programs"
        )
    with tempfile.TemporaryDirectory() as folder:
        tried = JsonlSessions(folder)
        tried.open(session_id)  # a mistaken id is told first
        if any(line.strip() for line in lines):
            await tried.import_(session_id, lines)
        found = [each for each in await tried.list() if each.messages]
    if not found:
        raise click.ClickException(f"there is no message in {file}: nothing is imported")
    await place.agent.sessions().import_(session_id, lines)


def _is_foreign(lines: list[bytes]) -> bool:
    """Tell whether the first line is JSON of others; what is none at all is damage."""
    try:
        first = json.loads(next((line for line in lines if line.strip()), b"0"))
    except (ValueError, RecursionError):
        return False
    return isinstance(first, list) or (isinstance(first, dict) and "v" not in first)


async def _export(place: Place, session_id: str | None, target: BinaryIO) -> None:
    found = await place.find(session_id)
    is_seen = target.isatty()
    async for line in place.agent.sessions().export(found):
        target.write(_escaped(line) if is_seen else line)


def _escaped(line: bytes) -> bytes:
    text = line.decode("utf-8", "surrogateescape")
    return escaped(text).encode()


@contextlib.contextmanager
def _target(output: str) -> Iterator[BinaryIO]:
    """Give stdout, or a new file that only its owner can read; after a failure there is none."""
    if output == "-":
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
