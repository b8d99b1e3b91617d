"""A service in one process: what is submitted is run once, in order, and can be influenced."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import dbos
import pytest
import sqlalchemy as sa

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.durable.dbos import QueueLimits, RunNotFound, RunOutcome, Service
from agentic.durable.dbos._worker import Worker, _running
from agentic.errors import ConfigError, HistoryUnavailable
from agentic.history import JsonlSessions
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter
from agentic.tools import Approval, RequireApproval, ToolDefinition


class Waiting:
    """A model that calls a tool twice, and then repeats the latest request."""

    def __init__(self) -> None:
        # Of threads: the engine has an event loop of its own.
        self.asked = threading.Event()
        self.go_on = threading.Event()

    async def decide(self, request: Input, /) -> Decision:
        """Say when it was asked, and wait to be let on."""
        self.asked.set()
        await asyncio.to_thread(self.go_on.wait, 60)
        if request.turn > 1:
            return Decision(f"Done: {request.user_message}")
        return Decision("I look.", [ToolCall("", "look", "{}")])


class Streaming:
    """A model whose reply comes in pieces."""

    async def decide(self, request: Input, /) -> Decision:
        """Reply at once."""
        return Decision("Hello.")

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Reply in two pieces."""
        yield "Hel"
        yield "lo."
        yield Decision("Hello.")


class Look:
    """One tool."""

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        return ToolResult(output="It is there. " * 20)


class Summaries:
    """A compactor that needs no model."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return f"{len(messages)} messages."


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


def _run(
    folder: Path, agent: Any, talk: Callable[[Service], Awaitable[Any]], **options: Any
) -> Any:
    async def serve() -> Any:
        sessions = SqliteSessions(folder / "sessions.db")
        url = f"sqlite:///{folder}/runs.db"
        service = Service(agent, sessions=sessions, database_url=url, **options)
        async with service, service.worker():
            async with asyncio.timeout(60):
                return await talk(service)

    return asyncio.run(serve())


def _contents(folder: Path, session: str = "a") -> list[str]:
    store = SqliteSessions(folder / "sessions.db").open(session)
    return [m.content for m in asyncio.run(store.load()) if m.role != "tool"]


def test_session_is_served_in_order(tmp_path: Path) -> None:
    """Its second request sees the first one's reply; with the same key, a request is run once."""

    async def talk(service: Service) -> list[str]:
        first = await service.submit("a", "one", key="1")
        again = await service.submit("a", "one", key="1")
        second = await service.submit("a", "two")
        return [first, again, (await service.result(second)).reply]

    replies = ScriptedDecider("1", "2")
    first, again, reply = _run(tmp_path, Runner(replies), talk)

    assert (first, reply) == (again, "2")
    assert _contents(tmp_path) == ["one", "1", "two", "2"]


def test_events_reach_any_watcher(tmp_path: Path) -> None:
    """Pieces, whole messages, and the end of the run."""

    async def talk(service: Service) -> list[dict[str, Any]]:
        run = await service.submit("a", "hi")
        return [event async for event in service.events(run)]

    seen = _run(tmp_path, Runner(Streaming()), talk)

    pieces = "".join(event["delta"] for event in seen if event["type"] == "message_update")
    assert pieces == "Hello."
    assert [e["content"] for e in seen if e["type"] == "message_end"] == ["hi", "Hello."]
    assert (seen[-1]["type"], seen[-1]["state"]) == ("run_end", "done")


def test_steering_enters_an_active_run(tmp_path: Path) -> None:
    """Before its next decision."""
    model = Waiting()

    async def talk(service: Service) -> str:
        run = await service.submit("a", "look")
        await asyncio.to_thread(model.asked.wait, 60)
        await service.steer(run, "look twice")
        while not _running[0]._attempts[run]._seen:  # noqa: ASYNC110  another thread
            await asyncio.sleep(0.02)
        model.go_on.set()
        return (await service.result(run)).reply

    assert _run(tmp_path, Runner(model, Look()), talk) == "Done: look twice"


