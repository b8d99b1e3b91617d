"""Stored sessions: list, rename, delete and redact them, and copy them between stores.

A session is exported and imported as JSON lines, from any store to any other.
"""

import asyncio
import contextlib
import functools
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import attrs
import click

from agentic.app.cli._foreign_sessions import (
    FORMS,
    MOST_BYTES,
    entries_of,
    is_foreign,
    name_of,
    read_foreign,
    read_own,
    write_foreign,
)
from agentic.app.cli._options import whole_number
from agentic.app.cli._output import clip, count_of, escape, json_line, local_time, printable, say
from agentic.app.cli._place import SessionPlace, place_argument, session_option
from agentic.app.cli._stdio import is_asked, open_input
from agentic.errors import MessageNotFound
from agentic.history import JsonlSessions
from agentic.history._abilities import SessionInfo
from agentic.history._disk import open_private
from agentic.messages import Message

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
    infos = asyncio.run(sessions.list())
    matches = [each for each in infos if place.session_id in (None, each.id)]
    click.echo(_as_json(matches) if as_json else _as_table(matches))
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
    help="The database of the agent's runs (see agentic serve), to be redacted, too. The default "
    "is the one next to the agent's file, or PLACE if that is a PostgreSQL database.",
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
    serve have recorded of it. An agent's sessions are those of agentic chat and of agentic serve:
    if both have one of this id, that of the chat is redacted, and the other is named. Backups,
    replicas and the log of PostgreSQL (WAL) are out of reach. A secret is read from a file, since a
    command line is seen by others and kept by the shell.

    Example: agentic redact agent.yaml 12 "[a key was here]" --secret-file key.txt
    """
    place = SessionPlace.at(name)
    secret = None if secret_file is None else _read_secret(secret_file)
    if not yes and not is_asked():
        raise click.UsageError("redact asks for confirmation, which needs a terminal: add --yes")
    place, other, session_name = asyncio.run(_find_kept(place, session_id))
    if other is not None:
        say(
            f"another session {session_name}, in {other.name}, is not redacted: name it instead of "
            f"{name}, if the message is there, too"
        )
    question = printable(f"Replace message {message} of session {session_name} for good?")
    if not yes and not click.confirm(question, err=True):
        return 1
    count = asyncio.run(
        _redact(_redactor(place, database), session_name, message, replacement, secret)
    )
    if secret is None:
        click.echo(printable(f"{session_name}: message {message} is redacted."))
        return 0
    if not count:
        # Whoever reads "redacted" would take the secret for removed.
        raise click.ClickException(
            printable(
                f"{session_name}: the secret was not found anywhere, so only message {message} was "
                f"replaced: look whether {secret_file} is what leaked"
            )
        )
    click.echo(
        printable(
            f"{session_name}: message {message} is redacted; the secret was found and removed "
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
@click.option(
    "--as",
    "form",
    type=click.Choice(list(FORMS)),
    metavar="FORM",
    help="Write the messages in the form of others: " + ", ".join(FORMS) + ". What is lost is "
    "listed on stderr.",
)
def export_command(*, name: str, session_id: str | None, output: str, form: str | None) -> None:
    """Write a session as JSON lines, with its title and the tool outputs that it keeps.

    PLACE is an agent (its file or its name), a folder of sessions, a session file, sqlite:FILE, or
    postgresql://SERVER/DATABASE.

    Example: agentic export agent.yaml --session monday > monday.jsonl
    """
    place = SessionPlace.at(name)
    with _open_target(output) as target:
        if form is None:
            asyncio.run(_export(place, session_id, target))
            return
        messages = asyncio.run(_messages(place, session_id))
        content, losses = write_foreign(form, messages)
        target.write(escape(content.decode()).encode() if target.isatty() else content)
    for loss in losses:
        say(loss)


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
    """Make a session of PLACE from FILE, or from stdin, as agentic export or others wrote it.

    Any session that agentic replay reads becomes one of ours, to be resumed with any model; what is
    lost is listed. It becomes a new session, whole or not at all: one of that id must not be there
    yet.

    Example: agentic import sqlite:sessions.db monday.jsonl
    """
    place = SessionPlace.at(name, new=True)
    # Before stdin is read: nobody should type a session that cannot be kept.
    session_id = place.only(session_id)
    if session_id is None and file == "-":
        raise click.UsageError("input from stdin has no name: pass --session ID")
    with open_input(file) as source:
        content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise click.ClickException(f"{file} is larger than {MOST_BYTES:,} bytes")
    # All of them, because they are imported twice: first as a trial.
    lines = BytesIO(content).readlines()
    if is_foreign(lines):
        sessions = _foreign(file, lines, session_id)
    else:
        sessions = {Path(file).stem if session_id is None else session_id: lines}
    asyncio.run(_import(place, sessions, "stdin" if file == "-" else file))
    for session in sessions:
        say(f"imported as {session}")


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


def _as_json(infos: Sequence[SessionInfo]) -> str:
    return json_line(
        [
            attrs.asdict(each)
            | {"created_at": each.created_at.isoformat(), "changed_at": each.changed_at.isoformat()}
            for each in infos
        ]
    )


def _as_table(infos: Sequence[SessionInfo]) -> str:
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
        for each in infos
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_as_line(row, widths) for row in rows)


def _as_line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = zip(row, widths, strict=True)
    number_columns = (1, 2)
    columns = [
        cell.rjust(width) if at in number_columns else cell.ljust(width)
        for at, (cell, width) in enumerate(cells)
    ]
    return "  ".join(columns).rstrip()


async def _find_kept(
    place: SessionPlace, session_id: str | None
) -> tuple[SessionPlace, SessionPlace | None, str]:
    """Return where a session is, another place that has one of this id, and the id.

    An agent without a store has sessions in two places: those of the chat and those of
    `agentic serve`.
    """
    runs = place.served()
    infos = [] if runs is None else list(await runs.agent.sessions().list())
    if runs is None or not infos:
        return place, None, await place.find(session_id)
    own = list(await place.agent.sessions().list())
    if session_id is None:
        session_id = max([*own, *infos], key=lambda each: each.changed_at).id
    is_own, is_kept = (any(each.id == session_id for each in some) for some in (own, infos))
    if not is_kept:
        return place, None, await place.find(session_id)
    return (place, runs, session_id) if is_own else (runs, None, session_id)


def _redactor(place: SessionPlace, database: str | None) -> Callable[..., Awaitable[int | None]]:
    """Return what redacts a message of a session, and the runs of the session."""
    sessions, url = place.agent.sessions(), place.runs_url(database)
    if url is None:
        return sessions.redact
    try:
        # An extra, which only runs need.
        from agentic.durable.dbos._redact import redact_session  # noqa: PLC0415
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
    name = await place.find(session_id)
    is_seen = target.isatty()
    async for line in place.agent.sessions().export(name):
        # A terminal would obey the control characters in a message.
        target.write(escape(line.decode("utf-8", "surrogatepass")).encode() if is_seen else line)


async def _messages(place: SessionPlace, session_id: str | None) -> list[Message]:
    """Return all messages of a session, each call with a result."""
    name = await place.find(session_id)
    # As it is exported: what was redacted is gone from it.
    lines = [line async for line in place.agent.sessions().export(name)]
    return read_own(name, lines)


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


async def _import(place: SessionPlace, sessions: dict[str, list[bytes]], file: str) -> None:
    # Tried in a folder first: a place may be a database that others read, and half a session in it
    # would look like a whole one.
    with tempfile.TemporaryDirectory() as folder:
        source = JsonlSessions(folder)
        for session_id, lines in sessions.items():
            source.open(session_id)  # so that an invalid id is reported first
            if any(line.strip() for line in lines):
                await source.import_(session_id, lines)
        infos = [each for each in await source.list() if each.messages]
    if not infos:
        raise click.ClickException(f"there is no message in {file}: nothing is imported")
    target = place.agent.sessions()
    # None, if one of them is there already.
    conflicts = {each.id for each in await target.list()} & sessions.keys() if sessions else set()
    if conflicts and len(sessions) > 1:
        names = ", ".join(sorted(conflicts)[:5])
        raise click.ClickException(f"already there, so nothing is imported: {names}")
    for session_id, lines in sessions.items():
        await target.import_(session_id, lines)


def _foreign(file: str, lines: list[bytes], session_id: str | None) -> dict[str, list[bytes]]:
    """Return the sessions of another program by their ids, and say what was left out of them."""
    transcripts = read_foreign(file, lines)
    if session_id is not None and len(transcripts) > 1:
        raise click.UsageError(f"{file} holds {len(transcripts)} sessions: leave out --session")
    sessions: dict[str, list[bytes]] = {}
    for transcript in transcripts:
        name = own = session_id or name_of(transcript)
        number = 1
        while name in sessions:
            number += 1
            name = f"{own}-{number}"
        sessions[name] = entries_of(transcript)
        for note in transcript.notes:
            say(printable(f"{name}: {note}"))
        if not transcript.is_understood:
            share = 100 * transcript.unknown_share
            say(printable(f"{name}: {share:.0f} % of the text was not understood, and is missing"))
    return sessions
