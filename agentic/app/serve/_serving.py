"""An agent as a service, whose runs survive its processes.

Its worker ends as a service manager expects: at SIGTERM, in order, and within a stated time.
"""

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from agentic._base import _imports
from agentic.app.cli._access import (
    Guard,
    check_exposure,
    read_token,
)
from agentic.app.cli._options import format_address, listen
from agentic.app.cli._output import count_of, json_line, printable, say
from agentic.app.cli._place import RunsPlace, describe_run, reachable, server_of
from agentic.app.serve._login import Login
from agentic.errors import ConfigError

if TYPE_CHECKING:
    from agentic.durable.dbos import RunInfo, Service, Worker

_STATES = ("queued", "running", "waiting", "failed")
"""The states in which somebody may have to do something."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PAUSE_SECONDS = 0.2
"""Between two looks at the database; nothing tells of a lease that has ended."""
_END_SECONDS = 2.0
"""How long the process may take to end, once its worker has."""


def serve(
    name: str,
    database: str | None,
    *,
    address: tuple[str, int],
    token_file: str | None,
    behind_proxy: bool,
    drain_seconds: float,
) -> None:
    """Serve an agent at an address until a signal comes, with a worker in the same process."""
    place, token = RunsPlace.of(name, database), read_token(token_file)
    # The port first: a second start by mistake must not open the database.
    with listen(*address) as listening, _missing_server():
        # Of the socket, because the host may be a name.
        host = listening.getsockname()[0]
        loopback = check_exposure(host, token=token, behind_proxy=behind_proxy)
        login = Login(token)
        guard = functools.partial(Guard, loopback=loopback, token=token, lets=login.lets)
        asyncio.run(_serve(place, listening, guard, login, drain_seconds))


def work(name: str, database: str | None, drain_seconds: float) -> None:
    """Work on the runs of an agent until a signal comes."""
    asyncio.run(_work(RunsPlace.of(name, database), drain_seconds))


def print_runs(
    name: str | None,
    database: str | None,
    *,
    limit: int,
    as_json: bool,
    prune_seconds: float | None,
) -> None:
    """Print the runs that are not over, or remove those that ended long ago."""
    place = RunsPlace.of(name, database)
    # Connecting would create the database.
    if place.path is not None and not place.path.exists():
        raise click.ClickException(f"{place.path}: no runs yet: start with agentic serve")
    if prune_seconds is not None:
        click.echo(f"removed {count_of(asyncio.run(_prune(place, prune_seconds)), 'run')}")
        return
    runs = asyncio.run(_list(place, limit))
    for run in runs:
        click.echo(json_line(describe_run(run)) if as_json else _as_line(run))


async def _serve(
    place: RunsPlace,
    listening: socket.socket,
    guard: Callable[[Any], Guard],
    login: Login,
    drain_seconds: float,
) -> None:
    with _imports.quietly():
        import uvicorn  # noqa: PLC0415

        from agentic.app.serve._runs_api import make_app  # noqa: PLC0415

    # Of the socket, because the port may be 0.
    host, port = listening.getsockname()[:2]
    model = (place.agent.model if place.agent else None) or ""
    with _stop_signal() as stop:
        async with place.service() as service:
            config = uvicorn.Config(
                guard(make_app(service, login, model)),
                lifespan="off",
                log_config=None,
                log_level="critical",  # streams that the end interrupts are no errors
                access_log=False,
                server_header=False,
                # A stream of events does not end by itself.
                timeout_graceful_shutdown=1,
            )
            server = uvicorn.Server(config)
            # Without `serve`, which would handle the signals itself, and end by them.
            server.capture_signals = contextlib.nullcontext  # type: ignore[assignment, method-assign]
            async with _working(place, service, stop, drain_seconds) as worker:
                say(f"serving on {format_address(host, port)}, with the runs in {_shown(place)}")
                serving = asyncio.create_task(server.serve(sockets=[listening]))
                await _until(stop, worker)
                say("stopping: running work is finished or handed over")
            # After the worker, so that whoever watches a run hears of its end.
            server.should_exit = True
            await serving


async def _work(place: RunsPlace, drain_seconds: float) -> None:
    async with contextlib.AsyncExitStack() as stack:
        stop = stack.enter_context(_stop_signal())
        service = await stack.enter_async_context(place.service())
        worker = await stack.enter_async_context(_working(place, service, stop, drain_seconds))
        say(f"worker {worker.id} is ready, with the runs in {_shown(place)}")
        await _until(stop, worker)
        say("stopping: running work is finished or handed over")


@contextlib.asynccontextmanager
async def _working(
    place: RunsPlace, service: "Service", stop: asyncio.Event, drain_seconds: float
) -> AsyncIterator["Worker"]:
    """Work on runs within the block, and drain the worker at its end, soon followed by the process.

    With SQLite, a worker that was killed has the database until its lease ends: that is waited for.

    Raises:
        ConfigError: the SQLite database has another worker.
    """
    deadline = time.monotonic() + service.lease_seconds + 1
    worker = service.worker()
    async with contextlib.AsyncExitStack() as stack:
        waits = False
        while True:
            try:
                with reachable():
                    await stack.enter_async_context(worker)
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
                say(
                    "waiting for the lease of the previous worker, which was not shut down properly"
                )
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
def _stop_signal() -> Iterator[asyncio.Event]:
    """Set an event at Ctrl-C or SIGTERM; the second one ends the process."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def set_event(number: int, _: object) -> None:
        # Runs survive a process that ends at once, so nobody has to wait for the drain.
        signal.signal(number, signal.SIG_DFL)
        # Setting the event here would not wake a loop that waits for I/O.
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, set_event) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _drain(service: "Service", worker: "Worker", seconds: float) -> None:
    # A run that waits for a person is not waited for: that may take days.
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


async def _until(stop: asyncio.Event, worker: "Worker") -> None:
    """Wait for the end of a worker.

    Raises:
        LeaseLost: others have taken over its runs.
    """
    stop_task = asyncio.create_task(stop.wait())
    worker_task = asyncio.create_task(worker.wait())
    try:
        await asyncio.wait([stop_task, worker_task], return_when=asyncio.FIRST_COMPLETED)
        if worker_task.done():
            await worker_task
    finally:
        stop_task.cancel()
        worker_task.cancel()


async def _list(place: RunsPlace, limit: int) -> "list[RunInfo]":
    async with place.service(works=False) as service:
        return [run for run in await service.runs(limit=limit) if run.state in _STATES]


async def _prune(place: RunsPlace, seconds: float) -> int:
    async with place.service(works=False) as service:
        return await service.prune(older_than_seconds=seconds)


@contextlib.contextmanager
def _missing_server() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name not in {"starlette", "uvicorn", "jinja2"}:
            raise
        raise click.ClickException(
            f"serve needs {missing.name}: {_imports.pip_install('agentic-weave[durable]')}"
        ) from missing


def _shown(place: RunsPlace) -> str:
    return server_of(place.url) if place.path is None else str(place.path)


def _as_line(run: "RunInfo") -> str:
    when = run.submitted_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return printable(f"{run.state:<8} {when}  {run.id}  {run.session_id}")
