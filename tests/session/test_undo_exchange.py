"""Taking back the latest exchange: what goes, what stays, and how it returns."""

import asyncio
from pathlib import Path

import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.errors import NothingToRestore
from agentic.history import Archive, JsonlStore, MemoryStore
from agentic.messages import Message, ToolCall, ToolResult
from agentic.session import Session
from agentic.tokens import CharCounter

CALL = ToolCall("c1", "read", "{}")
FIRST = [Message("user", "one"), Message("assistant", "1")]
SECOND = [
    Message("user", "two"),
    Message("assistant", tool_calls=[CALL]),
    Message("tool", tool_results=[ToolResult("c1", "read", "2")]),
    Message("assistant", "2"),
]


async def _session(store: Archive, messages: list[Message]) -> Session:
    policy = Policy(100_000, max_messages=100, min_recent_messages=2)
    session = Session("s", store, counter=CharCounter(), policy=policy, compactor=Digest())
    for message in messages:
        await session.append(message)
    return session


def _said(messages: list[Message]) -> list[str]:
    return [message.content or message.role for message in messages]


@pytest.mark.parametrize("kind", ["memory", "jsonl"])
def test_exchange_goes_whole_and_comes_back(tmp_path: Path, kind: str) -> None:
    """With its calls and results; the archive has it all the time."""

    async def run() -> None:
        store = MemoryStore() if kind == "memory" else JsonlStore(tmp_path / "s.jsonl")
        async with await _session(store, [*FIRST, *SECOND]) as session:
            diff = await session.undo_exchange()
            assert (_said(list(diff.dropped)), diff.added) == (_said(SECOND), ())
            assert _said(await store.load()) == ["one", "1"]
            assert _said(await session.build_messages_for_llm()) == ["one", "1"]
            assert len(await store.full()) == 6
            await session.undo()
            assert _said(await store.load()) == _said([*FIRST, *SECOND])

    asyncio.run(run())


def test_request_without_reply_is_an_exchange() -> None:
    """What failed is taken back like what succeeded, one after the other, until nothing is left."""

    async def run() -> list[int]:
        session = await _session(MemoryStore(), [*FIRST, Message("user", "three")])
        return [len((await session.undo_exchange()).dropped) for _ in range(3)]

    assert asyncio.run(run()) == [1, 2, 0]


def test_nothing_to_take_back_changes_nothing() -> None:
    """An empty session has no exchange, and afterwards nothing to restore."""

    async def run() -> None:
        session = await _session(MemoryStore(), [])
        assert (await session.undo_exchange()).dropped == ()
        with pytest.raises(NothingToRestore):
            await session.undo()

    asyncio.run(run())


def test_conversation_goes_on_after_it() -> None:
    """The next request follows what is left, and the size is that of what is left."""

    async def run() -> None:
        session = await _session(MemoryStore(), [*FIRST, *SECOND])
        before = await session.status()
        await session.undo_exchange()
        after = await session.status()
        await session.append(Message("user", "three"))
        assert (after.messages, after.tokens < before.tokens) == (2, True)
        assert _said(await session.build_messages_for_llm()) == ["one", "1", "three"]

    asyncio.run(run())


def test_summary_and_exchange_return_in_turn() -> None:
    """The latest change first, whichever it was; what the summary kept may be taken back, too."""

    async def run() -> None:
        talk = [
            Message(role, f"{role} {n}: " + "so it goes. " * 40)
            for n in range(6)
            for role in ("user", "assistant")
        ]  # type: ignore[arg-type]
        session = await _session(MemoryStore(), talk)
        assert (await session.summarize()).changed
        await session.undo_exchange()
        assert (await session.status()).messages == 0
        await session.undo()
        assert len(await session.store.load()) == 3
        await session.undo()
        assert await session.store.load() == talk

    asyncio.run(run())
