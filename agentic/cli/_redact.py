"""`agentic redact`: a leaked secret is removed from a stored session, for good."""

import asyncio
import sys
from typing import BinaryIO

import click

from agentic.cli._place import Place, place_argument, session_option
from agentic.cli._printable import printable
from agentic.errors import MessageNotFound

__all__ = ["redact_command"]


@click.command("redact")
@place_argument
@click.argument("message", metavar="MESSAGE")
@click.argument("replacement", metavar="REPLACEMENT")
@session_option
@click.option(
    "--secret-file",
    type=click.File("rb"),
    metavar="FILE",
    help="Remove also what this file holds, wherever the session has it; - is standard input.",
)
@click.option("--yes", is_flag=True, help="Redact without asking.")
def redact_command(
    *,
    name: str,
    message: str,
    replacement: str,
    session_id: str | None,
    secret_file: BinaryIO | None,
    yes: bool,
) -> int:
    """Replace what a message of a session says by REPLACEMENT, for good.

    MESSAGE is its id, or its position in the session, from 0. Nothing can bring back what is
    removed: the message, its copies, what summaries quote of it, outputs that it refers to. A
    secret is read from a file, since a command line is seen by others and kept by the shell.

    Example: agentic redact agent.yaml 12 "[a key was here]" --secret-file key.txt
    """
    place = Place.at(name)
    secret = None if secret_file is None else _read(secret_file)
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("redact asks first, which needs a terminal: add --yes")
    found = asyncio.run(place.find(session_id))
    asked = printable(f"Replace message {message} of session {found} for good?")
    if not yes and not click.confirm(asked, err=True):
        return 1
    asyncio.run(_redact(place, found, message, replacement, secret))
    click.echo(printable(f"{found}: message {message} is redacted."))
    return 0


async def _redact(
    place: Place, session_id: str, message: str, replacement: str, secret: str | None
) -> None:
    sessions = place.agent.sessions()
    try:
        await sessions.redact(session_id, message, replacement, secret=secret)
    except MessageNotFound:
        if not message.isascii() or not message.isdigit():
            raise
        await sessions.redact(session_id, int(message), replacement, secret=secret)


def _read(file: BinaryIO) -> str:
    """Read a secret; an editor ends the file with a newline, which is no part of it."""
    return file.read().decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
