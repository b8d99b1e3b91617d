"""In which thread a run counts and summarizes a long history that it meets for the first time."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Runner
from agentic.messages import Message
from agentic.session import Session
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter


@attrs.define(eq=False)
class _NamingCounter:
    """Counts letters, and notes the threads in which it does."""

    threads: set[int] = attrs.field(factory=set)

    def count(self, text: str, /) -> int:
        """Return the number of tokens."""
        if text.startswith("Step"):
            self.threads.add(threading.get_ident())
        return CharCounter().count(text)


def _open(kind: str, folder: Path) -> Any:
    if kind == "memory":
        return MemoryStore()
    return JsonlStore(folder / "a.jsonl") if kind == "jsonl" else SqliteStore(folder / "a.db", "a")


async def _fill(store: Any, messages: int = 200) -> None:
    for number in range(messages):
        role: Any = "assistant" if number % 2 else "user"
        await store.append(Message(role, f"Step {number}: " + "so it goes. " * 20))


@pytest.mark.parametrize("entry", ["runner", "session"])
@pytest.mark.parametrize("kind", ["memory", "jsonl", "sqlite"])
@pytest.mark.parametrize("window", [2_000, 1_000_000], ids=["summarized", "measured"])
def test_first_sight_leaves_the_event_loop(
    tmp_path: Path, entry: str, kind: str, window: int
) -> None:
    """Whoever else is served by the loop need not wait for it."""
    counter, policy = _NamingCounter(), Policy(window)

    async def run() -> int:
        store = _open(kind, tmp_path)
        await _fill(store)
        if kind != "memory":
            await store.aclose()
            store = _open(kind, tmp_path)  # as after a restart
        decider = ScriptedDecider("Done.")
        if entry == "runner":
            budget = Manager(counter, Digest(counter=counter), policy)
            await Runner(decider, store=store, budget=budget).run("Go on.")
        else:
            parts = {"counter": counter, "policy": policy, "compactor": Digest(counter=counter)}
            async with Session("a", store, **parts) as session:
                await session.runner(decider).run("Go on.")
        if kind != "memory":
            await store.aclose()
        return threading.get_ident()

    loop_thread = asyncio.run(run())

    assert counter.threads
    assert loop_thread not in counter.threads
