"""A session in any store: what comes back, what is stored once, what a pop leaves."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bridges.openai_agents import StoreSession
from agentic.errors import ConfigError
from agentic.history import JsonlStore, MemoryStore, Rewriter
from agentic.history.sqlite import SqliteStore
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.providers import openai_responses
from agentic.testing import conversations

USER = {"role": "user", "content": "Is it green?"}
REASONING = {"id": "rs_1", "summary": [], "type": "reasoning", "encrypted_content": "gAAA"}
CALL = {"id": "fc_1", "call_id": "call_1", "type": "function_call", "name": "run", "arguments": ""}
OUTPUT = {"call_id": "call_1", "output": "1 passed", "type": "function_call_output"}
REPLY = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is.", "annotations": [], "logprobs": None}],
}
TALK = [USER, REASONING, CALL, OUTPUT, REPLY]
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


async def _session(*items: Any, store: Rewriter | None = None) -> StoreSession:
    session = StoreSession(store or MemoryStore())
    await session.add_items(list(items))
    return session


class Failing(MemoryStore):
    """A store that cannot write its second message, once."""

    failures = 1

    async def append(self, message: Message) -> None:
        """Raise at the second message."""
        if len(await self.full()) == 1 and self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        await super().append(message)


class Waiting(MemoryStore):
    """A store that waits before every write."""

    async def append(self, message: Message) -> None:
        """Wait, and store it."""
        await asyncio.sleep(0.01)
        await super().append(message)


STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: MemoryStore(),
    "jsonl": lambda folder: JsonlStore(folder / "session.jsonl"),
    "sqlite": lambda folder: SqliteStore(folder / "sessions.db", "monday"),
}


@pytest.mark.parametrize("kind", STORES)
def test_items_come_back_as_given(tmp_path: Path, kind: str) -> None:
    """Byte for byte as JSON, from another object on the same place too."""

    async def main() -> tuple[list[Any], list[Any]]:
        async with STORES[kind](tmp_path) as store:
            session = await _session(*TALK[:3], store=store)
            await session.add_items(TALK[3:])
            again = StoreSession(store)
            return await session.get_items(), await again.get_items()

    first, second = asyncio.run(main())

    assert json.dumps(first) == json.dumps(second) == json.dumps(TALK)


def test_a_limit_returns_the_latest_items() -> None:
    """That of the call, else that of the session's settings."""

    async def main() -> list[int]:
        session = await _session(*TALK)
        sizes = [len(await session.get_items(limit)) for limit in (0, 2, 99, None)]
        session.session_settings = Settings()
        return [*sizes, len(await session.get_items()), len(await session.get_items(4))]

    class Settings:
        limit = 3

    assert asyncio.run(main()) == [0, 2, 5, 5, 3, 4]


def test_owner_may_change_what_it_got() -> None:
    """And what it gave: neither is the store's own object."""

    async def main() -> list[Any]:
        item = dict(USER)
        session = await _session(item)
        item["content"] = "changed"
        (await session.get_items())[0]["content"] = "changed"
        return await session.get_items()

    assert asyncio.run(main()) == [USER]


@pytest.mark.parametrize("repeated", [TALK[1:], TALK[3:], [REPLY], [REPLY, USER]])
def test_a_repeated_batch_is_stored_once(repeated: list[Any]) -> None:
    """What the session ends with has ids that say that it is the same."""

    async def main() -> list[Any]:
        session = await _session(*TALK)
        await session.add_items(repeated)
        return await session.get_items()

    assert asyncio.run(main()) == [*TALK, *[item for item in repeated if item is USER]]


def test_user_may_say_the_same_twice() -> None:
    """And a model without ids may call the same twice."""
    call = {**CALL, "id": "__fake_id__"}

    async def main() -> list[Any]:
        session = await _session(USER)
        await session.add_items([USER])
        for _ in range(2):
            await session.add_items([call, OUTPUT])
        return await session.get_items()

    assert asyncio.run(main()) == [USER, USER, call, OUTPUT, call, OUTPUT]


