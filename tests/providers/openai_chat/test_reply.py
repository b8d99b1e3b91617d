from collections.abc import Callable
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from agentic.loop import Decision
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import openai_chat
from agentic.usage import StopReason, Usage, unknown_words_raise

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
WORDS = [
    ("stop", StopReason.STOP),
    ("", StopReason.STOP),
    (None, StopReason.STOP),
    ("eos", StopReason.STOP),
    ("eos_token", StopReason.STOP),
    ("stop_sequence", StopReason.STOP),
    ("end_turn", StopReason.STOP),
    ("STOP", StopReason.STOP),
    ("COMPLETE", StopReason.STOP),
    ("tool_calls", StopReason.TOOL),
    ("function_call", StopReason.TOOL),
    ("tool_use", StopReason.TOOL),
    ("length", StopReason.MAX_TOKENS),
    ("model_length", StopReason.MAX_TOKENS),
    ("MAX_TOKENS", StopReason.MAX_TOKENS),
    ("model_context_window_exceeded", StopReason.MAX_TOKENS),
    ("content_filter", StopReason.CONTENT_FILTER),
    ("sensitive", StopReason.CONTENT_FILTER),
    ("SAFETY", StopReason.CONTENT_FILTER),
    ("refusal", StopReason.CONTENT_FILTER),
    ("content_filter: RECITATION", StopReason.CONTENT_FILTER),
    ("function_call_filter: MALFORMED_FUNCTION_CALL", StopReason.ERROR),
    ("error", StopReason.ERROR),
    ("insufficient_system_resource", StopReason.ERROR),
    ("network_error", StopReason.ERROR),
    ("repetition", StopReason.ERROR),
    ("abort", StopReason.ABORT),
    ("TIMEOUT", StopReason.ERROR),
    ("ERROR_TOXIC", StopReason.CONTENT_FILTER),
    ("ERROR_LIMIT", StopReason.MAX_TOKENS),
    ("USER_CANCEL", StopReason.ABORT),
    ("time_limit", StopReason.ERROR),
    ("token_limit", StopReason.MAX_TOKENS),
    ("not_finished", StopReason.OTHER),
    ("malformed_model_output", StopReason.ERROR),
    ("malformed_tool_use", StopReason.ERROR),
    ("guardrail_intervened", StopReason.CONTENT_FILTER),
    ("content_filtered", StopReason.CONTENT_FILTER),
    ("MODEL_ARMOR", StopReason.CONTENT_FILTER),
    ("escalation", StopReason.CONTENT_FILTER),
    ("jailbreak", StopReason.CONTENT_FILTER),
    ("no_image", StopReason.ERROR),
    ("missing_thought_signature", StopReason.ERROR),
    ("continuation", StopReason.MAX_TOKENS),
    ("image_other", StopReason.OTHER),
    ("unexpected_tool_call", StopReason.OTHER),
    ("pause_turn", StopReason.OTHER),
    ("compaction", StopReason.OTHER),
    ("null", StopReason.STOP),
    ("aborted", StopReason.ABORT),
    ("cancelled", StopReason.ABORT),
]


def _reply(word: str | None = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Hi.", **message}
    return {"choices": [{"index": 0, "message": said, "finish_reason": word}]}


@pytest.mark.parametrize(("word", "reason"), WORDS)
def test_every_word_has_a_reason(word: str | None, reason: StopReason) -> None:
    """In any case of letters; the provider's own word is kept."""
    with unknown_words_raise():
        decision = openai_chat.decode_response(_reply(word))

    assert decision.stop_reason is reason is openai_chat.stop_reason(_reply(word))
    assert decision.stop_word == (word or "")


def test_an_unknown_word_is_other() -> None:
    """It is logged, and kept."""
    decision = openai_chat.decode_response(_reply("bored"))

    assert (decision.stop_reason, decision.stop_word) == (StopReason.OTHER, "bored")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", StopReason.TOOL),
        (None, StopReason.TOOL),
        ("", StopReason.TOOL),
        ("length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.CONTENT_FILTER),
    ],
)
def test_calls_turn_stop_into_tool_stop(word: str | None, reason: StopReason) -> None:
    """But never where the server says that the reply was cut off or withheld."""
    assert openai_chat.stop_reason(_reply(word, tool_calls=[CALL])) is reason


def test_refusal_is_the_reply_and_withheld() -> None:
    """OpenAI says `stop` then, and puts the words beside the content."""
    decision = openai_chat.decode_response(_reply(content=None, refusal="I cannot."))

    assert (decision.reply, decision.stop_reason) == ("I cannot.", StopReason.CONTENT_FILTER)


@pytest.mark.parametrize("junk", [None, 3, "text", [], {}, {"choices": None}, {"choices": []}])
def test_junk_is_an_empty_decision(junk: Any) -> None:
    """Nothing that a server sends is a reason to raise."""
    assert openai_chat.decode_response(junk) == Decision(provider="openai_chat")


