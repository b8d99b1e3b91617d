"""The repr of a record fits a terminal, however large the conversation in it."""

import asyncio

import pytest

from agentic import history, loop, messages, testing, tools, truncate
from agentic.context import budget, compactors
from agentic.context.view import View

LONG = "x" * 100_000
MANY = [messages.Message("user", LONG)] * 200


def _stored() -> history.MemoryStore:
    store = history.MemoryStore()
    for message in MANY:
        asyncio.run(store.append(message))
    return store


def _compaction() -> budget.Compaction:
    manager = budget.Manager(compactor=compactors.Digest(), policy=budget.Policy(8_000))
    return asyncio.run(manager.compact_if_needed(MANY))


@pytest.mark.parametrize(
    "record",
    [
        MANY[0],
        messages.Message("assistant", tool_calls=[messages.ToolCall("c1", "read", LONG)] * 200),
        messages.ToolResult("c1", "read", LONG),
        messages.ContextSummary(LONG, 1),
        loop.Decision(LONG),
        testing.ScriptedDecider(*[loop.Decision(LONG)] * 200),
        loop.Runner(testing.ScriptedDecider(loop.Decision(LONG))),
        truncate.head("x\n" * 100_000),
        tools.ToolDefinition("read", LONG, {"type": "object", "enum": [LONG] * 200}),
        _stored(),
        _compaction(),
        View(budget.Policy(0)).prepare_sync(MANY),
    ],
    ids=lambda record: type(record).__name__,
)
def test_repr_is_bounded(record: object) -> None:
    """And says that something was left out."""
    assert len(repr(record)) <= 2_000
    assert "..." in repr(record)


def test_short_record_is_shown_whole() -> None:
    """As attrs would show it."""
    call = messages.ToolCall("c1", "read", "{}")

    assert repr(call) == "ToolCall(id='c1', name='read', arguments='{}')"
