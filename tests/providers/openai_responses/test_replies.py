"""Responses to decisions: usage, stop reasons, and the items that go back."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic.loop import Decision, InputTransformation
from agentic.messages import Message
from agentic.providers.openai_responses import (
    decode_response,
    encode,
    encode_request,
    is_context_overflow,
    stop_reason,
    usage,
)
from agentic.providers.openai_responses._decider import STOP_WORDS
from agentic.usage import StopReason, Usage, unknown_words_raise

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "read",
    "arguments": "{}",
    "status": "completed",
}
REFUSAL = {**SAID, "content": [{"type": "refusal", "refusal": "I won't."}]}


def response(*output: Any, status: str | None = "completed", **more: Any) -> dict[str, Any]:
    """Make a response of these items."""
    return {"object": "response", "status": status, "output": list(output), **more}


def test_reply_goes_back_as_received(as_message: Callable[[Decision], Message]) -> None:
    """Encrypted reasoning, ids and annotations included."""
    decision = decode_response(response(REASONING, SAID, CALL))

    assert (decision.reply, decision.stop_reason) == ("Hello.", StopReason.TOOL)
    assert json.dumps(encode([as_message(decision)])) == json.dumps([REASONING, SAID, CALL])


def test_reply_with_broken_arguments_is_mended(
    as_message: Callable[[Decision], Message],
) -> None:
    """A history that holds such a call is refused for ever by vLLM and llama.cpp."""
    decision = decode_response(response(REASONING, {**CALL, "arguments": '{"path": "a'}))

    assert decision.tool_calls[0].arguments == '{"path": "a'
    reasoning, call = encode_request([Message("user", "Read."), as_message(decision)])["input"][1:3]
    assert json.loads(call["arguments"]) == {"unparsed_arguments": '{"path": "a'}
    assert reasoning == REASONING


def test_reply_cut_while_thinking_is_dropped(
    as_message: Callable[[Decision], Message],
) -> None:
    """Reasoning is refused without the item that would have followed it."""
    cut = {"reason": "max_output_tokens"}

    thought = decode_response(response(REASONING, status="incomplete", incomplete_details=cut))
    said = decode_response(response(SAID, REASONING, status="incomplete", incomplete_details=cut))

    assert encode([as_message(thought)]) == []
    assert encode([as_message(said)]) == [SAID]


def test_call_answered_by_provider_is_closed(
    as_message: Callable[[Decision], Message],
) -> None:
    """A hosted shell's output stands in the same response."""
    call = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    output = {"type": "shell_call_output", "call_id": "c1", "output": []}

    decision = decode_response(response(call, output, SAID))

    assert (decision.tool_calls, decision.stop_reason) == ((), StopReason.STOP)
    assert encode([as_message(decision)]) == [call, output, SAID]


def test_usage_buckets_are_ours() -> None:
    """Input holds what was cached, output what was thought."""
    told = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 8},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 15},
        "total_tokens": 120,
    }

    assert usage({"usage": told}) == Usage(100, 20, 120, 60, 8, 15)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"usage": None}, Usage()),
        ({"usage": {"input_tokens": "9", "output_tokens": 2.0}}, Usage(9, 2)),
        ({"usage": {"input_tokens": "many", "output_tokens": True}}, Usage()),
        ({"usage": {"input_tokens": -1, "input_tokens_details": None}}, Usage()),
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 2}}, Usage(3, 2)),
        ({"timings": {"prompt_n": 5, "cache_n": "20", "predicted_n": 3}}, Usage(25, 3, 0, 20)),
        (None, Usage()),
    ],
)
def test_odd_usage_is_read_where_possible(told: object, expected: Usage) -> None:
    """Nulls, digits as text, fractions, negatives, other servers' names, llama.cpp's timings."""
    assert usage(told) == expected


@pytest.mark.parametrize(
    ("given", "reason", "word"),
    [
        (response(SAID), "stop", "completed"),
        (response(SAID, status="complete"), "stop", "complete"),
        (response(SAID, status=None), "stop", ""),
        (response(CALL), "tool", "completed"),
        (response(REFUSAL), "content_filter", "refusal"),
        (response(CALL, status="incomplete"), "max_tokens", "incomplete"),
        (response({**SAID, "status": "incomplete"}), "max_tokens", "incomplete"),
        (response(status="failed"), "error", "failed"),
        (response(status="failed", error={"code": "unheard_of"}), "error", "failed"),
        (response(status="failed", error={"code": "server_error"}), "error", "server_error"),
        (response(status=None, error={"message": "no"}), "error", "failed"),
        (response(SAID, status="cancelled"), "abort", "cancelled"),
        (response(status="queued"), "other", "queued"),
        (response(status="in_progress"), "other", "in_progress"),
    ],
)
def test_every_status_has_its_reason(given: Any, reason: str, word: str) -> None:
    """The word is the most specific one."""
    with unknown_words_raise():
        decision = decode_response(given)

    assert (decision.stop_reason, decision.stop_word) == (reason, word)
    assert stop_reason(given) == reason


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("max_output_tokens", "max_tokens"),
        ("max_tokens", "max_tokens"),
        ("max_messages", "max_tokens"),
        ("content_filter", "content_filter"),
        ("steered", "abort"),
    ],
)
def test_an_incomplete_response_says_why(detail: str, reason: str) -> None:
    """Its calls are not to be run: the last may be half a call."""
    given = response(CALL, status="incomplete", incomplete_details={"reason": detail})

    assert decode_response(given).stop_reason == reason
    assert decode_response(given).stop_word == detail


def test_reply_using_its_limit_was_cut() -> None:
    """llama.cpp calls it completed."""
    used = {"input_tokens": 9, "output_tokens": 16}

    cut = response(SAID, max_output_tokens=16, usage=used)
    whole = response(SAID, max_output_tokens=17, usage=used)

    assert [stop_reason(cut), stop_reason(whole)] == [StopReason.MAX_TOKENS, StopReason.STOP]


def test_removed_reasoning_is_in_the_decision() -> None:
    """OpenAI removes it without an error, and names the items."""
    removed = {"type": "reasoning", "id": "rs_1", "action": "removed", "reason": "prefix_mismatch"}

    decision = decode_response(response(SAID, input_transformations=[removed]))

    assert decision.input_transformations == (
        InputTransformation(kind="reasoning_removed", place="rs_1", reason="prefix_mismatch"),
    )


def test_unknown_word_is_kept() -> None:
    """It is OTHER, and in a test it raises."""
    decision = decode_response(response(SAID, status="napping"))

    assert (decision.stop_reason, decision.stop_word) == (StopReason.OTHER, "napping")
    assert "napping" not in STOP_WORDS.reasons


@pytest.mark.parametrize("junk", [None, {}, [], "x", 3, {"output": "x"}, {"output": [None, 3]}])
def test_junk_is_an_empty_decision(junk: object) -> None:
    """What a server sends is never a reason to raise."""
    decision = decode_response(junk)

    assert (decision.reply, decision.tool_calls, decision.usage) == ("", (), None)


def test_overflow_is_recognized() -> None:
    """The adapter offers the table that all share."""
    error = {"error": {"code": "context_length_exceeded", "message": "too long"}}

    assert is_context_overflow(error)
    assert not is_context_overflow({"error": {"code": "rate_limit_exceeded"}})
