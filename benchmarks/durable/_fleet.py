"""Worker processes on one database: turns per second and what bounds them, and waiting sessions.

Processor times are read from /proc, so this needs Linux.
"""

import asyncio
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import attrs
import sqlalchemy as sa

from agentic.durable.dbos import Service
from agentic.durable.dbos._tables import engine_url
from benchmarks.durable._agent import Model, make_runner, open_sessions

TICKS = os.sysconf("SC_CLK_TCK")
WAITS = """
    SELECT CASE state WHEN 'active' THEN coalesce(wait_event_type || wait_event, 'running') END
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
POSTGRES_SIZES = """
    SELECT relname, n_live_tup, pg_total_relation_size(relid) FROM pg_stat_user_tables
"""
SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"


@attrs.frozen(eq=False)
class Place:
    """A database of runs, where the sessions are, and an agent of so many turns and calls."""

    url: str
    store: str
    turns: int
    calls: int

    @property
    def is_postgres(self) -> bool:
        """Whether it is a server."""
        return self.url.startswith("postgres")

    @property
    def engine(self) -> sa.Engine:
        """A connection of one's own to the runs."""
        return sa.create_engine(engine_url(self.url), poolclass=sa.NullPool)

    def service(self) -> Service:
        """Return the service, for submitting and watching."""
        runner = make_runner(Model(self.turns, self.calls))
        return Service(runner, sessions=open_sessions(self.store), database_url=self.url)

    @asynccontextmanager
    async def workers(self, count: int, *, asks: bool = False) -> AsyncIterator[list[int]]:
        """Start workers, and return their process ids when all are ready."""
        given = {**attrs.asdict(self), "asks": asks}
        command = ["-m", "benchmarks.durable._agent", json.dumps(given)]
        started = [
            await asyncio.create_subprocess_exec(
                sys.executable, *command, stdout=asyncio.subprocess.PIPE
            )
            for _ in range(count)
        ]
        try:
            for process in started:
                if process.stdout is not None:
                    await process.stdout.readline()  # says that it is ready
            yield [process.pid for process in started]
        finally:
            for process in started:
                process.send_signal(signal.SIGTERM)
            for process in started:
                await process.communicate()


@attrs.frozen(kw_only=True)
class Load:
    """What a number of workers did."""

    turns_per_second: float
    cores: dict[str, float]
    """Processors that were busy on average: `workers`, `database`, `here`, `others`, `of`."""
    waits: dict[str, float]
    """Connections of the server that were active on average, by what they were waiting for, the
    five most frequent; and how many were open at most."""
    commits: float
    """Transactions per turn; 0 for SQLite, which does not count them."""


@attrs.frozen(kw_only=True)
class Waiting:
    """Runs that wait for a person."""

    count: int
    megabytes: float
    """Of the worker's memory."""
    cores: float
    """What the worker uses meanwhile."""


async def measure_load(place: Place, workers: int, sessions: int) -> Load:
    """Run a request for each session, and return what that took."""
    async with place.service() as service, place.workers(workers) as processes:
        await _serve(service, [f"warm-{n}" for n in range(workers)])
        with _watch_server(place) as waits:
            use = _Use(place, processes)
            names = [f"{time.time_ns():x}-{number}" for number in range(sessions)]
            await _serve(service, names)
            seconds, cores, commits = use.end()
        turns = sessions * place.turns
        return Load(
            turns_per_second=turns / seconds,
            cores=cores,
            waits=waits(),
            commits=commits / turns,
        )


async def measure_submit(place: Place, count: int) -> list[float]:
    """Return the seconds of submitting, one request after the other, while nobody works."""
    times = []
    async with place.service() as service:
        for number in range(count):
            begun = time.perf_counter()
            await service.submit(f"submitted-{number}", "Read them.")
            times.append(time.perf_counter() - begun)
        for run in await service.runs(limit=count):
            await service.cancel(run.id)
    return sorted(times)


async def measure_waiting(place: Place, counts: list[int]) -> list[Waiting]:
    """Return what a worker takes for so many runs that wait for approval, in rising order."""
    found: list[Waiting] = []
    async with place.service() as service, place.workers(1, asks=True) as (worker,):
        for count in [0, *counts]:
            for number in range(found[-1].count if found else 0, count):
                await service.submit(f"waiting-{number}", "Read them.")
            while await asyncio.to_thread(_count_questions, place) < count:  # noqa: ASYNC110  another process asks
                await asyncio.sleep(0.2)
            await asyncio.sleep(2)
            before = _used(worker)
            await asyncio.sleep(5)
            cores = (_used(worker) - before) / 5
            found.append(Waiting(count=count, megabytes=_megabytes(worker), cores=cores))
    return found


