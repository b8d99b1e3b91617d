"""A summary that is longer than its share of the context."""

import asyncio

import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import Prepared
from agentic.history import MemoryStore
from agentic.messages import ContextSummary, Message
from agentic.session import Session
from agentic.tokens import CharCounter


def test_it_counts_as_it_is_sent() -> None:
    """A request that fits with the shortened summary triggers no other."""
    store = MemoryStore()
    session = Session(
        "s", store, counter=CharCounter(), policy=Policy(4_000, 400), compactor=Digest()
    )

    async def prepare() -> Prepared:
        for number in range(20):
            await store.append(Message("user", f"{number} {'x' * 400}"))
        history = await store.load()
        summary = ContextSummary("S" * 14_000, 10, 10, 9).to_message()
        await store.replace([summary, *history[10:]])
        return await session.prepare("Be brief.")

    prepared = asyncio.run(prepare())

    assert [note.kind for note in prepared.notes] == ["summary_shortened"]
    assert prepared.compaction is None
    assert prepared.fits
    assert asyncio.run(session.status()).tokens == pytest.approx(prepared.tokens, abs=5)
