"""What a run stores and reads of its session: while the database is away, or others change it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.context.budget import Policy
from agentic.durable.dbos import DbosSteps
from agentic.durable.dbos._log import RunLog
from agentic.durable.dbos._steps import RunRefused
from agentic.durable.dbos._stores import OpenStores, SessionWriter
from agentic.errors import HistoryUnavailable
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import Message, ToolCall, ToolResult
from agentic.session import Session
from agentic.tokens import CharCounter


class Away:
    """A writer whose database has not answered for as long as one waits."""

    async def read(self, step: Callable[[Any], Awaitable[Any]]) -> Any:
        """Fail."""
        raise HistoryUnavailable("a", "the server is restarting")


def test_output_that_is_away_ends_the_attempt() -> None:
    """It is no failure of the tool: the history would not be that of an undisturbed run."""
    writer: Any = Away()
    log = RunLog(writer, "run", DbosSteps())

    async def read_and_go_on() -> None:
        with pytest.raises(HistoryUnavailable):
            await log.get("ref")
        await log.append(Message("tool"))

    with pytest.raises(HistoryUnavailable):
        asyncio.run(read_and_go_on())
    assert log.view == []


class _Held:
    """A worker whose lease is never lost."""

    worker, seconds = "w", 15.0

    async def confirm(self) -> None:
        """Confirm."""


class _Steps(DbosSteps):
    """Steps without an engine. As one of an earlier version, it records no point."""

    def __init__(self, *, has_point: bool) -> None:
        super().__init__()
        self.has_point = has_point

    async def run(self, _: str, function: Callable[..., Awaitable[Any]], /, *args: Any) -> Any:
        record = await function(*args)
        return record if self.has_point else {"known": record["known"]}


async def _undo(sessions: Any) -> None:
    async with sessions.open("a") as store:
        session = Session("a", store, counter=CharCounter(), policy=Policy(9_000))
        assert (await session.undo_exchange()).dropped[0].content == "Where?"


async def _delete(sessions: Any) -> None:
    await sessions.delete("a")


async def _begin_anew(sessions: Any) -> None:
    await sessions.delete("a")
    async with sessions.open("a") as store:
        await store.append(Message("user", "Who?"))


@pytest.mark.parametrize("has_point", [True, False])
@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize(
    ("change", "rest"), [(_undo, ["Why?", "So."]), (_delete, []), (_begin_anew, ["Who?"])]
)
def test_reply_to_a_removed_request_is_refused(
    tmp_path: Path, change: Any, rest: list[str], before: int, has_point: bool
) -> None:
    """Whoever removes it between two turns, its next call is not run and no reply follows."""
    sessions = SqliteSessions(tmp_path / "sessions.db")
    former = [Message("user", "Why?"), Message("assistant", "So.")][:before]

    async def talk() -> tuple[str, list[str]]:
        if former:
            async with sessions.open("a") as store:
                await store.append(*former)
        stores = OpenStores(sessions, 2)
        writer = SessionWriter(stores, "a", _Held())  # type: ignore[arg-type]
        log = RunLog(writer, "run", _Steps(has_point=has_point))
        await log.open()
        await log.append(Message("user", "Where?"))
        await log.append(Message("assistant", tool_calls=[ToolCall("c1", "look", "{}")]))
        await log.append(Message("tool", tool_results=[ToolResult("c1", "look", "There.")]))
        await writer.release()  # as if the model took longer than the lease
        await change(sessions)
        refusal = await log.find_refusal()
        with pytest.raises(RunRefused):
            await log.append(Message("assistant", "There it is."))
        await writer.release()
        await stores.aclose()
        return refusal, [message.content for message in await sessions.open("a").load()]

    refusal, history = asyncio.run(talk())

    assert "was redacted, undone, replaced or deleted while this run was open" in refusal
    assert history == (rest[:before] if change is _undo else rest)


def test_session_is_asked_once_for_each_lease(tmp_path: Path) -> None:
    """While a lease is held nobody else can write, however many turns and steps there are."""
    questions: list[tuple[int, int]] = []

    class Store(SqliteStore):
        async def is_rewritten(self, since: tuple[int, int]) -> bool:
            questions.append(since)
            return await super().is_rewritten(since)

    class Sessions(SqliteSessions):
        def open(self, session_id: str, **options: Any) -> SqliteStore:
            return Store(self.path, session_id, **options)

    async def run_turns() -> None:
        stores = OpenStores(Sessions(tmp_path / "sessions.db"), 2)
        writer = SessionWriter(stores, "a", _Held())  # type: ignore[arg-type]
        log = RunLog(writer, "run", _Steps(has_point=True))
        await log.open()
        for _ in range(2):
            for number in range(3):
                await log.append(Message("assistant", tool_calls=[ToolCall("c", "look", "{}")]))
                await log.append(Message("tool", tool_results=[ToolResult("c", "look", "There.")]))
                await log.put(f"a large output {number}")
                assert await log.find_refusal() == ""
            await writer.release()
        await stores.aclose()

    asyncio.run(run_turns())

    assert len(questions) == 2
