"""The door to runs that survive their machine: submit, watch, steer, approve, cancel."""

import json
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Self

import attrs
import sqlalchemy as sa
from dbos import DBOS, DBOSClient

from agentic._base._lazy import asyncio
from agentic._base._validate import must_be, whole
from agentic._base._waiting import in_thread
from agentic.durable.dbos._prune import prune
from agentic.durable.dbos._redact import redact_session
from agentic.durable.dbos._tables import Tables, engine_url, reason_of, storable
from agentic.durable.dbos._worker import (
    COMPACTION,
    RUN,
    VERSION,
    Json,
    ServiceParts,
    Worker,
    application_name,
)
from agentic.errors import AgenticError, ConfigError, HistoryUnavailable
from agentic.history._abilities import LeasedSessions
from agentic.loop import Runner
from agentic.usage import Usage
from agentic.usage._usage import WITHOUT_SUMMED

_POLL_SECONDS = 0.1
_CONNECTIONS = 3
_STATES = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "CANCELLED": "cancelled",
}

_TOO_LATE = {
    "steer": "submit the message instead",
    "approve": "nothing waits for an answer",
    "cancel": "there is nothing to cancel",
}


@attrs.define
class RunNotFound(AgenticError):
    """There is no run with this id."""

    run_id: str

    def __str__(self) -> str:
        # As it is, unless it could not be printed.
        return f"no such run: {storable(self.run_id)}"


@attrs.frozen(kw_only=True)
class QueueLimits:
    """How much runs side by side. None means no limit."""

    worker_concurrency: int | None = attrs.field(default=100, validator=whole(1, optional=True))
    """Runs in one worker, those included that wait for a person."""
    global_concurrency: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """Runs in all workers of the service: the limit of its model."""
    limiter: Any = None
    """A rate, as DBOS takes it: `{"limit": 50, "period": 60}` starts 50 runs in 60 s at most."""


@attrs.frozen(kw_only=True)
class RunOutcome:
    """How a run ended."""

    state: str
    """`done`, `failed` or `cancelled`."""
    reply: str = ""
    problem: str = ""
    """The error of a failed run: its class and its text; or why it is not tried again."""
    exhausted: bool = False
    """Whether a limit ended the run."""
    limit: str | None = None
    stop_reason: str = ""
    usage: Usage = attrs.field(factory=Usage)


@attrs.frozen(kw_only=True)
class RunInfo:
    """One line of a list of runs."""

    id: str
    session_id: str
    state: str
    """`queued`, `running`, `waiting` for an approval, `done`, `failed` or `cancelled`."""
    submitted_at: datetime
    worker: str
    """The worker that has the run, or had it last; empty if it was never started."""


