import asyncio
import contextlib
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.errors import HistoryConflict, NothingToRestore
from agentic.events import AgentEnd
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Runner
from agentic.messages import ContextSummary, Message, ToolCall, close_open_rounds
from agentic.session import Session
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter

LATE = Message("user", "And mend the docs.")
STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: MemoryStore(),
    "jsonl": JsonlStore,
    "jsonl, fsync": lambda path: JsonlStore(path, fsync=True),
    "sqlite": SqliteStore,
}


class _Noting:
    """A compactor during which somebody appends to the store."""

    def __init__(self, store: Any) -> None:
        self.store, self.under_way = store, set[asyncio.Task[None]]()

    async def compact(self, messages: list[Message], /) -> str:
        if not self.under_way:
            self.under_way.add(asyncio.create_task(self.store.append(LATE)))
            await asyncio.sleep(0)
        return "They spoke."


def _budget(store: Any) -> Manager:
    return Manager(CharCounter(), _Noting(store), Policy(1_000, reserve_tokens=100))


@pytest.mark.parametrize("kind", STORES)
def test_what_a_tool_appends_is_sent(tmp_path: Path, kind: str) -> None:
    """The next request has it, where the store has it: before the results."""

    async def talk() -> ScriptedDecider:
        async with STORES[kind](tmp_path / "session") as store:

            async def note(_: ToolCall) -> str:
                await store.append(LATE)
                return "noted"

            decider = ScriptedDecider(Decision("", [ToolCall("c1", "note")]), "Done.")
            result = await Runner(decider, ScriptedExecutor({"note": note}), store).run("Note it.")
            assert list(result.history) == await store.load()
            return decider

    first, second = asyncio.run(talk()).requests
    assert LATE not in first.history
    assert LATE in second.history
    view = list(second.history)
    assert close_open_rounds(view) is view


@pytest.mark.parametrize("kind", STORES)
def test_arrivals_during_summary_are_sent(tmp_path: Path, kind: str) -> None:
    """An append that is under way when the summary is ready is in the request after it."""

    async def talk() -> ScriptedDecider:
        async with STORES[kind](tmp_path / "session") as store:
            for _ in range(10):
                await store.append(Message("user", "word " * 100))
            budget = _budget(store)
            decider = ScriptedDecider("Done.", "Done.")
            runner = Runner(decider, store=store, budget=budget)
            assert (await runner.run("Why?")).summary is not None
            await asyncio.gather(*budget.compactor.under_way)  # type: ignore[union-attr]
            await runner.run("How?")
            assert LATE in await store.full()
            return decider

    requests = asyncio.run(talk()).requests
    assert [each.content for each in requests[-1].history].count(LATE.content) == 1


class _Foreign:
    """A store of somebody else: its replace takes the place of everything."""

    def __init__(self) -> None:
        self.kept: list[Message] = []

    async def append(self, message: Message) -> None:
        self.kept.append(message)

    async def load(self) -> list[Message]:
        return close_open_rounds(list(self.kept))

    async def replace(self, messages: Sequence[Message]) -> None:
        self.kept = list(messages)


def test_plain_store_loses_nothing_to_summary() -> None:
    """It is loaded again before it is replaced, and the same run sends what has arrived."""
    store, decider = _Foreign(), ScriptedDecider("Done.")
    store.kept = [Message("user", "word " * 100) for _ in range(10)]

    result = Runner(decider, store=store, budget=_budget(store)).run_sync("Why?")

    assert result.summary is not None
    assert LATE in store.kept
    assert LATE in decider.requests[0].history


def test_turn_without_appends_loads_nothing() -> None:
    """A look at the revision is enough: the cost of a turn does not grow with the history."""

    class Counting(MemoryStore):
        loads = 0

        async def load(self) -> list[Message]:
            self.loads += 1
            return await super().load()

    store = Counting()
    calls = [Decision("", [ToolCall(f"c{n}", "t")]) for n in range(9)]
    Runner(ScriptedDecider(*calls, "Done."), ScriptedExecutor({"t": "ok"}), store).run_sync("Go.")

    assert store.loads == 1


