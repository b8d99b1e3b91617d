"""Records are plain JSON: what was recorded reads the same, and errors keep what callers act on."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.durable import Durable, StepFailed
from agentic.durable._records import (
    decode_decision,
    decode_result,
    encode_decision,
    encode_result,
)
from agentic.errors import (
    BoundReasoning,
    ConfigError,
    ContextOverflow,
    IncompleteReply,
    RequestFailed,
)
from agentic.loop import Decision, Input, InputTransformation
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.testing import conversations
from agentic.usage import StopReason, Usage

_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def _has_no_pair(result: ToolResult) -> bool:
    """Whether JSON keeps the texts: it reads a pair of surrogates as the character it encodes."""
    return json.loads(json.dumps(encode_result(result))) == encode_result(result)


def _input() -> Input:
    return Input(
        system_prompt="",
        user_message="hi",
        history=(Message("user", "hi"),),
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def test_decision_reads_the_same() -> None:
    """Every field of it, and the provider's own items."""
    decision = Decision(
        "I look.",
        [ToolCall("", "read", '{"a": ')],
        Usage(9, 4, 13, reasoning=2),
        StopReason.MAX_TOKENS,
        ProviderPayload("anthropic", {"content": [{"signature": "EqQB"}]}),
        stop_word="max_tokens",
        reasoning="Hm.",
        provider="anthropic",
        request_model="claude",
        response_model="claude-1",
        response_id="msg_1",
        input_transformations=[InputTransformation(kind="reasoning_removed", place="rs_1")],
    )

    assert decode_decision(json.loads(json.dumps(encode_decision(decision)))) == decision


@given(conversations())
def test_result_reads_the_same(messages: list[Message]) -> None:
    """With its error, its notice and its media."""
    results = [result for message in messages for result in message.tool_results]
    results.append(
        ToolResult("c1", "look", "x", ToolError("gone"), "cut", media=[Media("image/png", b"\x89")])
    )

    for result in filter(_has_no_pair, results):
        assert decode_result(json.loads(json.dumps(encode_result(result)))) == result


@pytest.mark.parametrize(
    "error",
    [
        ContextOverflow("m", 130, 128),
        RequestFailed("acme", 502, "upstream is gone"),
        BoundReasoning("acme", 400, "bound to a different conversation"),
        IncompleteReply("Do"),
    ],
)
def test_provider_error_is_raised_again(engine: Callable[..., Any], error: Exception) -> None:
    """Of its own class and with its fields, live and in a replay."""

    class Failing:
        async def decide(self, request: Input, /) -> Decision:
            raise error

    whole = engine()
    for _ in range(2):
        decider = Durable(whole.attempt(), _NOON).decider(Failing())
        with pytest.raises(type(error)) as caught:
            asyncio.run(decider.decide(_input()))
        assert attrs.asdict(caught.value) == attrs.asdict(error)


class _Overflow(ContextOverflow):
    """As an adapter may have it, with what else its provider said."""

    def __init__(self) -> None:
        super().__init__("m", 130, 128)
        self.request_id = object()


def test_error_of_an_adapter_is_acted_on(engine: Callable[..., Any]) -> None:
    """A Runner compacts after any overflow, also one that was recorded."""

    class Failing:
        async def decide(self, request: Input, /) -> Decision:
            raise _Overflow

    whole = engine()
    for _ in range(2):
        decider = Durable(whole.attempt(), _NOON).decider(Failing())
        with pytest.raises(ContextOverflow, match="'m' accepts 128 tokens"):
            asyncio.run(decider.decide(_input()))


def test_other_error_keeps_its_text(engine: Callable[..., Any]) -> None:
    """A mistake in the decider's code ends the run in every attempt alike."""

    class Failing:
        async def decide(self, request: Input, /) -> Decision:
            raise KeyError("model")

    decider = Durable(engine().attempt(), _NOON).decider(Failing())

    with pytest.raises(StepFailed, match="decide failed: KeyError: 'model'"):
        asyncio.run(decider.decide(_input()))


@given(st.sampled_from([None, 3, {}, {"v": 2}, {"v": True}, {"v": 0}]))
def test_unknown_record_is_refused(record: Any) -> None:
    """A record of a newer version must not be read as if it were known."""

    class Foreign:
        async def run(self, name: str, function: Any, /, *args: Any) -> Any:
            return record

    decider = Durable(Foreign(), _NOON).decider(Foreign())  # type: ignore[arg-type]

    with pytest.raises(ConfigError, match="upgrade"):
        asyncio.run(decider.decide(_input()))
