import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic.context.budget import Manager, Policy
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Runner
from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.testing import ScriptedDecider, ScriptedExecutor
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