def measure_sizes(place: Place, turns: int) -> dict[str, tuple[float, float]]:
    """Return rows and bytes per turn, by table, of a database in which so many turns were made."""
    with place.engine.connect() as connection:
        if place.is_postgres:
            connection.execute(sa.text("ANALYZE"))
            connection.commit()
            rows = connection.execute(sa.text(POSTGRES_SIZES)).all()
            found = {name: (live / turns, size / turns) for name, live, size in rows if live}
            return dict(sorted(found.items()))
    found = {}
    for path in (place.url.partition(":///")[2], place.store):
        found |= _sqlite_sizes(path, turns)
    return found


def _sqlite_sizes(path: str, turns: int) -> dict[str, tuple[float, float]]:
    found = {}
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        for (name,) in connection.exec_driver_sql(SQLITE_TABLES).all():
            rows = connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one()  # noqa: S608
            if rows:
                found[name] = (rows / turns, 0.0)
    found[f"the file {Path(path).name}"] = (0.0, Path(path).stat().st_size / turns)
    return found


async def _serve(service: Service, names: list[str]) -> None:
    runs = [await service.submit(name, "Read them.") for name in names]
    for run in runs:
        outcome = await service.result(run)
        if outcome.state != "done":
            raise RuntimeError(outcome)


def _count_questions(place: Place) -> int:
    query = "SELECT count(*) FROM agentic_controls WHERE kind = 'ask'"
    with place.engine.connect() as connection:
        return int(connection.execute(sa.text(query)).scalar_one())


class _Use:
    """Processor time and transactions since it was made."""

    def __init__(self, place: Place, workers: list[int]) -> None:
        self._place = place
        self._workers = workers
        self._server = _find_server(place)
        self._before = self._read()

    def end(self) -> tuple[float, dict[str, float], float]:
        """Return seconds, busy processors, and transactions."""
        difference = {name: value - self._before[name] for name, value in self._read().items()}
        seconds = difference.pop("seconds")
        commits = difference.pop("commits")
        ours = sum(difference[name] for name in ("workers", "database", "here"))
        difference["others"] = max(0.0, difference.pop("machine") - ours)
        cores = {name: value / seconds for name, value in difference.items()}
        return seconds, {**cores, "of": float(os.cpu_count() or 1)}, commits

    def _read(self) -> dict[str, float]:
        busy = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, *interrupts = (int(each) / TICKS for each in busy[:8])
        return {
            "seconds": time.perf_counter(),
            "commits": _commits(self._place),
            "workers": sum(map(_used, self._workers)),
            "database": 0.0 if self._server is None else _used_by_server(self._server),
            "here": time.process_time(),
            "machine": user + nice + system + sum(interrupts),
        }


def _fields(process: int) -> list[str]:
    # After the name, which may contain blanks.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _used(process: int) -> float:
    return sum(int(each) for each in _fields(process)[11:13]) / TICKS


def _megabytes(process: int) -> float:
    return int(_fields(process)[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _find_server(place: Place) -> int | None:
    if not place.is_postgres:
        return None
    with place.engine.connect() as connection:
        backend = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        return int(_fields(backend)[1])


def _used_by_server(server: int) -> float:
    # What ended is in the server's own account of its children.
    used = sum(int(each) for each in _fields(server)[11:15]) / TICKS
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(_fields(int(folder.name))[1]) == server:
                used += _used(int(folder.name))
        except OSError:
            continue  # it has just ended
    return used


def _commits(place: Place) -> float:
    if not place.is_postgres:
        return 0.0
    query = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    with place.engine.connect() as connection:
        return float(connection.execute(sa.text(query)).scalar_one())


@contextmanager
def _watch_server(place: Place) -> Iterator[Callable[[], dict[str, float]]]:
    """Look every 50 ms what the server's connections are doing."""
    seen: list[Counter[str | None]] = []
    stop = threading.Event()

    def look() -> None:
        with place.engine.connect() as connection:
            while not stop.wait(0.05):
                rows = connection.execute(sa.text(WAITS)).all()
                connection.rollback()
                seen.append(Counter(kind for (kind,) in rows))

    def average() -> dict[str, float]:
        if not seen:
            return {}
        kinds = {kind for counts in seen for kind in counts if kind is not None}
        means = {kind: statistics.mean(counts[kind] for counts in seen) for kind in kinds}
        top = sorted(means.items(), key=lambda each: -each[1])[:5]
        return {**dict(top), "open at most": float(max(counts.total() for counts in seen))}

    thread = threading.Thread(target=look, daemon=True)
    if place.is_postgres:
        thread.start()
    try:
        yield average
    finally:
        stop.set()
        if place.is_postgres:
            thread.join()
