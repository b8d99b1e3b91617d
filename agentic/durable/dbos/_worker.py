"""A worker: runs what is queued, as long as it holds its lease, and takes over from the dead."""

import contextlib
import hashlib
import json
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, Self

import attrs
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, Serializer

from agentic._base._lazy import asyncio
from agentic._base._waiting import in_thread
from agentic.durable.dbos._lease import LeaseLost, WorkerLease
from agentic.durable.dbos._log import RunLog
from agentic.durable.dbos._prune import requeue_orphans
from agentic.durable.dbos._run import RunAttempt, Trial
from agentic.durable.dbos._steps import DbosSteps
from agentic.durable.dbos._stores import OpenStores, SessionWriter
from agentic.durable.dbos._tables import Tables, insist, reason_of
from agentic.errors import ConfigError, HistoryUnavailable
from agentic.history._abilities import LeasedSessions
from agentic.loop import Runner

_log = logging.getLogger(__name__)

# The version of what runs record. It is not the engine's hash of the code, with which an upgrade
# would orphan the runs of the former version.
VERSION = "agentic-1"
RUN = "agentic_run"
COMPACTION = "agentic_compaction"
_ALONE = "the only worker of its process and, with SQLite, of its database"
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 0.5
# How many stores a worker uses at once. To connect for each turn cost more than its steps.
_CONNECTIONS = 4
# With those of the stores, of our tables and of the service, some 22 for a worker. PostgreSQL
# allows 100 by default; with the engine's 20, four busy workers were refused some (2026-11-23).
_ENGINE_CONNECTIONS = 10


class Json(Serializer):
    """Everything is stored as JSON text, with escapes for what a database would refuse."""

    def name(self) -> str:
        """Return the name that is stored with each value."""
        return "agentic_json"

    def serialize(self, data: Any) -> str:
        """Return JSON; an error of the engine is stored as its text."""
        return json.dumps(data, separators=(",", ":"), default=repr)

    def deserialize(self, serialized_data: str) -> Any:
        """Read JSON."""
        return json.loads(serialized_data)


@attrs.frozen(eq=False)
class ServiceParts:
    """What a service and its workers share."""

    make_runner: Callable[[str], Runner]
    sessions: LeasedSessions
    url: str
    tables: Tables
    client: DBOSClient
    queue: str
    limits: Any
    lease_seconds: float
    max_attempts: int


def application_name(name: str) -> str:
    """Return the name of a service as the engine takes it: 3 to 256 of a-z, 0-9, - and _.

    >>> application_name("code-reviewer"), application_name("Über?")
    ('code-reviewer', 'agentic-7e11836dc105f661')
    """
    if re.fullmatch("[a-z0-9_-]{3,256}", name):
        return name
    return f"agentic-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


