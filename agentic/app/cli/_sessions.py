"""Stored sessions: list, rename, delete and redact them, and copy them between stores.

A session is exported and imported as JSON lines, from any store to any other.
"""

import asyncio
import contextlib
import functools
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import attrs
import click

from agentic.cli._options import whole_number
from agentic.cli._output import clip, count_of, escape, json_line, local_time, printable, say
from agentic.cli._place import SessionPlace, place_argument, session_option
from agentic.cli._stdio import is_asked, open_input
from agentic.errors import MessageNotFound
from agentic.history import JsonlSessions, SessionInfo
from agentic.history._disk import open_private

_TITLE_WIDTH = 40


@click.command("sessions")
@place_argument
@click.option("--rename", nargs=2, metavar="ID TITLE", help="Set the title of a session.")
@click.option("--delete", "delete_id", metavar="ID", help="Delete a session and everything in it.")
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
    _check_options(rename=bool(rename), delete=delete_id is not None, yes=yes, as_json=as_json)
    place = SessionPlace.at(name)
    sessions = place.agent.sessions()
    if rename:
        place.only(rename[0])
        asyncio.run(sessions.rename(*rename))
        return 0
    if delete_id is not None:
        # A session's file lies among those of others.
        place.only(delete_id)
        if not _is_meant(delete_id, yes=yes):
            return 1
        asyncio.run(sessions.delete(delete_id))
        return 0
    listed = asyncio.run(sessions.list())
    found = [each for each in listed if place.session_id in (None, each.id)]
    click.echo(_as_json(found) if as_json else _as_table(found))
    return 0


@click.command("redact")
@place_argument
@click.argument("message", metavar="MESSAGE")
@click.argument("replacement", metavar="REPLACEMENT")
@session_option
@click.option(
    "--secret-file",
    metavar="FILE",
    help="Also remove the content of this file wherever the session has it; - is standard input.",
)
@click.option(
    "--database",
    metavar="URL",
    help="The database of the agent's runs, as for agentic serve, which is redacted, too. By "
    "default the one next to the agent's file, or PLACE, if that is a PostgreSQL database.",
)
@click.option("--yes", is_flag=True, help="Redact without asking.")
def redact_command(
    *,
    name: str,
    message: str,
    replacement: str,
    session_id: str | None,
    secret_file: str | None,
    database: str | None,
    yes: bool,
) -> int:
    """Replace what a message of a session says by REPLACEMENT, for good.

    MESSAGE is its id, or its position in the session, from 0. What is removed: the message, its
    copies, what summaries quote of it, outputs that it refers to, and what the runs of agentic
    serve have recorded of it. Backups, replicas and the log of PostgreSQL (WAL) are out of reach. A
    secret is read from a file, since a command line is seen by others and kept by the shell.

    Example: agentic redact agent.yaml 12 "[a key was here]" --secret-file key.txt
    """
    place = SessionPlace.at(name)
    secret = None if secret_file is None else _read_secret(secret_file)
    if not yes and not is_asked():
        raise click.UsageError("redact asks for confirmation, which needs a terminal: add --yes")
    found = asyncio.run(place.find(session_id))
    asked = printable(f"Replace message {message} of session {found} for good?")
    if not yes and not click.confirm(asked, err=True):
        return 1
    count = asyncio.run(_redact(_redactor(place, database), found, message, replacement, secret))
    if secret is None:
        click.echo(printable(f"{found}: message {message} is redacted."))
        return 0
    if not count:
        # Whoever reads "redacted" would take the secret for removed.
        raise click.ClickException(
            printable(
                f"{found}: the secret was found nowhere, so only message {message} was replaced: "
                f"look whether {secret_file} is what was leaked"
            )
        )
    click.echo(
        printable(
            f"{found}: message {message} is redacted; the secret was found and removed "
            f"{count_of(count, 'time')}."
        )
    )
    return 0


@click.command("export")
@place_argument
@session_option
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="The file to write, which must not exist yet; - is stdout.",
)
def export_command(*, name: str, session_id: str | None, output: str) -> None:
    """Write a session as JSON lines, with its title and the tool outputs that it keeps.

    PLACE is an agent (its file or its name), a folder of sessions, a session file, sqlite:FILE, or
    postgresql://SERVER/DATABASE.

    Example: agentic export agent.yaml --session monday > monday.jsonl
    """
    place = SessionPlace.at(name)
    with _open_target(output) as target:
        asyncio.run(_export(place, session_id, target))