def test_second_summary_is_given_up() -> None:
    """Another task has summarized the same store: the run goes on from that summary."""

    class Beaten:
        async def compact(self, messages: list[Message], /) -> str:
            winner = [Message("system", "The winner."), *(await store.load())[-2:]]
            await store.replace(winner)
            return "The loser."

    store, decider = MemoryStore(), ScriptedDecider("Done.")
    for _ in range(10):
        asyncio.run(store.append(Message("user", "word " * 100)))
    budget = Manager(CharCounter(), Beaten(), Policy(1_000, reserve_tokens=100))

    result = Runner(decider, store=store, budget=budget).run_sync("Why?")

    assert result.summary is None
    assert decider.requests[0].history[0].content == "The winner."
    assert decider.requests[0].history[-1].content == "Why?"


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("moment", ["summary", "tool"])
@pytest.mark.parametrize("resumes", [False, True])
def test_removed_request_ends_the_run(
    tmp_path: Path, kind: str, moment: str, *, resumes: bool
) -> None:
    """Somebody goes back behind it: nobody answers the request before once more."""
    store: Any = None

    class Rewound:
        async def compact(self, messages: list[Message], /) -> str:
            if moment == "summary":
                await rewind()
            return "They spoke."

    async def rewind(_: ToolCall | None = None) -> str:
        await store.replace((await store.load())[:9])
        return "done"

    async def talk() -> None:
        nonlocal store
        async with STORES[kind](tmp_path / "session") as store:
            for _ in range(5):
                await store.append(Message("user", "word " * 90))
                await store.append(Message("assistant", "Done."))
            policy = Policy(1_000 if moment == "summary" else 9_000, reserve_tokens=100)
            budget = Manager(CharCounter(2.0), Rewound(), policy)
            runner = Runner(decider, ScriptedExecutor({"t": rewind}), store, budget)
            if resumes:
                await store.append(Message("user", "Why?"))
            with pytest.raises(HistoryConflict, match="no longer contains the request"):
                await (runner.resume() if resumes else runner.run("Why?"))
            assert len([each for each in await store.load() if each.role == "user"]) == 5

    decider = ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "Once more.")
    asyncio.run(talk())

    assert len(decider.requests) == (moment == "tool")


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("calls", [(), (ToolCall("c1", "t"),)])
def test_reply_to_a_removed_request_is_reported(
    tmp_path: Path, kind: str, calls: Sequence[ToolCall]
) -> None:
    """It neither follows another request nor disappears without a word; its calls are not run."""
    executor = ScriptedExecutor({"t": "done"})

    async def talk() -> None:
        async with STORES[kind](tmp_path / "session") as store:
            session = Session("s1", store, counter=CharCounter(), policy=Policy(9_000))

            async def decide(_: Any) -> Decision:
                undone = await session.undo_exchange()
                assert [each.content for each in undone.dropped] == ["How?"]
                return Decision("So.", calls)

            await session.runner(ScriptedDecider("Done.")).run("Why?")
            runner = session.runner(SimpleNamespace(decide=decide), executor)
            with (
                EventRecorder("agent_end", sender=runner) as recorder,
                pytest.raises(HistoryConflict, match="no longer contains the request"),
            ):
                await runner.run("How?")
            assert [each.reply for each in recorder.of(AgentEnd)] == ["So."]
            assert [each.content for each in await store.load()] == ["Why?", "Done."]
            later = await session.runner(ScriptedDecider("Here.")).run("Where?")
            assert [each.content for each in later.history][2:] == ["Where?", "Here."]

    asyncio.run(talk())
    assert executor.calls == []


def test_request_in_the_summary_of_another_is_answered() -> None:
    """Their summary stands for it, since they have appended a later request."""
    summary = ContextSummary("They want to know why.", 11, 0, 0).to_message()

    async def summarize(_: ToolCall) -> str:
        await store.replace([summary, Message("user", "And how?")])
        return "done"

    store, decider = MemoryStore(), ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "So.")
    result = Runner(decider, ScriptedExecutor({"t": summarize}), store).run_sync("Why?")

    assert result.reply == "So."
    assert [each.content for each in decider.requests[1].history][1:] == ["And how?"]


