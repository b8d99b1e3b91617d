"""How the command line names stored sessions and runs: by a place, and an id in that place.

A place of sessions is an agent, by its file or its name; a folder of sessions; a session file;
`sqlite:FILE`; or the address of a PostgreSQL database. In every case its sessions are handled as
those of an agent: the one that the file describes, or one with the defaults, which summarizes with
a digest.

A place of runs is a database, by default one next to the agent's file. The engine and the driver
are imported by what needs them, because they are an extra.
"""

import contextlib
import errno
import functools
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from agentic._base._addresses import show_address
from agentic.app import config
from agentic.app.cli._output import FOLDER_GONE, is_folder_gone
from agentic.app.config._records import StoreSettings
from agentic.errors import ConfigError
from agentic.history._disk import make_folders, open_private
from agentic.loop import Runner
from agentic.messages import ToolCall
from agentic.tools import Approval, ToolDefinition

if TYPE_CHECKING:
    from agentic.durable.dbos import RunInfo, Service

_DATABASES = {".sqlite", ".sqlite3", ".db"}
_AGENTS = {".yaml", ".yml"}
_SLASHES = ("/", os.sep)
_SERVERS = ("postgresql:", "postgres:")
_NO_AGENT = "{context_window: 200000, context: {max_messages_before_summary: 30}}"
"""The agent of sessions without one. Nothing is known of its window, which is so large that
`max_messages` and `max_tokens` decide."""

_SQLITE, _POSTGRES = "sqlite", "postgresql"
_LEASE_SECONDS = {_SQLITE: 5.0, _POSTGRES: 15.0}
"""How long a silent worker keeps its runs. With SQLite, nobody takes over but the next start, which
waits for so long after a crash. With PostgreSQL, a stalled network must not cost a worker its
runs."""

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
    """The place as it was passed, without a password."""
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
            return cls(server_of(name), _agent(kind="postgres", dsn=name))
        kind, _, rest = name.partition(":")
        location = rest if kind == "sqlite" else name
        if not location:
            raise click.UsageError("PLACE is empty: name an agent, a folder, a file or a database")
        # No shell expands the ~ of sqlite:~/kept.db.
        path = Path(location).expanduser()
        # A folder may be called kept.db, or monday.jsonl.
        is_folder = path.is_dir()
        if kind == "sqlite" and is_folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location)
        if kind == "sqlite" or (path.suffix in _DATABASES and not is_folder):
            return cls(name, _agent(kind="sqlite", path=_there(path, new=new)))
        if path.suffix == ".jsonl" and not is_folder:
            _there(path, new=new)
            return cls(name, _agent(kind="jsonl", path=str(path.absolute().parent)), path.stem)
        # A folder that is not there yet is told from an agent's name by its slash.
        if is_folder or name.endswith(_SLASHES):
            return cls(name, _agent(kind="jsonl", path=_there(path, new=new)))
        return cls(name, _agent_or_advice(name) if new else find_agent(name))

    def served(self) -> "SessionPlace | None":
        """Return the place of the sessions that `agentic serve` keeps, if it is another one."""
        runs = _as_served(self.agent)
        if self.agent.path is None or runs is self.agent:
            return None
        sessions = runs.sessions()
        return SessionPlace(f"sqlite:{getattr(sessions, 'path', '')}", runs)

    async def find(self, session_id: str | None) -> str:
        """Return the id of an existing session, by default the one that was changed last.

        Raises:
            ConfigError: the id is invalid, or differs from that of the session file.
            SessionNotFound: there is no such session.
            ClickException: there is no session at all.
        """
        sessions = self.agent.sessions()
        if (name := self.only(session_id)) is None:
            if infos := await sessions.list():
                return infos[0].id
            raise click.ClickException(
                f"{self.name} has no sessions yet: start one with agentic chat"
            )
        # The first line is enough to check that it exists; listing may read every session.
        lines = sessions.export(name)
        await anext(lines, None)
        # At once: an export keeps a file, a snapshot or a connection open.
        if isinstance(lines, AsyncGenerator):
            await lines.aclose()
        return name

    def only(self, session_id: str | None) -> str | None:
        """Return the requested id, or that of the session file; None for neither."""
        if self.session_id and session_id not in (None, self.session_id):
            raise ConfigError(
                "--session", session_id, f"{self.session_id}, which the file is", "leave it out"
            )
        return self.session_id if session_id is None else session_id

    def runs_url(self, database: str | None) -> str | None:
        """Return the address of the runs of these sessions; None if there are none that is known.

        Raises:
            UsageError: the address is not one of a database that can be used.
        """
        store = self.agent.store
        if database is not None:
            place = RunsPlace.of(None, database)
        elif store.kind == "postgres" and store.dsn:
            place = RunsPlace.of(None, store.dsn)
        elif self.agent.path is not None:
            place = RunsPlace.of(str(self.agent.path), None)
        else:
            return None
        return None if place.path is not None and not place.path.exists() else place.url