def test_run_waits_for_approval(tmp_path: Path) -> None:
    """It is listed as waiting, and a refusal is what the model reads."""
    executor = RequireApproval(Look(), Nobody(), needs=["look"])
    replies = [Decision("I look.", [ToolCall("c1", "look", "{}")]), Decision("I did not.")]

    async def talk(service: Service) -> str:
        run = await service.submit("a", "look")
        while not (asked := await service.questions(run)):  # noqa: ASYNC110  another process asks
            await asyncio.sleep(0.02)
        assert [each.state for each in await service.runs()] == ["waiting"]
        await service.approve(run, asked[0]["call_id"], allowed=False, reason="not now")
        return (await service.result(run)).reply

    assert _run(tmp_path, Runner(ScriptedDecider(*replies), executor), talk) == "I did not."
    history = asyncio.run(SqliteSessions(tmp_path / "sessions.db").open("a").load())
    assert "not now" in history[2].tool_results[0].text


def test_cancelled_run_ends(tmp_path: Path) -> None:
    """The session goes on with the next request."""
    model = Waiting()

    async def talk(service: Service) -> list[str]:
        first = await service.submit("a", "one")
        second = await service.submit("a", "two")
        await asyncio.to_thread(model.asked.wait, 60)
        await service.cancel(first)
        state = (await service.result(first)).state
        model.go_on.set()
        return [state, (await service.result(second)).reply]

    assert _run(tmp_path, Runner(model, Look()), talk) == ["cancelled", "Done: two"]


def test_failed_run_says_why(tmp_path: Path) -> None:
    """And a summary of the error is all that is kept."""

    class Broken:
        async def decide(self, request: Input, /) -> Decision:
            raise KeyError("model")

    async def talk(service: Service) -> Any:
        return await service.result(await service.submit("a", "hi"))

    outcome = _run(tmp_path, Runner(Broken()), talk)

    assert (outcome.state, "KeyError" in outcome.problem) == ("failed", True)


def test_compaction_precedes_the_next_run(tmp_path: Path) -> None:
    """It is stored when the run that made it is over, and the archive keeps every message."""
    replies = [Decision("x" * 900), Decision("y" * 900), Decision("z" * 900), Decision("end")]
    policy = Policy(600, reserve_tokens=100, keep_recent_tokens=150, min_recent_messages=1)
    budget = Manager(CharCounter(), Summaries(), policy=policy)

    async def talk(service: Service) -> None:
        for text in ("1", "2", "3", "4"):
            await service.result(await service.submit("a", text))
        while len(_loaded) < 1:
            store = SqliteSessions(tmp_path / "sessions.db").open("a")
            history = await store.load()
            if history[0].summary is not None:
                _loaded.append(len(await store.full()))
            await asyncio.sleep(0.05)

    _loaded: list[int] = []
    _run(tmp_path, Runner(ScriptedDecider(*replies), budget=budget), talk)

    assert _loaded[0] >= 6


def _execute(folder: Path, *statement: Any) -> None:
    connection = sqlite3.connect(folder / "runs.db", timeout=20)
    with connection:
        connection.execute(*statement)
    connection.close()


def test_refused_record_is_repeated(tmp_path: Path) -> None:
    """An error of the database that the engine does not know is not the end of the run."""

    class Look2(Look):
        async def execute(self, call: ToolCall, /) -> ToolResult:
            if not broken:
                broken.append(call)
                _execute(tmp_path, "ALTER TABLE operation_outputs RENAME TO away")
            return await super().execute(call)

    broken: list[ToolCall] = []

    async def talk(service: Service) -> str:
        run = await service.submit("a", "hi")
        while not broken:  # noqa: ASYNC110  another thread
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        _execute(tmp_path, "ALTER TABLE away RENAME TO operation_outputs")
        return (await service.result(run)).reply

    replies = ScriptedDecider(Decision("", [ToolCall("c1", "look", "{}")]), Decision("Done."))
    assert _run(tmp_path, Runner(replies, Look2()), talk) == "Done."