def test_half_failed_batch_is_completed() -> None:
    """The second try with the same items stores only what is missing."""

    async def main() -> tuple[int, list[Any]]:
        session = StoreSession(Failing())
        with pytest.raises(OSError, match="full"):
            await session.add_items(TALK)
        halfway = len(await session.get_items())
        await session.add_items(TALK)
        return halfway, await session.get_items()

    assert asyncio.run(main()) == (1, TALK)


def test_a_cancelled_batch_is_whole() -> None:
    """No call is left without its output, and the caller may repeat the call."""

    async def main() -> tuple[bool, list[Any], list[Any]]:
        session = StoreSession(Waiting())
        adding = asyncio.create_task(session.add_items(TALK))
        await asyncio.sleep(0.005)
        adding.cancel()
        await asyncio.wait([adding])
        stored = await session.get_items()
        await session.add_items(TALK)
        return adding.cancelled(), stored, await session.get_items()

    assert asyncio.run(main()) == (True, TALK, TALK)


def test_a_session_serves_loop_after_loop() -> None:
    """A script may call `asyncio.run` twice, with writers at the same time in each."""
    session = StoreSession(Waiting())

    async def write(name: str) -> None:
        batches = ([{"role": "user", "content": f"{name}{n}"}] for n in range(3))
        await asyncio.gather(*(session.add_items(batch) for batch in batches))

    for name in "ab":
        asyncio.run(write(name))

    items = asyncio.run(session.get_items())
    assert sorted(item["content"] for item in items) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_pops_return_the_last_item_first() -> None:
    """One at a time, and None at the end."""

    async def main() -> list[Any]:
        session = await _session(*TALK)
        return [await session.pop_item() for _ in range(len(TALK) + 1)]

    assert asyncio.run(main()) == [*TALK[::-1], None]


def test_a_pop_keeps_what_others_stored() -> None:
    """A summary, ids and times, also those of the message that loses a part."""
    summary = ContextSummary("The build was red.", 4).to_message()
    calls = [ToolCall("c1", "run"), ToolCall("c2", "run")]
    asking = Message("assistant", "I look.", tool_calls=calls, id="m1", timestamp=NOON)
    results = [ToolResult(call.id, "run", "1 passed") for call in calls]
    answer = Message("tool", tool_results=results, id="m2", timestamp=NOON)
    stored = [summary, Message("user", "Go.", id="m0", timestamp=NOON), asking, answer]

    async def main() -> tuple[Any, list[Message], Any, list[Message]]:
        store = MemoryStore()
        for message in stored:
            await store.append(message)
        session = StoreSession(store)
        output, after_one = await session.pop_item(), await store.load()
        await session.pop_item()
        call, after_three = await session.pop_item(), await store.load()
        return output, after_one, call, after_three

    output, after_one, call, after_three = asyncio.run(main())

    assert (output["call_id"], call["call_id"]) == ("c2", "c2")
    assert after_one[:3] == stored[:3]
    assert after_one[3] == answer.replace(tool_results=results[:1])
    assert after_three[2] == asking.replace(tool_calls=calls[:1])


def test_pop_keeps_a_message_arriving_meanwhile() -> None:
    """Another part of the agent may append at any time."""

    class Racing(MemoryStore):
        async def replace(self, messages: Any, *, replaces: int | None = None) -> None:
            await self.append(Message("user", "And now?"))
            await super().replace(messages, replaces=replaces)

    async def main() -> list[Any]:
        session = await _session(*TALK, store=Racing())
        await session.pop_item()
        return await session.get_items()

    assert asyncio.run(main()) == [*TALK[:-1], {"role": "user", "content": "And now?"}]


