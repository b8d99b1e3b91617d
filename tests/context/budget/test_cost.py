"""What a check costs: each text is counted once, and little is kept."""

import asyncio
from typing import Any

from agentic.context.budget import Manager, Policy
from agentic.messages import Message, ToolCall, ToolResult, from_plain, to_plain


class _Clerk:
    async def compact(self, messages: list[Message], /) -> str:
        return f"{len(messages)} messages"


def turn(number: int, who: str = "") -> list[Message]:
    """Make one turn, all its texts different from those of others."""
    name = f"{who}{number}"
    return [
        Message("assistant", f"say {name}", tool_calls=[ToolCall(name, f"t{name}", f"a{name}")]),
        Message("tool", tool_results=[ToolResult(name, "", f"out {name}", error=f"err {name}")]),
    ]


def grow(manager: Manager, turns: int, *, rebuild: bool = False, **options: Any) -> list[Message]:
    """Check a conversation at every turn, and compact it when due."""
    messages: list[Message] = []
    for number in range(turns):
        messages = [*messages, *turn(number)]
        if rebuild:
            messages = [from_plain(to_plain(message)) for message in messages]
        messages = asyncio.run(manager.compact_if_needed(messages, **options)).messages
    return messages


def test_each_text_is_counted_once(counter: Any) -> None:
    """However many turns there are, a text is given to the counter a single time."""
    messages = grow(Manager(counter, _Clerk(), Policy(0)), 100)

    assert len(messages) == 200
    assert set(counter.asked.values()) == {1}
    assert len(counter.asked) == 5 * 100


def test_rebuilt_messages_are_not_counted_again(counter: Any) -> None:
    """A history that is loaded at every turn costs no further counts."""
    grow(Manager(counter, _Clerk(), Policy(0)), 60, rebuild=True)

    assert set(counter.asked.values()) == {1}


def test_compactions_count_only_their_summaries(counter: Any) -> None:
    """What stays after a compaction is known, and so is the summary afterwards."""
    messages = grow(Manager(counter, _Clerk(), Policy(0, max_messages=20)), 200)

    assert messages[0].summary is not None
    assert messages[0].summary.generation > 10
    assert set(counter.asked.values()) == {1}


def test_alternating_conversations_are_counted_once(counter: Any) -> None:
    """Two conversations on one Manager do not push each other out."""
    manager = Manager(counter, _Clerk(), Policy(0))
    both: dict[str, list[Message]] = {"a": [], "b": []}

    for number in range(60):
        for who, messages in both.items():
            messages.extend(turn(number, who))
            asyncio.run(manager.compact_if_needed(messages))

    assert set(counter.asked.values()) == {1}


def test_managers_share_a_counters_counts(counter: Any) -> None:
    """A Manager a session costs no further counts for what another has counted."""
    managers = [Manager(counter, _Clerk(), Policy(0)) for _ in range(3)]
    messages = [message for number in range(20) for message in turn(number)]

    for manager in managers:
        asyncio.run(manager.compact_if_needed(messages))

    assert set(counter.asked.values()) == {1}


def test_check_keeps_few_conversations(counter: Any) -> None:
    """A Manager that serves thousands of conversations does not hold them all."""
    manager = Manager(counter, _Clerk(), Policy(0))

    for number in range(50):
        asyncio.run(manager.compact_if_needed(turn(number)))

    assert manager._token_cache is not None
    assert len(manager._token_cache._recent._known) < 10
