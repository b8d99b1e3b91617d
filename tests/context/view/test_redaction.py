"""A message that was redacted is in no later request, whatever was remembered of it."""

import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult, to_plain
from agentic.tokens import CharCounter

_COUNTER = CharCounter(1)
_KEY = "sk-4711-abcdefgh"
_CHAINS: list[list[Any]] = [
    [],
    [strategies.TrimRounds(3)],
    [strategies.ClearToolOutputs(600, _COUNTER, min_tokens=1)],
    [strategies.TruncateToolOutputs(60)],
]


def _view(chain: list[Any], state: Any = None) -> View:
    digest = Digest(max_tokens=400, counter=_COUNTER)
    return View(
        Policy(3_000),
        counter=_COUNTER,
        compactor=digest,
        strategies=chain,
        model="claude-fable-5-2",
        server_drops=True,
        state=state,
    )


def _talk(turns: int) -> list[Message]:
    talk: list[Message] = []
    for number in range(turns):
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/f{number}.py"}}')
        result = ToolResult(call.id, "read", f"The key of {number} is {number}.\n" * 6)
        native = ProviderPayload("elsewhere", {"number": number})
        talk += [
            Message("user", f"Request {number}: read the file src/f{number}.py."),
            Message("assistant", "I read it.", reasoning="Hm.", tool_calls=[call], native=native),
            Message("tool", tool_results=[result]),
            Message("assistant", f"Answer {number}.", native=native),
        ]
    return talk


def _with_secret(message: Message) -> Message:
    """Return the message with the secret wherever it may have one."""
    if message.tool_results:
        (result,) = message.tool_results
        return message.replace(tool_results=[attrs.evolve(result, output=f"key: {_KEY}")])
    if message.role == "user":
        return message.replace(content=f"Use the key {_KEY}.")
    native = message.native and attrs.evolve(message.native, payload={"text": _KEY})
    return attrs.evolve(message, reasoning=f"The key is {_KEY}.", native=native)


@pytest.mark.parametrize("restarts", [False, True])
@given(
    at=st.integers(0, 39),
    more=st.integers(0, 9),
    chain=st.sampled_from(_CHAINS),
)
@settings(max_examples=40, deadline=None)
def test_redacted_message_is_barred(
    at: int, more: int, chain: list[Any], *, restarts: bool
) -> None:
    """From a tail, a summary, reasoning, and from a View that another process goes on with."""
    clean = _talk(10 + more)
    history = [_with_secret(each) if n == at else each for n, each in enumerate(clean)]
    view = _view(chain)
    requests = [n for n, each in enumerate(history) if each.role == "assistant"]
    for length in [n for n in requests if n <= 40]:
        last = view.prepare_sync(history[:length])
    # Reasoning is no part of the beginning of a request.
    was_sent = clean[at].role != "assistant" and _KEY in repr(list(map(_parts, last.messages)))
    if restarts:
        view = _view(chain, json.loads(json.dumps(view.state())))

    redacted = clean[at].replace(content="[redacted]") if clean[at].role != "tool" else clean[at]
    history[at] = redacted
    for length in [n for n in requests if n >= 39]:
        prepared = view.prepare_sync(history[:length])
        assert not (prepared.extends and was_sent)
        was_sent = False
        assert _KEY not in repr(list(map(_parts, prepared.messages)))
        assert _KEY not in repr(list(map(_parts, prepared.history)))


def _parts(message: Message) -> Any:
    # Not the message itself, whose repr leaves out the middle of what is long.
    return to_plain(message), message.origin and message.origin.payload
