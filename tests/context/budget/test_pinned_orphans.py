"""A pinned round that holds an orphan beside results, through a compaction."""

import asyncio

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1)


def test_a_pinned_round_loses_only_its_orphans() -> None:
    """The call, its result and the pin stay; what answers nothing goes; the sizes say so."""
    call = Message("assistant", tool_calls=[ToolCall("a", "read")], pinned=True)
    mixed = Message(
        "tool", tool_results=[ToolResult("a", "read", "text"), ToolResult("z", "read", "stray")]
    )
    chatter = [Message("assistant", f"Still at it, step {n}. " * 20) for n in range(12)]
    history = [Message("user", "Go."), call, mixed, *chatter]
    manager = Manager(LETTERS, Digest(max_tokens=200), Policy(2_000, reserve_tokens=100))

    done = asyncio.run(manager.compact_if_needed(history))

    assert done.changed
    assert call in done.messages
    assert mixed.replace(tool_results=mixed.tool_results[:1]) in done.messages
    assert done.tokens_after == count_tokens(done.messages, LETTERS)