@attrs.frozen(eq=False)
class RunsPlace:
    """The database of runs, and the agent that they belong to."""

    url: str
    agent: config.AgentConfig | None = None

    @classmethod
    def of(cls, name: str | None, database: str | None) -> "RunsPlace":
        """Return the place that a command line names.

        Raises:
            ConfigError: there is no such agent, or its file has mistakes.
            UsageError: the address is not one of a database that can be used, or nothing is named.
        """
        agent = None if name is None else find_agent(name)
        if database is not None:
            return cls(_checked(database), agent)
        if agent is None:
            raise click.UsageError("name an agent's file, or a --database")
        folder = Path.cwd() if agent.path is None else agent.path.absolute().parent
        # A `?` would begin the options of the address.
        name = re.sub(r"[^\w.-]", "_", agent.name)
        return cls(f"sqlite:///{folder / '.agentic' / 'runs' / name}.db", agent)

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.url.partition(":")[0]

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database."""
        _, _, rest = self.url.partition(":///")
        return Path(rest) if self.kind == _SQLITE else None

    @contextlib.asynccontextmanager
    async def service(self, *, works: bool = True) -> AsyncIterator["Service"]:
        """Connect to the runs of the agent; what is missing in the database is created.

        Without `works`, the agent's model and tools need not be there.

        Raises:
            ConfigError: something that the agent's file names cannot be used.
            ClickException: the database cannot be used.
            ImportError: the engine is not installed.
        """
        from agentic.durable.dbos import Service  # noqa: PLC0415
        from agentic.history.sqlite import SqliteSessions  # noqa: PLC0415

        agent = self.agent
        if self.path is not None and agent is not None:
            _create_private(self.path)
        if agent is not None and self.kind == _POSTGRES:
            agent = attrs.evolve(agent, store=StoreSettings(kind="postgres", dsn=self.url))
        elif agent is not None:
            agent = _as_served(agent)
        # Whoever only lists runs opens no session; a SqliteSessions that opens none has no file.
        sessions: Any = SqliteSessions(os.devnull) if agent is None else agent.sessions()
        new_service = Service(
            _refuse if agent is None else functools.partial(_make_runner, agent),
            sessions=sessions,
            database_url=self.url,
            name="" if agent is None else agent.name,  # empty: the runs of all agents
            lease_seconds=_LEASE_SECONDS[self.kind],
        )
        if agent is not None and works:
            _make_runner(agent, "check")  # mistakes in the file are reported now
        async with contextlib.AsyncExitStack() as stack:
            with reachable():
                service = await stack.enter_async_context(new_service)
            yield service


def _as_served(agent: config.AgentConfig) -> config.AgentConfig:
    """Return an agent with the store that `agentic serve` gives it; itself if it has that one."""
    # The default store of an agent has no leases, which fence a worker that comes late.
    if agent.store != StoreSettings():
        return agent
    return attrs.evolve(agent, store=StoreSettings(kind="sqlite"))


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


def server_of(address: str) -> str:
    """Return the server and the database of an address, without a password.

    >>> server_of("postgresql://me:secret@db/agents?sslpassword=secret"), server_of("postgres://db/a")
    ('db/agents', 'db/a')
    """
    return show_address(address).rpartition("://")[2]


def describe_run(run: "RunInfo") -> dict[str, Any]:
    """Return a run as JSON data; its time is in ISO 8601, in UTC."""
    return {**attrs.asdict(run), "submitted_at": run.submitted_at.isoformat()}


@contextlib.contextmanager
def reachable() -> Iterator[None]:
    """Report a database that cannot be used as one sentence."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        yield
    except SQLAlchemyError as problem:
        reason = str(getattr(problem, "orig", None) or problem).strip().partition("\n")[0]
        raise click.ClickException(f"the database cannot be used: {reason}") from problem


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
    return attrs.evolve(config.loads(_NO_AGENT), store=StoreSettings(**store))


def _there(path: Path, *, new: bool) -> str:
    # Absolute, because the store of an agent is relative to its file, and this one has none.
    if not new and not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return str(path.absolute())


def _refuse(_: str) -> Any:
    # A Service needs a way to make Runners, also one that has no worker.
    raise click.ClickException("this command only lists runs, and does not work on them")


def _checked(database: str) -> str:
    scheme, _, rest = database.partition("://")
    # libpq accepts both schemes, SQLAlchemy only the longer one.
    if scheme in {"postgres", _POSTGRES} and rest:
        return f"{_POSTGRES}://{rest}"
    if scheme == _SQLITE and rest.startswith("/") and rest != "/":
        return database
    visible = scheme if rest else show_address(database)  # the rest may hold a password
    raise click.UsageError(
        f"--database must be sqlite:///PATH or postgresql://HOST/NAME, got {visible!r}"
    )


def _create_private(path: Path) -> None:
    # For its owner alone, since it holds requests and results. SQLite gives the journal that it
    # writes next to a database the same permissions.
    make_folders(path.parent)
    with open(path, "ab", opener=open_private):
        pass


def _make_runner(agent: config.AgentConfig, session_id: str) -> Runner:
    return agent.runner(agent.session(session_id), approver=_Absent())


class _Absent:
    """Stands where a run's own approver is put, which waits for an answer by HTTP."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        return Approval(allowed=False, reason="there is nobody to ask")
