"""A result that comes too late is another one than the error that was made up in its place."""

from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.messages import Message
from agentic.providers import anthropic, openai_chat
from agentic.tokens import CharCounter


def _shorten(messages: list[Message]) -> list[Message]:
    """A strategy by which no request of the user's is the owner's own object."""
    return [attrs.evolve(m, content=m.content[:9]) if m.role == "user" else m for m in messages]


_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
_USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
_WIRES = [
    pytest.param(
        openai_chat,
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
        id="openai_chat",
    ),
    pytest.param(
        anthropic,
        {"role": "assistant", "content": [_USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
        id="anthropic",
    ),
]


@pytest.mark.parametrize("strategies", [[], [_shorten]])
@pytest.mark.parametrize(("wire", "call", "late"), _WIRES)
def test_late_result_moves_no_reply(wire: Any, call: Any, late: Any, strategies: list[Any]) -> None:
    """Nothing is put between the replies, whether or not the user's words are sent as they are."""
    policy = Policy(100_000, epochs=False)
    conversation = Conversation(wire, policy, counter=CharCounter(4), strategies=strategies)
    items: list[Any] = [{"role": "user", "content": "Start something."}, call]
    for number in range(2):
        items += [
            {"role": "user", "content": f"Request {number}, which is long."},
            {"role": "assistant", "content": "Fine."},
        ]
    items += [late, {"role": "user", "content": "And now something else."}]

    sent = list(conversation.fit(items))

    assert [each for each in sent if each["content"] == "Continue."] == []
