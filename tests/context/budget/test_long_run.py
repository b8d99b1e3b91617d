"""C7 and longer: a session of 5,000 messages in a window of 8,000 tokens."""

import asyncio
import tracemalloc

import pytest

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.messages import Message, ToolCall, ToolResult, split_rounds
from agentic.tokens import CharCounter, count_tokens

pytestmark = pytest.mark.long

WINDOW = 8_000
COUNTER = CharCounter()


def turn(number: int) -> list[Message]:
    """Make two calls and their answers, or a request and a reply."""
    if number % 10 == 0:
        return [
            Message("user", f"Look at module_{number}.py next, and mind rule {number}."),
            Message("assistant", f"I look at module_{number}.py. " * 5),
        ]
    calls = [
        ToolCall(f"c{number}_{each}", "read", f'{{"path": "src/module_{number}.py"}}')
        for each in range(2)
    ]
    results = [
        ToolResult(call.id, "read", f"def function_{number}(): ...\n" * (10 + number % 90))
        for call in calls
    ]
    return [
        Message("assistant", f"Reading {number}.", tool_calls=calls),
        Message("tool", tool_results=results),
    ]


@pytest.fixture(scope="module")
def lived() -> tuple[list[int], list[Message], list[int]]:
    """Live through the session; give its sizes, its end, and the memory after each quarter."""
    manager = Manager(COUNTER, Digest(max_tokens=1_000, counter=COUNTER), Policy(WINDOW))
    history = [Message("system", "You review code."), Message("user", "Review everything.")]
    sizes: list[int] = []
    memory: list[int] = []

    async def live() -> None:
        nonlocal history
        for number in range(2_500):
            history = [*history, *turn(number)]
            done = await manager.compact_if_needed(history)
            history = done.messages
            sizes.append(count_tokens(history, COUNTER) if done.changed else done.tokens_before)
            assert not any(found.orphaned or found.open_calls for found in split_rounds(history))
            if number % 625 == 624:
                memory.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        asyncio.run(live())
    finally:
        tracemalloc.stop()
    return sizes, history, memory


def test_no_request_is_over_the_window(lived: tuple[list[int], list[Message], list[int]]) -> None:
    """Not once in 2,500 turns."""
    assert max(lived[0]) <= Policy(WINDOW).available_tokens


def test_hundreds_of_summaries_are_one(lived: tuple[list[int], list[Message], list[int]]) -> None:
    """Each folds the one before it; none is stacked, and what was asked is not forgotten."""
    summaries = [message.summary for message in lived[1] if message.summary is not None]

    assert len(summaries) == 1
    assert summaries[0].generation > 200
    assert summaries[0].messages_summarized > 4_900
    assert "Review everything." in summaries[0].content
    assert summaries[0].token_count <= 1_100


def test_memory_stays_flat(lived: tuple[list[int], list[Message], list[int]]) -> None:
    """The last quarter of the session holds no more than the first, but for the counter's memo."""
    first, *_, last = lived[2]

    assert last < first + 8_000_000