_MEANWHILE = st.lists(st.sampled_from(["append", "rewind", "fork", "restore", ""]), max_size=8)


@given(meanwhile=_MEANWHILE)
@settings(deadline=None)
def test_anything_may_happen_during_a_summary(meanwhile: list[str]) -> None:
    """Others append to the history, go back in it and branch off: no request is damaged by that.

    What they replace it with has the running turn: without it, nobody is answered. What they append
    is the latest request from then on.
    """
    actions, numbers, appended = iter(meanwhile), count(), list[Message]()

    class Disturbed:
        async def compact(self, messages: list[Message], /) -> str:
            action, history = next(actions, ""), await store.load()
            turn = max(n for n, each in enumerate(history) if each.content.startswith("Request"))
            earlier = close_open_rounds(history[: turn // 2])
            late = Message("user", f"Meanwhile, {next(numbers)}.")
            if action == "append":
                appended.append(late)
                await store.append(late)
            elif action == "rewind":
                await store.replace([*earlier, *history[turn:]])
            elif action == "fork":
                await store.replace([*earlier, late, *history[turn:]])
            elif action == "restore":
                with contextlib.suppress(NothingToRestore):
                    await store.restore()
            return "They spoke."

    async def decide(request: Any) -> Decision:
        view = list(request.history)
        assert close_open_rounds(view) is view
        latest = [each.content for each in await store.load() if each.role == "user"][-1]
        assert [each.content for each in view].count(latest) == 1
        done = view[-1].role == "tool"
        call = ToolCall(f"c{len(view)}", "read")
        return Decision("Done. " * 20 if done else "", () if done else [call])

    store = MemoryStore()
    policy = Policy(1_000, reserve_tokens=100, min_recent_messages=2)
    budget = Manager(CharCounter(1.0), Disturbed(), policy)
    decider = SimpleNamespace(decide=decide)
    runner = Runner(decider, ScriptedExecutor({"read": "word " * 30}), store, budget=budget)

    async def talk() -> list[Message]:
        for number in range(20):
            await runner.run(f"Request {number}.")
        return await store.full()

    everything = [each.content for each in asyncio.run(talk())]
    assert next(actions, "") == ""
    assert all(each.content in everything for each in appended)
    assert all(f"Request {number}." in everything for number in range(20))


@given(actions=st.lists(st.sampled_from(["", "", "", "back"]), max_size=20))
@settings(deadline=None)
def test_session_may_be_taken_back_at_any_moment(actions: list[str]) -> None:
    """During a summary, a decision or a tool: each reply in the history answers the request before.

    A run whose request is removed says so, and the next one is served.
    """
    waiting, back = iter(actions), 0

    async def act() -> None:
        nonlocal back
        if next(waiting, "") == "back":
            history, back = await store.load(), back + 1
            turn = max(at for at, each in enumerate(history) if each.role == "user")
            await store.replace(history[:turn])

    class Disturbed:
        async def compact(self, messages: list[Message], /) -> str:
            await act()
            return "They spoke."

    async def decide(request: Any) -> Decision:
        view, text = list(request.history), request.user_message
        assert [each.content for each in view if each.role == "user"][-1] == text
        await act()
        is_done = view[-1].role == "tool"
        return Decision(
            f"{text} " * 9 if is_done else text, () if is_done else [ToolCall("", "read")]
        )

    async def read(_: ToolCall) -> str:
        await act()
        return "word " * 30

    async def talk() -> int:
        conflicts = 0
        for number in range(6):
            try:
                await runner.run(f"Request {number}.")
            except HistoryConflict:
                conflicts += 1
        return conflicts

    store = MemoryStore()
    policy = Policy(1_000, reserve_tokens=100, min_recent_messages=2)
    budget = Manager(CharCounter(1.0), Disturbed(), policy)
    executor = ScriptedExecutor({"read": read})
    runner = Runner(SimpleNamespace(decide=decide), executor, store, budget=budget)

    assert asyncio.run(talk()) == back
    request = ""
    for message in asyncio.run(store.load()):
        request = message.content if message.role == "user" else request
        assert message.role != "assistant" or message.content.startswith(request)
