"""A pinned round that holds an orphan beside results, through a compaction."""

import asyncio

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1)
CALL = Message("assistant", tool_calls=[ToolCall("a", "read")], pinned=True)
MIXED = Message(
    "tool", tool_results=[ToolResult("a", "read", "text"), ToolResult("z", "read", "stray")]
)
CHATTER = [Message("assistant", f"Still at it, step {n}. " * 20) for n in range(12)]
HISTORY = [Message("user", "Go."), CALL, MIXED, *CHATTER]


def test_pinned_round_loses_only_its_orphans() -> None:
    """The call, its result and the pin stay; what answers nothing goes; the sizes say so."""
    manager = Manager(LETTERS, Digest(max_tokens=200), Policy(2_000, reserve_tokens=100))

    done = asyncio.run(manager.compact_if_needed(HISTORY))

    assert done.changed
    assert CALL in done.messages
    assert MIXED.replace(tool_results=MIXED.tool_results[:1]) in done.messages
    assert done.tokens_after == count_tokens(done.messages, LETTERS)


def test_view_keeps_result_beside_orphan() -> None:
    """An owner who only appends sends it after a compaction too, and after a restart."""
    policy = Policy(2_000, reserve_tokens=100)
    view = View(policy, counter=LETTERS, compactor=Digest(max_tokens=200))

    prepared = view.prepare_sync(HISTORY)

    assert prepared.compaction is not None
    assert CALL in prepared.history
    assert MIXED in prepared.history
    assert View(policy).prepare_sync(prepared.history).messages == prepared.compaction.messages
    restarted = View(policy, state=view.state())
    assert restarted.prepare_sync(HISTORY).messages == prepared.compaction.messages