def test_a_cleared_session_is_empty() -> None:
    """The archive keeps what was there."""

    async def main() -> tuple[list[Any], Any, int]:
        store = MemoryStore()
        session = await _session(*TALK, store=store)
        await session.clear_session()
        return await session.get_items(), await session.pop_item(), len(await store.full())

    assert asyncio.run(main()) == ([], None, 4)


def test_other_agent_parts_read_messages() -> None:
    """A call with its reasoning is one message, which goes back to the provider as it came.

    Only arguments that are empty are written as an empty object.
    """

    async def main() -> list[Message]:
        store = MemoryStore()
        await _session(*TALK, store=store)
        return await store.load()

    user, asking, answer, reply = asyncio.run(main())

    assert (user.role, reply.content) == ("user", "It is.")
    assert asking.tool_calls == (ToolCall("call_1", "run", ""),)
    assert answer.tool_results[0].output == "1 passed"
    written = [{**item, "arguments": "{}"} if "arguments" in item else item for item in TALK]
    assert openai_responses.encode([user, asking, answer, reply]) == written
    assert all(message.timestamp for message in (user, asking, answer, reply))


def test_what_others_wrote_comes_as_items() -> None:
    """A session that a Runner began goes on in the framework."""

    async def main() -> list[Any]:
        store = MemoryStore()
        await store.append(Message("user", "Go."))
        await store.append(Message("assistant", "I look.", tool_calls=[ToolCall("c1", "run")]))
        session = StoreSession(store)
        await session.add_items([{**OUTPUT, "call_id": "c1"}])
        return await session.get_items()

    items = asyncio.run(main())

    assert [item.get("type", "message") for item in items] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
    ]


@given(conversations(), st.integers(1, 7))
def test_damaged_conversations_come_back(messages: list[Message], size: int) -> None:
    """Also outputs without a call, late or twice, which a store would move or leave out."""
    items = openai_responses.encode(messages)

    async def main() -> tuple[list[Any], list[Any], list[Any]]:
        session = StoreSession(MemoryStore())
        expected: list[Any] = []
        for start in range(0, len(items), size):
            batch = items[start : start + size]
            await session.add_items(batch)
            expected += _new(expected, batch)
        before = await session.get_items()
        popped = [await session.pop_item() for _ in range(len(before) // 2)]
        return expected, before, [*await session.get_items(), *popped[::-1]]

    expected, before, parts = asyncio.run(main())

    assert json.dumps(before) == json.dumps(expected)
    assert json.dumps(parts) == json.dumps(expected)


def _new(before: list[Any], batch: list[Any]) -> list[Any]:
    """Return a batch without the outputs that are there already; no item has an id."""
    for end in range(len(batch), 0, -1):
        kinds = {item.get("type") for item in batch[:end]}
        is_answer = "function_call_output" in kinds and "function_call" not in kinds
        if is_answer and before[-end:] == batch[:end]:
            return batch[end:]
    return batch


@pytest.mark.parametrize(
    "items", ["Hi.", [{"role": "user", "content": {1: 2}}], ["Hi."], [object()]]
)
def test_what_is_no_item_is_refused(items: Any) -> None:
    """Before anything is stored."""

    async def main() -> list[Any]:
        session = StoreSession(MemoryStore())
        with pytest.raises(ConfigError, match="items"):
            await session.add_items(items)
        return await session.get_items()

    assert asyncio.run(main()) == []


def test_store_without_replace_is_refused() -> None:
    """At once, and not at the first pop."""

    class AppendOnly:
        async def append(self, message: Message) -> None:
            """Store nothing."""

        async def load(self) -> list[Message]:
            return []

    with pytest.raises(ConfigError, match="append, load and replace"):
        StoreSession(AppendOnly())  # type: ignore[arg-type]


def test_a_negative_limit_is_refused() -> None:
    """It would mean something else in every language."""
    with pytest.raises(ConfigError, match="limit must be a whole number >= 0"):
        asyncio.run(StoreSession(MemoryStore()).get_items(-1))
