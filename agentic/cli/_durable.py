"""Where the runs of an agent are, and a worker for them that ends as a service manager expects.

The engine is imported by what needs it, because it is an extra of its own.
"""

import asyncio
import contextlib
import functools
import logging
import os
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from agentic import config
from agentic.cli._output import say
from agentic.cli._place import find_agent
from agentic.errors import ConfigError
from agentic.history._disk import make_folders, open_private
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Runner
from agentic.messages import ToolCall
from agentic.tools import Approval, ToolDefinition

if TYPE_CHECKING:
    from agentic.bridges.dbos import RunInfo, Service, Worker

__all__ = ["RunsPlace", "database_option", "describe_run", "drain_option", "stop_signal", "working"]

_SQLITE, _POSTGRES = "sqlite", "postgresql"
_LEASE_SECONDS = {_SQLITE: 5.0, _POSTGRES: 15.0}
"""How long a silent worker keeps its runs. With SQLite, nobody takes over but the next start, which
waits for so long after a crash. With PostgreSQL, a stalled network must not cost a worker its
runs."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PAUSE_SECONDS = 0.2
_END_SECONDS = 2.0
"""How long the process may take to end, once its worker has."""

database_option = click.option(
    "--database",
    metavar="URL",
    help="Where the runs are kept: sqlite:///PATH, or postgresql://HOST/NAME, which keeps the "
    "sessions, too. By default, SQLite in the folder .agentic next to the agent's file.",
)
drain_option = click.option(
    "--drain",
    "drain_seconds",
    type=click.FloatRange(0),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a stopped worker goes on with what it has begun.",
)


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
        """Return `sqlite` or `postgresql`."""
        return self.url.partition(":")[0]

    @property
    def path(self) -> Path | None:
        """Return the file of a SQLite database."""
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
        from agentic.bridges.dbos import Service  # noqa: PLC0415

        agent = self.agent
        if self.path is not None and agent is not None:
            _create_private(self.path)
        if agent is not None and self.kind == _POSTGRES:
            agent = attrs.evolve(agent, store=config.StoreSettings(kind="postgres", dsn=self.url))
        elif agent is not None and agent.store == config.StoreSettings():
            # The default store of an agent has no leases, which fence a worker that comes late.
            agent = attrs.evolve(agent, store=config.StoreSettings(kind="sqlite"))
        # Whoever only lists runs opens no session; a SqliteSessions that opens none has no file.
        sessions: Any = SqliteSessions(os.devnull) if agent is None else agent.sessions()
        made = Service(
            _refuse if agent is None else functools.partial(_make_runner, agent),
            sessions=sessions,
            database_url=self.url,
            name="" if agent is None else agent.name,  # empty: the runs of all agents
            lease_seconds=_LEASE_SECONDS[self.kind],
        )
        if agent is not None and works:
            _make_runner(agent, "check")  # mistakes in the file are reported now
        async with contextlib.AsyncExitStack() as entered:
            with _reachable():
                service = await entered.enter_async_context(made)
            yield service


def _create_private(path: Path) -> None:
    """Create a database for its owner alone: it holds requests and results.

    SQLite gives its other files the same permissions.
    """
    make_folders(path.parent)
    with open(path, "ab", opener=open_private):
        pass


@contextlib.asynccontextmanager
async def working(
    place: RunsPlace, service: "Service", stop: asyncio.Event, drain_seconds: float
) -> AsyncIterator["Worker"]:
    """Work on runs within the block, and drain the worker at its end, soon followed by the process.

    With SQLite, a worker that was killed has the database until its lease ends: that is waited for.

    Raises:
        ConfigError: the SQLite database has another worker.
    """
    deadline = time.monotonic() + service.lease_seconds + 1
    worker = service.worker()
    async with contextlib.AsyncExitStack() as entered:
        waits = False
        while True:
            try:
                with _reachable():
                    await entered.enter_async_context(worker)
                break
            except ConfigError as problem:
                if stop.is_set():
                    raise click.Abort from problem
                if time.monotonic() > deadline:
                    raise click.ClickException(
                        f"{place.path} has a worker already, and SQLite allows one: use that one, "
                        "or PostgreSQL for several workers"
                    ) from problem
                worker = service.worker()
            if not waits:
                say("waiting for the lease of the former worker, which was not stopped in order")
                waits = True
            await asyncio.sleep(_PAUSE_SECONDS)
        yield worker
        await _drain(service, worker, drain_seconds)
    # A thread of the agent's own code cannot be stopped, and would keep the process for as long as
    # it works. Its run goes on elsewhere, as after a crash.
    ending = threading.Timer(_END_SECONDS, os._exit, [0])
    ending.daemon = True
    ending.start()


@contextlib.contextmanager
def stop_signal() -> Iterator[asyncio.Event]:
    """Set an event at Ctrl-C or SIGTERM. The second one ends the process: runs survive that."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def set_event(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        # Setting the event here would not wake a loop that waits for I/O.
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, set_event) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def describe_run(run: "RunInfo") -> dict[str, Any]:
    """Return a run as JSON data; its time is in ISO 8601, in UTC."""
    return {**attrs.asdict(run), "submitted_at": run.submitted_at.isoformat()}


def _make_runner(agent: config.AgentConfig, session_id: str) -> Runner:
    return agent.runner(agent.session(session_id), approver=_Absent())


class _Absent:
    """Stands where a run's own approver is put, which waits for an answer by HTTP."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        return Approval(allowed=False, reason="nobody can be asked")


async def _drain(service: "Service", worker: "Worker", seconds: float) -> None:
    """Let a worker finish what it has begun; a run that waits for a person is handed over."""
    deadline = time.monotonic() + seconds
    # The engine would report each run that is handed over, with a traceback.
    logging.getLogger("dbos").addFilter(lambda _: False)
    # No new runs from here on; those that are active are waited for below.
    await worker.drain(0)
    while worker.active and time.monotonic() < deadline:
        runs = await service.runs()
        if not any(run.worker == worker.id and run.state == "running" for run in runs):
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _refuse(_: str) -> Any:
    raise click.ClickException("runs are listed here, not worked on")


def _checked(database: str) -> str:
    scheme, _, rest = database.partition("://")
    # libpq accepts both schemes, SQLAlchemy only the longer one.
    if scheme in {"postgres", _POSTGRES} and rest:
        return f"{_POSTGRES}://{rest}"
    if scheme == _SQLITE and rest.startswith("/") and rest != "/":
        return database
    shown = scheme if rest else database  # the rest may hold a password
    raise click.UsageError(
        f"--database must be sqlite:///PATH or postgresql://HOST/NAME, got {shown!r}"
    )


@contextlib.contextmanager
def _reachable() -> Iterator[None]:
    """Report a database that cannot be used as one sentence."""
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        yield
    except SQLAlchemyError as problem:
        told = str(getattr(problem, "orig", None) or problem).strip().partition("\n")[0]
        raise click.ClickException(f"the database cannot be used: {told}") from problem