@attrs.define(eq=False)
class Worker:
    """Runs what is submitted, in this process: `async with service.worker():`.

    A process has one worker, because it has one engine. With SQLite, a database has one worker.

    Raises:
        ConfigError: this process, or a SQLite database, has a worker already.
    """

    place: ServiceParts
    _lease: WorkerLease = attrs.field(init=False)
    _stores: OpenStores = attrs.field(init=False)
    _alone: "asyncio.Semaphore" = attrs.field(factory=lambda: asyncio.Semaphore(1), init=False)
    _busy: Counter[str] = attrs.field(init=False, factory=Counter)
    """The runs and compactions that are being worked on, and how often."""
    _unknown: dict[str, float] = attrs.field(init=False, factory=dict)
    """Since when the engine has had runs of this worker that are not."""
    _requeued: Counter[str] = attrs.field(init=False, factory=Counter)
    """How often a run was queued again, as it was not begun in time."""
    _attempts: dict[str, RunAttempt] = attrs.field(init=False, factory=dict)
    _stopping: threading.Event = attrs.field(init=False, factory=threading.Event)
    _engine: DBOS | None = attrs.field(init=False, default=None)
    _listener: threading.Thread | None = attrs.field(init=False, default=None)

    @_lease.default
    def _make_lease(self) -> WorkerLease:
        place = self.place
        return WorkerLease(place.tables, place.queue, place.lease_seconds, self._look_after_runs)

    @_stores.default
    def _make_stores(self) -> OpenStores:
        return OpenStores(self.place.sessions, _CONNECTIONS)

    @property
    def id(self) -> str:
        """Return the id of this worker, which no other one has."""
        return self._lease.worker

    @property
    def active(self) -> int:
        """Return how many runs are being worked on, waiting ones included."""
        return len(self._attempts)

    async def __aenter__(self) -> Self:
        try:
            await in_thread(self._start)
        except asyncio.CancelledError:
            # The thread has started it nevertheless, and nobody else would stop it.
            await in_thread(self._stop)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await in_thread(self._stop)

    async def wait(self) -> None:
        """Wait until the lease is lost.

        Raises:
            LeaseLost: it is lost; the runs of this worker go on elsewhere.
        """
        while not self._lease.lost.is_set():
            await asyncio.sleep(_POLL_SECONDS)
        raise LeaseLost(self.id)

    async def drain(self, timeout_seconds: float) -> None:
        """Take no more runs, and wait for those that are active, at most for so long.

        What is not done then, is continued by another worker from its latest step.
        """
        if self._engine is not None:
            for stop in self._engine.background_thread_stop_events:
                stop.set()
        deadline = time.monotonic() + timeout_seconds
        while self._attempts and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)

    def _start(self) -> None:
        if self._stopping.is_set():
            problem = "a worker can be started only once: call service.worker() for another one"
            raise ConfigError("worker", self.id, _ALONE, message=problem)
        with _starting:
            if _running:
                problem = "this process has a worker already: start another process for this one"
                raise ConfigError("worker", self.id, _ALONE, message=problem)
            _running.append(self)
        try:
            self._launch()
        except BaseException:
            self._stop()
            raise

    def _launch(self) -> None:
        place = self.place
        # The engine lets several processes use one file, which was not shown to hold under kills.
        if place.tables.is_sqlite and place.tables.living():
            problem = (
                "this SQLite database has a worker already, and SQLite allows one worker: use "
                "PostgreSQL for several; after a crash, wait until the lease ends"
            )
            raise ConfigError("worker", self.id, _ALONE, message=problem)
        config: DBOSConfig = {
            "name": application_name(place.queue),
            "system_database_url": place.url,
            "application_version": VERSION,
            # The engine recovers the runs of its id when it starts, and this id is new: a lease
            # says what is taken over (https://docs.dbos.dev/production/workflow-recovery, 2026-11).
            "executor_id": self.id,
            "serializer": Json(),
            "log_level": "ERROR",
            "run_migrations": False,  # the service has made them
            "sys_db_pool_size": _ENGINE_CONNECTIONS,
            # The engine repeats what fails on a connection that is lost. To ask before each use
            # whether it is alive was a third of the transactions of a turn.
            "db_engine_kwargs": {"pool_pre_ping": False},
            # A worker that is stopped in a transaction must not keep its locks for longer.
            "sys_db_idle_transaction_timeout_sec": place.lease_seconds,
        }
        self._engine = DBOS(config=config)
        # A Trial counts instead: `resume_workflow` resets the engine's count, and a run that waits
        # for a month is taken over often.
        DBOS.workflow(name=RUN, max_recovery_attempts=None)(self._make_run())
        DBOS.workflow(name=COMPACTION, max_recovery_attempts=None)(self._make_compaction())
        # The row first: whoever finds a run of an unknown worker queues it again.
        self._lease.start()
        DBOS.launch()
        DBOS.register_queue(
            place.queue,
            partition_concurrency=1,  # a session is a partition, and has one run at a time
            polling_interval_sec=_POLL_SECONDS,
            on_conflict="always_update",
            **attrs.asdict(place.limits),
        )
        self._take_over()
        requeue_orphans(place.tables, place.client, place.queue)
        self._listener = threading.Thread(target=self._listen, name="agentic-inbox", daemon=True)
        self._listener.start()

    def _stop(self) -> None:
        if self not in _running:  # refused: the process and its engine are another worker's
            return
        # First of all: what the engine cancels now must not be stored as the end of a run.
        self._stopping.set()
        for attempt in list(self._attempts.values()):
            attempt.log.steps.stop()
            attempt.trial.hand_over()
        try:
            DBOS.destroy(destroy_registry=True)
            asyncio.run(self._stores.aclose())  # the engine's loop is gone, and they need none
        finally:
            if self._listener is not None:
                self._listener.join(timeout=5)
            # Last: from here on others take over, and this worker must have nothing under way.
            self._lease.stop()
            _running.remove(self)

    def _make_run(self) -> Callable[..., Any]:
        # A function, because the engine would look for a method's class in its registry.
        async def agentic_run(session_id: str, message: str, submitted: str) -> dict[str, Any]:
            runner = self.place.make_runner(session_id)
            steps = DbosSteps(self._lease, client=self.place.client)
            log = RunLog(self._make_writer(session_id), str(DBOS.workflow_id), steps)
            async with self._retrying(log.run_id, steps):
                return await self._run(runner, log, message, datetime.fromisoformat(submitted))

        return agentic_run

    def _make_compaction(self) -> Callable[..., Any]:
        async def agentic_compaction(
            session_id: str, ref: str, replaces: int, point: Sequence[int] | None = None
        ) -> dict[str, Any]:
            steps, writer = DbosSteps(self._lease), self._make_writer(session_id)
            place = None if point is None else tuple(point)
            async with self._retrying(str(DBOS.workflow_id), steps):
                try:
                    return dict(await steps.run("compact", writer.compact, ref, replaces, place))
                finally:
                    await writer.release()

        return agentic_compaction

    def _make_writer(self, session_id: str) -> SessionWriter:
        return SessionWriter(self._stores, session_id, self._lease)

    @contextlib.asynccontextmanager
    async def _retrying(self, run_id: str, steps: DbosSteps) -> AsyncIterator[None]:
        """Queue a run again if the database failed in a way that the engine does not repeat.

        Otherwise the engine would take it for the end of the run.
        """
        self._busy[run_id] += 1
        try:
            yield
            # Not earlier: with a claim that was taken back, the engine stops it at its first step.
            self._requeued.pop(run_id, None)
        except (sa.exc.SQLAlchemyError, HistoryUnavailable) as problem:
            _log.warning("run %s is tried again: %s", run_id, reason_of(problem))
            steps.over = None
            error = steps.give_up(run_id)
            # A kill from here on leaves the run to whoever takes over this worker.
            await asyncio.sleep(_RETRY_SECONDS)
            await insist(self._resume, run_id)
            raise error from problem
        finally:
            self._busy -= Counter([run_id])

    async def _run(
        self, runner: Runner, log: RunLog, message: str, submitted: datetime
    ) -> dict[str, Any]:
        run_id = log.run_id
        trial = Trial(run_id, self.place.tables, self.place.max_attempts, self._alone)
        attempt = RunAttempt(run_id, self.place.tables, log, trial)
        self._attempts[run_id] = attempt
        if self._stopping.is_set():
            log.steps.stop()
        try:
            outcome = await attempt.serve(runner, message, submitted)
            # After the run, which every attempt must find as it began, and before the engine knows
            # that it is over: so no run of the session comes between.
            if log.is_compacted:
                await log.steps.run("leave compaction", self._leave_compaction, log)
            return outcome
        finally:
            trial.end()
            await log.writer.release()
            if self._attempts.get(run_id) is attempt:
                del self._attempts[run_id]

    async def _leave_compaction(self, log: RunLog) -> dict[str, Any]:
        """Queue the compaction before the next run of the session: it has no priority number."""
        ref = await log.leave_view()
        await self.place.client.enqueue_async(
            {
                "workflow_name": COMPACTION,
                "queue_name": self.place.queue,
                "workflow_id": f"{log.run_id}-compaction",
                "queue_partition_key": log.writer.session_id,
                "app_version": VERSION,
            },
            log.writer.session_id,
            ref,
            log.stored,
            log.point,
        )
        return {}

    def _look_after_runs(self) -> None:
        self._take_over()
        self._find_forgotten()

    def _take_over(self) -> None:
        place = self.place
        for worker in place.tables.take_over(place.queue, place.lease_seconds):
            for run in self._pending(worker):
                if not self._lease.is_held:  # others may have gone on with taking over
                    return
                _log.warning("run %s is taken over from worker %s", run, worker)
                self._resume(run)

    def _find_forgotten(self) -> None:
        """Queue again what the engine has claimed for this worker, and does not work on.

        When the database stops between a claim and its answer, the engine never hears of it.
        """
        # Long enough for the engine to begin what it has claimed. On a machine so busy that it is
        # not, to take the claim back each time would keep the run from ever beginning.
        now, patience = time.monotonic(), 2 * self.place.lease_seconds
        idle = [run for run in self._pending(self.id) if not self._busy[run]]
        self._unknown = {run: self._unknown.get(run, now) for run in idle}
        for run, since in self._unknown.items():
            if now - since > patience * 2 ** self._requeued[run]:
                self._requeued[run] += 1
                _log.warning("run %s was claimed and not begun: it is queued again", run)
                self._resume(run)

    def _pending(self, worker: str) -> list[str]:
        runs = self.place.client.list_workflows(
            status="PENDING", executor_id=worker, load_input=False, load_output=False
        )
        return [run.workflow_id for run in runs]

    def _resume(self, run_id: str) -> None:
        self.place.tables.forget_failures(run_id)
        self.place.client.resume_workflow(run_id, queue_name=self.place.queue)

    def _listen(self) -> None:
        while not self._stopping.wait(_POLL_SECONDS):
            attempts = dict(self._attempts)
            if not attempts:
                continue
            try:
                for control in self.place.tables.controls(attempts, with_questions=False):
                    attempt = attempts[control.run]
                    attempt.loop.call_soon_threadsafe(attempt.deliver, control)
            except Exception as problem:  # noqa: BLE001  the database may come back
                _log.warning("messages to runs cannot be read: %s", problem)


_running: list[Worker] = []
"""The worker of this process: the engine is a singleton of its module."""
_starting = threading.Lock()
"""Two workers may be started by two threads."""