@click.command("import")
@place_argument
@click.argument("file", default="-", metavar="[FILE]")
@click.option(
    "-s",
    "--session",
    "session_id",
    metavar="ID",
    help="The session's id; by default the name of FILE.",
)
def import_command(*, name: str, file: str, session_id: str | None) -> None:
    """Make a session of PLACE from FILE, or from stdin, as agentic export wrote it.

    It becomes a new session, whole or not at all: one of that id must not be there yet.

    Example: agentic import sqlite:sessions.db monday.jsonl
    """
    place = SessionPlace.at(name, new=True)
    # Before stdin is read: nobody should type a session that cannot be kept.
    session_id = place.only(session_id)
    if session_id is None and file == "-":
        raise click.UsageError("input from stdin has no name: pass --session ID")
    session_id = Path(file).stem if session_id is None else session_id
    with open_input(file) as source:
        # All of them, because they are imported twice: first as a trial.
        lines = source.readlines()
    told = "stdin" if file == "-" else file
    asyncio.run(_import(place, session_id, lines, told))
    say(f"imported as {session_id}")


def _check_options(*, rename: bool, delete: bool, yes: bool, as_json: bool) -> None:
    # One of each pair would be ignored silently.
    if rename and delete:
        raise click.UsageError("--rename and --delete cannot be used together")
    if yes and not delete:
        raise click.UsageError("--yes needs --delete ID")
    if as_json and (rename or delete):
        raise click.UsageError("--json applies only to the list: leave it out")


def _is_meant(session_id: str, *, yes: bool) -> bool:
    if yes:
        return True
    if not is_asked():
        raise click.UsageError("--delete asks for confirmation, which needs a terminal: add --yes")
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
    # As wide as it is, on a terminal as well: a script finds the same columns in both.
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


def _redactor(place: SessionPlace, database: str | None) -> Callable[..., Awaitable[int | None]]:
    """Return what redacts a message of a session, and the runs of the session."""
    sessions, url = place.agent.sessions(), place.runs_url(database)
    if url is None:
        return sessions.redact
    try:
        # An extra, which only runs need.
        from agentic.bridges.dbos import redact_session  # noqa: PLC0415
    except ImportError:
        if database is not None or not url.startswith("postgresql:"):
            raise
        say("the runs of agentic serve in this database, if any, stay: they need the extra durable")
        return sessions.redact
    return functools.partial(redact_session, url, sessions)


async def _redact(
    redact: Callable[..., Awaitable[int | None]],
    session_id: str,
    message: str,
    replacement: str,
    secret: str | None,
) -> int:
    """Redact a message of a session; return how often the secret was found."""
    # As an id first, because an id may consist of digits.
    try:
        return await redact(session_id, message, replacement, secret=secret) or 0
    except MessageNotFound:
        if (position := whole_number(message)) is None:
            raise
        return await redact(session_id, position, replacement, secret=secret) or 0


def _read_secret(file: str) -> str:
    """Read a secret; the white space around it and an editor's byte order mark are no part of it.

    Raises:
        ClickException: it is not UTF-8, as a session is, or nothing.
    """
    try:
        with open_input(file) as source:
            text = source.read().decode("utf-8", "surrogatepass").removeprefix("\ufeff").strip()
    except UnicodeDecodeError as problem:
        raise click.ClickException(f"the secret is not UTF-8: {problem}") from problem
    if not text:
        raise click.ClickException(f"there is no secret in {file}")
    return text


async def _export(place: SessionPlace, session_id: str | None, target: BinaryIO) -> None:
    found = await place.find(session_id)
    is_seen = target.isatty()
    async for line in place.agent.sessions().export(found):
        # A terminal would obey the control characters in a message.
        target.write(escape(line.decode("utf-8", "surrogatepass")).encode() if is_seen else line)


@contextlib.contextmanager
def _open_target(output: str) -> Iterator[BinaryIO]:
    """Open stdout, or a new private file that is removed if the block fails."""
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # x: a file that is there may be the only copy of a session.
    with open(output, "xb", opener=open_private) as target:
        try:
            yield target
        except BaseException:
            # Half a session would look like a whole one.
            Path(output).unlink()
            raise


async def _import(place: SessionPlace, session_id: str, lines: list[bytes], file: str) -> None:
    # Tried in a folder first: a place may be a database that others read, and half a session in it
    # would look like a whole one.
    if _is_foreign(lines):
        raise click.ClickException(
            f"{file} is not a session written by agentic export; agentic replay reads "
            "conversations of other programs"
        )
    with tempfile.TemporaryDirectory() as folder:
        tried = JsonlSessions(folder)
        tried.open(session_id)  # so that an invalid id is reported first
        if any(line.strip() for line in lines):
            await tried.import_(session_id, lines)
        found = [each for each in await tried.list() if each.messages]
    if not found:
        raise click.ClickException(f"there is no message in {file}: nothing is imported")
    await place.agent.sessions().import_(session_id, lines)


def _is_foreign(lines: list[bytes]) -> bool:
    """Return whether the first line is JSON of another kind."""
    try:
        first = json.loads(next((line for line in lines if line.strip()), b"0"))
    # Damage, of which the import says where it is.
    except (ValueError, RecursionError):
        return False
    return isinstance(first, list) or (isinstance(first, dict) and "v" not in first)