def test_full_disk_ends_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who submits is told in a sentence; a run waits for room, though an error was recorded."""
    full: list[bool] = []
    refusal = threading.Event()

    def fill(connection: Any, *_: Any) -> None:
        # The engine sets the limit to the present size, if that is larger.
        connection.execute(f"PRAGMA max_page_count = {1 if full else 2**30}")

    class Filling:
        async def decide(self, request: Input, /) -> Decision:
            if full:
                await asyncio.to_thread(refusal.wait, 60)
                full.clear()
            else:
                full.append(True)
            return Decision("so it goes. " * 3_000)

    async def talk(service: Service) -> RunOutcome:
        run = await service.submit("a", "hi")
        while not full:  # noqa: ASYNC110  another thread
            await asyncio.sleep(0.02)
        with pytest.raises(HistoryUnavailable) as refused:
            await service.submit("b", "A secret. " * 20_000)
        assert str(refused.value) == (
            "the database of runs is not available: database or disk is full"
        )
        refusal.set()
        return await service.result(run)

    sa.event.listen(sa.pool.Pool, "checkout", fill)
    try:
        outcome = _run(tmp_path, Runner(Filling()), talk)
    finally:
        sa.event.remove(sa.pool.Pool, "checkout", fill)

    assert (outcome.state, outcome.problem) == ("done", "")
    assert "is tried again: database or disk is full" in caplog.text
    assert "so it goes" not in caplog.text


def test_forgotten_run_is_found(tmp_path: Path) -> None:
    """The engine has claimed it for this worker, but was never told, as the connection broke."""
    model = Waiting()
    claim = "UPDATE workflow_status SET status = 'PENDING', executor_id = ?, owner_xid = 'x'"

    async def talk(service: Service) -> str:
        first = await service.submit("a", "one")
        await asyncio.to_thread(model.asked.wait, 60)
        forgotten = await service.submit("b", "two")
        worker = (await service.find(first)).worker
        _execute(tmp_path, f"{claim} WHERE workflow_uuid = ?", (worker, forgotten))
        model.go_on.set()
        return (await service.result(forgotten)).reply

    limits = QueueLimits(worker_concurrency=1)
    runner = Runner(model, Look())
    assert _run(tmp_path, runner, talk, limits=limits, lease_seconds=0.5) == "Done: two"


def test_slow_engine_begins_what_it_has_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that a busy machine takes long to begin is not taken back again and again."""
    looked, begin = threading.Semaphore(0), dbos._queue.execute_dequeued_workflow
    look, resume, resumed = Worker._find_forgotten, Worker._resume, []

    def note_look(worker: Worker) -> None:
        look(worker)
        looked.release()

    def note_resume(worker: Worker, run: str) -> None:
        resumed.append(run)
        resume(worker, run)

    def begin_late(*arguments: Any) -> Any:
        # The worker looks four times in a lease, and takes back what is not begun after two.
        while looked.acquire(blocking=False):
            pass
        for _ in range(14):
            looked.acquire(timeout=60)
        return begin(*arguments)

    monkeypatch.setattr(Worker, "_find_forgotten", note_look)
    monkeypatch.setattr(Worker, "_resume", note_resume)
    monkeypatch.setattr(dbos._queue, "execute_dequeued_workflow", begin_late)

    async def talk(service: Service) -> str:
        return (await service.result(await service.submit("a", "hi"))).reply

    runner = Runner(ScriptedDecider("Done."))
    assert _run(tmp_path, runner, talk, lease_seconds=0.2) == "Done."
    assert resumed


def test_long_history_leaves_the_loop_of_the_engine(tmp_path: Path) -> None:
    """All runs of a worker share it, and would wait while one is counted and summarized."""
    counting: set[int] = set()
    deciding: set[int] = set()

    class Noting(CharCounter):
        def count(self, text: str, /) -> int:
            if text.startswith("Step"):
                counting.add(threading.get_ident())
            return super().count(text)

    class Model:
        async def decide(self, _: Input, /) -> Decision:
            deciding.add(threading.get_ident())
            return Decision("Done.")

    async def talk(service: Service) -> str:
        async with SqliteSessions(tmp_path / "sessions.db").open("a") as store:
            for number in range(200):
                text = f"Step {number}: " + "so it goes. " * 20
                await store.append(Message("assistant" if number % 2 else "user", text))
        return (await service.result(await service.submit("a", "Go on."))).reply

    counter = Noting()
    budget = Manager(counter, Digest(counter=counter), Policy(2_000))
    assert _run(tmp_path, Runner(Model(), budget=budget), talk) == "Done."
    assert counting
    assert deciding
    assert not deciding & counting


def test_second_worker_with_sqlite_is_refused(tmp_path: Path) -> None:
    """In the same process, too."""

    async def talk(service: Service) -> None:
        with pytest.raises(ConfigError, match="a worker already"):
            async with service.worker():
                pass

    _run(tmp_path, Runner(ScriptedDecider()), talk)


