"""A decider that is asked again and again converts only what is new, with the same result."""

import asyncio
import copy
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.loop import Input
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers.openai_chat import Decider, decode_request, encode_request
from agentic.testing import conversations
from agentic.tools import ToolDefinition

_TOOLS = (ToolDefinition("read", "Read a file."),)
_REPLY = {
    "choices": [{"message": {"role": "assistant", "content": "So."}, "finish_reason": "stop"}]
}


@attrs.define
class _Client:
    """A client that keeps the requests."""

    sent: list[Any] = attrs.field(factory=list)

    @property
    def chat(self) -> Any:
        """The place of `client.chat` and of `client.chat.completions`."""
        return self

    completions = chat

    async def create(self, **request: Any) -> Any:
        """Keep a request."""
        self.sent.append({key: request[key] for key in ("messages", "tools") if key in request})
        return _REPLY


def _input(history: Sequence[Message], **options: Any) -> Input:
    return Input(
        system_prompt=options.get("system_prompt", ""),
        user_message="",
        history=tuple(history),
        tools=options.get("tools", ()),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _ask(histories: Iterable[Sequence[Message]], **options: Any) -> list[Any]:
    """Return the requests of one decider for these histories, one after the other."""
    client: Any = _Client()
    decider = Decider(client, "gpt-4.1")

    async def main() -> None:
        for history in histories:
            await decider.decide(_input(history, **options))

    asyncio.run(main())
    sent: list[Any] = client.sent
    return sent


_STEPS = st.tuples(st.integers(0, 2), st.integers(0, 24), st.booleans())


@given(st.lists(conversations(), min_size=3, max_size=3), st.lists(_STEPS, max_size=16))
def test_any_order_of_requests_encodes_each(
    histories: list[list[Message]], steps: list[tuple[int, int, bool]]
) -> None:
    """Of several conversations in turn: grown, rewound, reloaded, however damaged they are."""
    asked = [histories[which][:end] for which, end, _ in steps]
    asked = [
        copy.deepcopy(history) if is_reloaded else history
        for history, (_, _, is_reloaded) in zip(asked, steps, strict=True)
    ]

    sent = _ask(asked, system_prompt="Be \ud83d brief.", tools=_TOOLS)

    for request, history in zip(sent, asked, strict=True):
        assert request == encode_request(history, system_prompt="Be \ud83d brief.", tools=_TOOLS)


@given(conversations())
def test_growing_conversation_encodes_at_each_message(history: list[Message]) -> None:
    """Also where a call waits for its result, or a result comes late."""
    grown = [history[:end] for end in range(len(history) + 1)]

    assert _ask(grown) == list(map(encode_request, grown))


def test_sent_messages_are_not_converted_again() -> None:
    """Messages of any origin: their items are the same objects in the next request."""
    call = {"id": "c9", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    decoded = decode_request({"messages": [{"role": "assistant", "tool_calls": [call]}]})
    history = [
        Message("user", "Read it."),
        Message("assistant", tool_calls=[ToolCall("c1", "read", "{}")]),
        Message("tool", tool_results=[ToolResult("c1", "read", "text")]),
        *decoded,
        Message("tool", tool_results=[ToolResult("c9", "read", "text")]),
        Message("assistant", "It is red."),
        Message("user", "Why?"),
    ]

    sent = _ask([history[:3], history[:5], history], system_prompt="Be brief.")

    items = [request["messages"][1:] for request in sent]
    assert [len(each) for each in items] == [3, 5, 7]
    for before, after in itertools.pairwise(items):
        assert all(map(lambda a, b: a is b, before, after))


def test_unsendable_message_is_never_skipped() -> None:
    """A request that cannot be made fails again when it is repeated, with no message left out."""
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    payload = {"role": "user", "content": "Why?", "extra": deep}
    unsendable = Message("user", "Why?", native=ProviderPayload("openai_chat", payload))
    client: Any = _Client()
    decider, history = Decider(client, "gpt-4.1"), [Message("user", "Read it.")]
    asyncio.run(decider.decide(_input(history)))

    for _ in range(2):
        with pytest.raises(RecursionError):
            asyncio.run(decider.decide(_input([*history, unsendable, Message("user", "Well?")])))