@pytest.mark.parametrize("choice", [None, 3, {}, {"message": 3}, {"message": {"tool_calls": [3]}}])
def test_a_choice_of_junk_says_nothing(choice: Any) -> None:
    """Neither a reply nor calls."""
    decision = openai_chat.decode_response({"choices": [choice]})

    assert (decision.reply, decision.tool_calls) == ("", ())


def test_error_in_replys_place_is_error() -> None:
    """OpenRouter sends it with the status 200."""
    assert openai_chat.stop_reason({"error": {"code": 502}}) is StopReason.ERROR


def test_reply_goes_back_as_received(as_message: Callable[[Decision], Message]) -> None:
    """With thinking, signatures, ids and fields that nobody here knows."""
    body = _reply(tool_calls=[{**CALL, "x": 1}], reasoning_content="Hm.", annotations=[])
    decision = openai_chat.decode_response(body)

    message = as_message(decision)

    assert decision.reasoning == "Hm."
    assert openai_chat.encode([message]) == [body["choices"][0]["message"]]


def test_empty_call_list_never_goes_back() -> None:
    """VLLM sends one in every reply, OpenAI refuses it."""
    decision = openai_chat.decode_response(_reply(tool_calls=[]))

    assert decision.native is not None
    assert "tool_calls" not in decision.native.payload


def test_payload_mends_calls_that_would_fail() -> None:
    """What a model wrote is kept in the call."""
    call = {**CALL, "function": {"name": "read", "arguments": "{oops"}}

    decision = openai_chat.decode_response(_reply(tool_calls=[call, 3]))

    assert decision.native is not None
    sent = decision.native.payload["tool_calls"][0]["function"]["arguments"]
    assert sent == '{"unparsed_arguments": "{oops"}'
    assert decision.tool_calls == (ToolCall("call_1", "read", "{oops"),)


EMPTY_CUSTOM = {"custom": {"input": "", "name": ""}}
SHELL = {"id": "call_1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ({**EMPTY_CUSTOM, **CALL}, "read"),
        ({**EMPTY_CUSTOM, **CALL, "type": ""}, "read"),
        (SHELL, "sh"),
        ({**SHELL, "type": None}, "sh"),
        ({**SHELL, "function": {"name": "", "arguments": ""}}, "sh"),
        ({**SHELL, "type": None, "function": {"name": "", "arguments": ""}}, "sh"),
    ],
)
def test_call_kind_follows_type_or_content(call: dict[str, Any], name: str) -> None:
    """Snowflake sends every field of every kind, empty where it is of another kind."""
    body = _reply(tool_calls=[call], function_call={"name": "", "arguments": ""}, content="")
    decision = openai_chat.decode_response(body)
    asked = Message("assistant", tool_calls=decision.tool_calls, native=decision.native)
    answer = Message("tool", tool_results=[ToolResult("call_1", name, "text")])

    sent = openai_chat.encode([asked, answer])

    assert [each.name for each in decision.tool_calls] == [name]
    assert sent[0] == body["choices"][0]["message"]
    assert sent[1] == {"role": "tool", "tool_call_id": "call_1", "content": "text"}
    assert openai_chat.validate({"messages": sent}) == []


def test_empty_legacy_call_is_none() -> None:
    """Snowflake sends one with every reply."""
    empty = {"function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    sound = {"audio": {"id": "", "data": "", "transcript": ""}}

    decision = openai_chat.decode_response(_reply("", **empty, **sound))

    assert (decision.reply, decision.tool_calls, decision.stop_reason) == (
        "Hi.",
        (),
        StopReason.STOP,
    )


def test_object_arguments_and_missing_ids_pass() -> None:
    """An id is the loop's business; the object is read as its JSON text."""
    call = {"function": {"name": "read", "arguments": {"path": "\u65e5"}}}

    decision = openai_chat.decode_response(_reply(None, tool_calls=[call], content=None))

    assert decision.tool_calls == (ToolCall("", "read", '{"path": "\u65e5"}'),)


def test_legacy_call_has_no_id() -> None:
    """The loop names it, and it is written in today's form then."""
    legacy = {"name": "read", "arguments": "{}"}

    decision = openai_chat.decode_response(_reply("function_call", function_call=legacy))

    assert (decision.tool_calls, decision.stop_reason) == (
        (ToolCall("", "read", "{}"),),
        StopReason.TOOL,
    )


def test_an_older_completion_is_read_too() -> None:
    """Its choice holds a text in the place of a message."""
    body = {"choices": [{"text": "Hi.", "finish_reason": "length"}]}

    decision = openai_chat.decode_response(body)

    assert (decision.reply, decision.stop_reason) == ("Hi.", StopReason.MAX_TOKENS)


def test_sdk_objects_read_as_their_json() -> None:
    """Fields that the SDK does not know included."""
    body = {
        **_reply(reasoning="Hm.", tool_calls=[CALL]),
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }

    decision = openai_chat.decode_response(ChatCompletion.model_validate(body))

    assert decision == openai_chat.decode_response(body)
    assert (decision.reasoning, decision.usage) == ("Hm.", Usage(7, 3, 10))