def test_service_has_only_its_own_runs(tmp_path: Path) -> None:
    """Another service in the same database neither finds them nor removes them."""

    async def talk(service: Service) -> list[Any]:
        url, runner = service.database_url, Runner(ScriptedDecider())
        other = Service(runner, sessions=service.sessions, database_url=url, name="other")
        every = Service(runner, sessions=service.sessions, database_url=url, name="")
        async with other, every:
            run, queued = await service.submit("a", "hi"), await other.submit("a", "hi")
            await service.result(run)
            with pytest.raises(RunNotFound):
                await other.cancel(run)
            assert await other.prune(older_than_seconds=0) == 0
            found = [await one.runs() for one in (service, other, every)]
            return [[each.id for each in runs] for runs in found] + [[run], [queued]]

    own, others, all_runs, *expected = _run(tmp_path, Runner(ScriptedDecider("Hello.")), talk)

    assert [own, others] == expected
    assert all_runs == others + own


def test_run_that_is_over_asks_nothing(tmp_path: Path) -> None:
    """It was cancelled while a call waited, and nobody takes an answer any more."""
    executor = RequireApproval(Look(), Nobody(), needs=["look"])
    model = ScriptedDecider(Decision("I look.", [ToolCall("c1", "look", "{}")]))

    async def talk(service: Service) -> list[Any]:
        run = await service.submit("a", "look")
        while not await service.questions(run):  # noqa: ASYNC110  another process asks
            await asyncio.sleep(0.02)
        await service.cancel(run)
        await service.result(run)
        with pytest.raises(RunNotFound):
            await service.questions("r1")
        return await service.questions(run)

    assert _run(tmp_path, Runner(model, executor), talk) == []


def test_mistakes_are_told(tmp_path: Path) -> None:
    """Before anything is queued."""

    async def talk(service: Service) -> None:
        with pytest.raises(ConfigError, match="message"):
            await service.submit("a", " ")
        with pytest.raises(ConfigError):
            await service.submit("../a", "hi")
        with pytest.raises(RunNotFound, match="no such run: r1"):
            await service.result("r1")
        with pytest.raises(RunNotFound):
            await service.cancel("r1")

    _run(tmp_path, Runner(ScriptedDecider()), talk)
    with pytest.raises(ConfigError, match="sqlite:///PATH or postgresql"):
        Service(Runner(ScriptedDecider()), sessions=SqliteSessions("x"), database_url="mysql://x")


@pytest.mark.parametrize("url", ["sqlite://x.db", "sqlite:///", "sqlite:///:memory:"])
def test_address_without_a_file_is_refused(tmp_path: Path, url: str) -> None:
    """Before anything is connected: runs in memory would not survive, nor be seen by a worker."""
    sessions = SqliteSessions(tmp_path / "sessions.db")
    with pytest.raises(ConfigError, match="sqlite:///PATH or postgresql"):
        Service(Runner(ScriptedDecider()), sessions=sessions, database_url=url)


def test_folder_may_have_any_name(tmp_path: Path) -> None:
    """What follows a question mark is a part of the path unless it is an option."""
    folder = tmp_path / "why? 100%"
    folder.mkdir()

    async def talk(service: Service) -> str:
        return (await service.result(await service.submit("a", "hi"))).reply

    assert _run(folder, Runner(ScriptedDecider("Hello.")), talk) == "Hello."
    assert (folder / "runs.db").exists()


def test_sessions_without_leases_are_refused(tmp_path: Path) -> None:
    """They could not fence a worker that is late."""
    sessions: Any = JsonlSessions(tmp_path)
    with pytest.raises(ConfigError, match="SqliteSessions or PostgresSessions"):
        Service(Runner(ScriptedDecider()), sessions=sessions, database_url="sqlite:///x")


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), True, None, "15"])
def test_lease_lasts_for_some_time(tmp_path: Path, seconds: Any) -> None:
    """Without a lease that ends, nobody could take over, or everybody would at once."""
    sessions = SqliteSessions(tmp_path / "sessions.db")
    with pytest.raises(ConfigError, match="lease_seconds must be a number of seconds above 0"):
        Service(
            Runner(ScriptedDecider()),
            sessions=sessions,
            database_url="sqlite:///x",
            lease_seconds=seconds,
        )


def test_everything_is_stored_as_json(tmp_path: Path) -> None:
    """Never a pickle: a newer version, or another program, can read it."""

    async def talk(service: Service) -> None:
        await service.result(await service.submit("a", "hi"))

    _run(tmp_path, Runner(ScriptedDecider(Decision("\ud800 \x00"))), talk)

    connection = sqlite3.connect(tmp_path / "runs.db")
    rows = connection.execute("SELECT output, serialization FROM operation_outputs").fetchall()
    connection.close()
    assert {serialization for _, serialization in rows} == {"agentic_json"}
    assert all(json.loads(output)["value"] is not None for output, _ in rows)