@attrs.define(eq=False)
class Service:
    """Runs of one agent, for many sessions and processes that share a database.

    `async with service:` connects, and creates what the database lacks. Every process can submit
    and watch; those that are inside `async with service.worker():` do the work.

    Args:
        agent: a Runner, or a function that makes the Runner of a session, given its id. Its store
            is not used. If its executor is a `RequireApproval`, `approve` answers in the place of
            the approver.
        sessions: where the histories are kept: `SqliteSessions` or `PostgresSessions`.
        database_url: the engine's database: `sqlite:////var/lib/agent/runs.db`, which has one
            worker, or `postgresql://host/name`.

    Raises:
        ConfigError: a part does not fit.
    """

    agent: Runner | Callable[[str], Runner]
    sessions: LeasedSessions = attrs.field(kw_only=True)
    database_url: str = attrs.field(kw_only=True, converter=engine_url, repr=False)
    name: str = attrs.field(default="agentic", kw_only=True, validator=must_be(str))
    """The queue: services with different agents in one database have different names. Without a
    name, a service sees and removes the runs of all of them."""
    limits: QueueLimits = attrs.field(
        factory=QueueLimits, kw_only=True, validator=must_be(QueueLimits)
    )
    lease_seconds: float = attrs.field(default=15.0, kw_only=True)
    """A worker that is silent for so long is taken over: its runs, and the sessions it writes."""
    max_attempts: int = attrs.field(default=10, kw_only=True, validator=whole(1))
    """A run that was taken up again so often, and each time ended its worker before anything new
    was recorded, has failed."""
    _place: ServiceParts | None = attrs.field(init=False, default=None)

    @sessions.validator
    def _check_sessions(self, _: object, value: object) -> None:
        if not isinstance(value, LeasedSessions):
            raise ConfigError(
                "sessions",
                type(value).__name__,
                "sessions with leases: SqliteSessions or PostgresSessions",
                "pass SqliteSessions(path), whose import_ takes what other stores export",
            )

    @lease_seconds.validator
    def _check_lease(self, _: object, value: Any) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # For ever, nobody could take over.
        if not (is_number and 0 < value < math.inf):
            raise ConfigError("lease_seconds", value, "a number of seconds above 0", "leave it out")

    async def __aenter__(self) -> Self:
        if self._place is not None:
            # Whoever leaves it first would close the connections of the others.
            problem = "the service is connected already: enter it once in a process"
            raise ConfigError("service", self.name, "not connected", message=problem)
        try:
            await in_thread(self._connect)
        except asyncio.CancelledError:
            # The thread has connected nevertheless.
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        place, self._place = self._place, None
        if place is not None:
            await in_thread(place.client.destroy)
            place.tables.close()

    def worker(self) -> Worker:
        """Return the worker of this process, for `async with`."""
        return Worker(self._connected)

    async def submit(self, session_id: str, message: str, *, key: str = "") -> str:
        """Queue a message, and return the id of its run. Once this returns, it is not lost.

        Args:
            session_id: the session, which exists from its first run on.
            message: the user's words.
            key: whoever submits again with the same key gets the run of the first time.

        Raises:
            ConfigError: the message is blank, or the session id is invalid.
            HistoryUnavailable: the database does not take it; nothing is queued.
        """
        if not message.strip():
            raise ConfigError("message", message, "a text that is not blank", "pass the request")
        self.sessions.open(session_id)  # checks the id
        # Sorted as submitted: the engine orders runs of the same second by their ids.
        run_id = f"{time.time_ns():x}-{os.urandom(4).hex()}"
        # In this order: a kill between the two leaves a key without a run, and whoever submits
        # again queues it under the same id. The other order could run it twice.
        try:
            if key:
                claim = json.dumps([self.name, session_id, key])
                run_id = await asyncio.to_thread(self._connected.tables.claim_key, claim, run_id)
            await self._connected.client.enqueue_async(
                {
                    "workflow_name": RUN,
                    "queue_name": self.name,
                    "workflow_id": run_id,
                    "queue_partition_key": session_id,
                    "app_version": VERSION,
                    "priority": 1,  # after a compaction, which has none: the queue takes that first
                },
                session_id,
                message,
                datetime.now(UTC).isoformat(),
            )
        except sa.exc.SQLAlchemyError as problem:
            # Its own text has the statement in it, with the message.
            raise HistoryUnavailable("the database of runs", reason_of(problem)) from None
        return run_id

    async def result(self, run_id: str, *, timeout_seconds: float | None = None) -> RunOutcome:
        """Wait for the end of a run, and return its outcome.

        Raises:
            RunNotFound: there is no such run.
            TimeoutError: it has not ended in time.
        """
        async with asyncio.timeout(timeout_seconds):
            while True:
                # Asked again and again: any process may watch, and SQLite notifies nobody.
                status = await self._status(run_id)
                if (outcome := _outcome(status)) is not None:
                    return outcome
                await asyncio.sleep(_POLL_SECONDS)

    async def events(
        self, run_id: str, *, after: int = 0, follow: bool = True
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a run as they happen, from its beginning, until it ends.

        Without `follow`, those that are stored are all.

        Each is JSON data with a `type` and an `id`; to go on after a disconnection, pass the latest
        id. Pieces of a reply are `message_update`, with `delta`; the whole follows in
        `message_end`. The latest event is `run_end`.

        Raises:
            RunNotFound: there is no such run.
        """
        tables = self._connected.tables
        while True:
            # Before the events: the latest ones are stored before a run is over, so none is missed.
            status = await self._status(run_id)
            for number, body in await asyncio.to_thread(tables.events, run_id, after):
                after = number
                yield {"id": number, **body}
            if (outcome := _outcome(status)) is not None:
                yield {
                    "id": after,
                    "type": "run_end",
                    **attrs.asdict(outcome, filter=WITHOUT_SUMMED),
                }
                return
            if not follow:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def cancel(self, run_id: str) -> None:
        """End a run. Its running calls are stopped, and the history says so.

        Raises:
            ConfigError: the run is over.
        """
        # A message, because the engine's own cancellation would let the next run of the session
        # begin while a tool of this one still runs.
        await self._send(run_id, "cancel", {})
        # Looked at after the message is left: a worker that takes the run before then reads it.
        if (await self._status(run_id)).status == "ENQUEUED":
            await self._connected.client.cancel_workflow_async(run_id)

    async def steer(self, run_id: str, message: str) -> None:
        """Add a user message to an active run: the model reads it at its next decision.

        If it comes after the latest decision, nobody reads it: the run ends as it would have.

        Raises:
            ConfigError: the message is blank, or the run is over.
        """
        if not message.strip():
            raise ConfigError("message", message, "a text that is not blank", "pass the words")
        await self._send(run_id, "steer", {"message": message})

    async def approve(
        self, run_id: str, call_id: str, allowed: bool = True, reason: str = ""
    ) -> None:
        """Answer a run that waits for approval of a call; the first answer counts.

        Raises:
            ConfigError: the run is over.
        """
        body = {"call_id": call_id, "allowed": allowed, "reason": reason}
        await self._send(run_id, "approve", body)

    async def questions(self, run_id: str) -> list[dict[str, Any]]:
        """Return the calls that wait for `approve`: `call_id`, `name` and `arguments` of each.

        Raises:
            RunNotFound: there is no such run.
        """
        # What was asked stays on record, also of a run that was cancelled before an answer.
        if _outcome(await self._status(run_id)) is not None:
            return []
        return await asyncio.to_thread(self._questions, run_id)

    async def find(self, run_id: str) -> RunInfo:
        """Return one run.

        Raises:
            RunNotFound: there is no such run.
        """
        return await asyncio.to_thread(self._describe, await self._status(run_id))

    async def runs(self, *, limit: int = 100) -> Sequence[RunInfo]:
        """Return the latest runs of this service, newest first."""
        workflows = await self._connected.client.list_workflows_async(
            **self._selected(RUN), limit=limit, sort_desc=True, load_input=False
        )
        return [await asyncio.to_thread(self._describe, status) for status in workflows]

    async def prune(self, *, older_than_seconds: float) -> int:
        """Remove the service's runs that ended longer ago, with their events and keys; count them.

        The sessions stay, and so does every run that is not over. Whoever submits again with the
        key of a removed run starts a new one. The compactions that belong to runs are removed, too,
        and not counted; and so are workers that are gone.

        Raises:
            ConfigError: the seconds are < 0.
        """
        if not older_than_seconds >= 0:
            raise ConfigError("older_than_seconds", older_than_seconds, "a number of seconds >= 0")
        tables, client = self._connected.tables, self._connected.client
        # Runs last: their number is what is returned.
        count = 0
        for name in (COMPACTION, RUN):
            filters = self._selected(name)
            count = await asyncio.to_thread(prune, tables, client, filters, older_than_seconds)
        return count

    async def redact(
        self,
        session_id: str,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> int:
        """Permanently replace the text of a message, in its session and in the records of all runs.

        Return how often the secret was found. A run of the session that is open fails at its next
        step; what the step that is under way records is redacted if you redact again. The tables
        are rewritten; a server's log, replicas and backups are not changed.

        Raises:
            SessionNotFound, MessageNotFound: there is no such session or message.
            ConfigError: an argument is invalid.
            HistoryConflict: another program is writing the session, or reading what is removed.
        """
        url, sessions = self.database_url, self.sessions
        return await redact_session(
            url, sessions, session_id, message_id, replacement, secret=secret, by=by
        )

    def _selected(self, workflow: str) -> dict[str, Any]:
        """Return what limits a query of the engine to the workflows of this service."""
        # Not the queue, which the engine takes a run out of when it cancels it.
        return {"name": workflow, "application_name": self.name and application_name(self.name)}

    @property
    def _connected(self) -> ServiceParts:
        if self._place is None:
            raise ConfigError("service", self.name, "connected", "use it in `async with service:`")
        return self._place

    def _connect(self) -> None:
        tables = Tables(self.database_url, self.lease_seconds)
        tables.create()
        # Not left to the engine's launch: whoever only submits needs its tables, too.
        DBOS.migrate(self.database_url)
        client = DBOSClient(
            system_database_url=self.database_url,
            system_database_pool_size=_CONNECTIONS,
            serializer=Json(),
            application_name=application_name(self.name),
        )
        agent: Any = self.agent
        make = (lambda _: agent) if isinstance(agent, Runner) else agent
        self._place = ServiceParts(
            make,
            self.sessions,
            self.database_url,
            tables,
            client,
            self.name,
            self.limits,
            self.lease_seconds,
            self.max_attempts,
        )

    async def _send(self, run_id: str, kind: str, body: dict[str, Any]) -> None:
        if _outcome(await self._status(run_id)) is not None:
            problem = f"run {run_id} is over: {_TOO_LATE[kind]}"
            raise ConfigError("run_id", run_id, "a run that is not over", message=problem)
        await asyncio.to_thread(self._connected.tables.send, run_id, kind, body)

    async def _status(self, run_id: str) -> Any:
        if storable(run_id) != run_id:  # a database would refuse the question
            raise RunNotFound(run_id)
        # Without its input, because a watcher asks ten times a second.
        workflows = await self._connected.client.list_workflows_async(
            workflow_ids=[run_id], **self._selected(RUN), load_input=False
        )
        if not workflows:
            raise RunNotFound(run_id)
        return workflows[0]

    def _questions(self, run_id: str) -> list[dict[str, Any]]:
        questions: dict[str, dict[str, Any]] = {}
        for control in self._connected.tables.controls([run_id]):
            if control.kind == "ask":
                questions.setdefault(control.body["call_id"], control.body)
            elif control.kind == "approve":
                questions.pop(control.body["call_id"], None)
        return list(questions.values())

    def _describe(self, status: Any) -> RunInfo:
        outcome = _outcome(status)
        state = outcome.state if outcome else _STATES.get(status.status, "running")
        if state == "running" and self._questions(status.workflow_id):
            state = "waiting"
        return RunInfo(
            id=status.workflow_id,
            session_id=status.queue_partition_key or "",
            state=state,
            submitted_at=datetime.fromtimestamp((status.created_at or 0) / 1000, UTC),
            worker=status.executor_id or "",
        )


def _outcome(status: Any) -> RunOutcome | None:
    """Return how a run ended; None if it has not."""
    if status.status == "SUCCESS":
        plain = dict(status.output)
        usage = Usage(**plain.pop("usage", {}))
        return RunOutcome(usage=usage, **plain)
    if status.status == "CANCELLED":
        return RunOutcome(state="cancelled")
    if status.status in {"ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}:
        return RunOutcome(state="failed", problem=str(status.error))
    return None
