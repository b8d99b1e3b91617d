"""How the command line names a stored session: by a place, and an id in that place.

A place is an agent, by its file or its name; a folder of sessions; a session file; `sqlite:FILE`;
or the address of a PostgreSQL database. In every case its sessions are handled as those of an
agent: the one that the file describes, or one with the defaults, which summarizes with a digest.
"""

import errno
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import attrs
import click

from agentic import config
from agentic.cli._output import FOLDER_GONE, is_folder_gone
from agentic.errors import ConfigError

__all__ = ["SessionPlace", "find_agent", "place_argument", "session_option"]

_DATABASES = {".sqlite", ".sqlite3", ".db"}
_AGENTS = {".yaml", ".yml"}
_SLASHES = ("/", os.sep)
_SERVERS = ("postgresql:", "postgres:")
_WINDOW = 200_000
"""The window for sessions without an agent: so large that `max_messages` and `max_tokens`
decide."""

place_argument = click.argument("name", metavar="PLACE")
session_option = click.option(
    "-s",
    "--session",
    "session_id",
    metavar="ID",
    help="The session; by default the one that changed last.",
)


@attrs.frozen
class SessionPlace:
    """Where sessions are kept, and which agent they belong to."""

    name: str
    """The place as it was passed."""
    agent: config.AgentConfig
    session_id: str | None = None
    """The only possible id, if the place is a session file."""

    @classmethod
    def at(cls, name: str, *, new: bool = False) -> "SessionPlace":
        """Return the place that a user names; with `new`, it need not exist yet.

        Raises:
            ConfigError: there is no such agent, or its file has mistakes.
            OSError: there is no such file or folder.
            ClickException: with `new`, the name is not an agent's and does not say what to create.
        """
        if name.startswith(_SERVERS):
            return cls(name, _agent(kind="postgres", dsn=name))
        kind, _, rest = name.partition(":")
        given = rest if kind == "sqlite" else name
        if not given:
            raise click.UsageError("PLACE is empty: name an agent, a folder, a file or a database")
        path = Path(given)
        if kind == "sqlite" or path.suffix in _DATABASES:
            return cls(name, _agent(kind="sqlite", path=_there(path, new=new)))
        if path.suffix == ".jsonl":
            _there(path, new=new)
            return cls(name, _agent(kind="jsonl", path=str(path.absolute().parent)), path.stem)
        # A folder that is not there yet is told from an agent's name by its slash.
        if path.is_dir() or name.endswith(_SLASHES):
            return cls(name, _agent(kind="jsonl", path=_there(path, new=new)))
        return cls(name, _agent_or_advice(name) if new else find_agent(name))

    async def find(self, session_id: str | None) -> str:
        """Return the id of an existing session, by default the one that was changed last.

        Raises:
            ConfigError: the id is invalid, or differs from that of the session file.
            SessionNotFound: there is no such session.
            ClickException: there is no session at all.
        """
        sessions = self.agent.sessions()
        if (wanted := self.only(session_id)) is None:
            if found := await sessions.list():
                return found[0].id
            raise click.ClickException(
                f"{self.name} has no sessions yet: start one with agentic chat"
            )
        # The first line is enough to check that it exists; listing may read every session.
        lines = sessions.export(wanted)
        await anext(lines, None)
        # At once: an export keeps a file, a snapshot or a connection open.
        if isinstance(lines, AsyncGenerator):
            await lines.aclose()
        return wanted

    def only(self, session_id: str | None) -> str | None:
        """Return the requested id, or that of the session file; None for neither."""
        if self.session_id and session_id not in (None, self.session_id):
            raise ConfigError(
                "--session", session_id, f"{self.session_id}, which the file is", "leave it out"
            )
        return self.session_id if session_id is None else session_id


def find_agent(name: str) -> config.AgentConfig:
    """Load an agent by its name or its file.

    Raises:
        ConfigError: there is no such agent, or its file has mistakes.
        ClickException: the file is not an agent's.
    """
    suffix = Path(name).suffix
    if suffix and suffix not in _AGENTS and "/" not in name and Path(name).is_file():
        raise click.ClickException(
            f"{name} is neither an agent's file, whose name ends with .yaml, nor sessions, which "
            "are in a folder, a .jsonl file or a .db file"
        )
    if is_folder_gone() and not Path(name).is_absolute():
        raise click.ClickException(FOLDER_GONE)
    return config.find(name)


def _agent_or_advice(name: str) -> config.AgentConfig:
    """Load an agent; if there is none of that name, also say how a new place is named."""
    try:
        return find_agent(name)
    # There is such an agent, and its file has mistakes.
    except config.ConfigProblems:
        raise
    except ConfigError as problem:
        if Path(name).exists():
            raise
        raise click.ClickException(
            f"{name}: no such file or folder, nor an agent: {problem.remedy}; a new folder ends "
            f"with a slash ({name}/), a session file with .jsonl, a database with .db"
        ) from problem


def _agent(**store: Any) -> config.AgentConfig:
    return config.AgentConfig(context_window=_WINDOW, store=config.StoreSettings(**store))


def _there(path: Path, *, new: bool) -> str:
    """Return a path that exists, or that may be created."""
    if not new and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return str(path.absolute())
