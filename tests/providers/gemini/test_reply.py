from collections.abc import Callable
from typing import Any

import pytest
from google.genai import types

from agentic.loop import Decision
from agentic.messages import Message, ToolCall
from agentic.providers import gemini
from agentic.usage import StopReason, Usage, unknown_words_raise
from agentic.usage._stop import UnknownStopWord

SIGNATURE = "+/8A+/8A"
"""Base64 whose two alphabets differ."""
# https://ai.google.dev/gemini-api/docs/function-calling and /thinking (2026-11), shortened.
CALLING: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Look first.", "thought": True},
                    {"text": "I look."},
                    {
                        "functionCall": {"name": "read", "args": {"path": "a.py"}},
                        "thoughtSignature": SIGNATURE,
                    },
                    {"functionCall": {"name": "now"}},
                ],
                "role": "model",
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 29,
        "candidatesTokenCount": 15,
        "totalTokenCount": 848,
        "thoughtsTokenCount": 804,
    },
    "modelVersion": "gemini-3-pro-preview",
    "responseId": "QHiLaa6L",
}


def _ended(word: Any, *parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": word}]}


def test_reply_with_calls_waits_for_tools() -> None:
    """Google says STOP; the calls have ids that were made."""
    decision = gemini.decode_response(CALLING)

    assert (decision.reply, decision.reasoning) == ("I look.", "Look first.")
    assert [call.name for call in decision.tool_calls] == ["read", "now"]
    assert decision.tool_calls[0].arguments == '{"path": "a.py"}'
    assert len({call.id for call in decision.tool_calls}) == 2
    assert (decision.stop_reason, decision.stop_word) == (StopReason.TOOL, "STOP")
    assert decision.usage == Usage(input=29, output=819, total=848, reasoning=804)


def test_reply_goes_back_byte_for_byte(as_message: Callable[[Decision], Message]) -> None:
    """Signatures and all; the calls' ids were never Google's."""
    content = CALLING["candidates"][0]["content"]

    assert gemini.encode([as_message(gemini.decode_response(CALLING))]) == [content]


@pytest.mark.parametrize("role", [None, "assistant"])
def test_reply_is_the_models_whatever_its_role(role: str | None) -> None:
    """As gateways write it; as the user's, its call would be lost."""
    parts = [{"functionCall": {"name": "read", "args": {}}}]

    decision = gemini.decode_response({"candidates": [{"content": {"role": role, "parts": parts}}]})

    assert [call.name for call in decision.tool_calls] == ["read"]
    assert decision.native
    assert decision.native.payload["content"] == {"role": "model", "parts": parts}


def test_googles_own_id_is_kept() -> None:
    """The Gemini API names its calls since Gemini 3."""
    part = {"functionCall": {"id": "yot5i3fn", "name": "now", "args": {}}}

    assert gemini.decode_response(_ended("STOP", part)).tool_calls == (ToolCall("yot5i3fn", "now"),)


def test_same_call_later_gets_another_id() -> None:
    """And in the same reply, read twice, the same."""
    first, again = gemini.decode_response(CALLING), gemini.decode_response(CALLING)
    other = gemini.decode_response({**CALLING, "responseId": "other"})

    assert first.tool_calls == again.tool_calls
    assert not {call.id for call in first.tool_calls} & {call.id for call in other.tool_calls}


def test_sdk_object_reads_like_its_json(
    as_message: Callable[[Decision], Message],
) -> None:
    """Its enums are words, and its bytes are spelled as Google spells them."""
    response = types.GenerateContentResponse.model_validate_json(
        types.GenerateContentResponse.model_validate(CALLING).model_dump_json(by_alias=True)
    )
    decision = gemini.decode_response(response)

    assert decision.stop_word == "STOP"
    assert decision.usage == gemini.usage(CALLING)
    sent = gemini.encode([as_message(decision)])[0]["parts"][2]
    assert sent["thoughtSignature"].translate(str.maketrans("-_", "+/")) == sent["thoughtSignature"]


def test_contentless_reply_sends_nothing_back(
    as_message: Callable[[Decision], Message],
) -> None:
    """All tokens went into thoughts: an empty content would be refused."""
    response = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}
    decision = gemini.decode_response(response)

    assert decision == Decision(
        stop_reason=StopReason.MAX_TOKENS, stop_word="MAX_TOKENS", provider="gemini"
    )
    assert gemini.encode([as_message(decision)]) == []


def test_a_blocked_prompt_is_filtered() -> None:
    """There is no candidate then; the reason OTHER is a block too."""
    blocked = {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 4}}
    decision = gemini.decode_response(blocked)

    assert (decision.stop_reason, decision.stop_word) == (StopReason.CONTENT_FILTER, "OTHER")
    assert decision.usage == Usage(input=4)


FINISH_REASONS = [each.value for each in types.FinishReason]
BLOCK_REASONS = [each.value for each in types.BlockedReason]


@pytest.mark.parametrize("word", FINISH_REASONS)
def test_table_has_every_sdk_word(word: str) -> None:
    """Both APIs' words are in one enum there."""
    with unknown_words_raise():
        reason = gemini.stop_reason(_ended(word))

    assert isinstance(reason, StopReason)


@pytest.mark.parametrize("word", BLOCK_REASONS)
def test_every_block_is_filtered(word: str) -> None:
    """Whatever the word."""
    with unknown_words_raise():
        reason = gemini.stop_reason({"promptFeedback": {"blockReason": word}})

    assert reason is StopReason.CONTENT_FILTER


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", StopReason.TOOL),
        (1, StopReason.TOOL),
        (None, StopReason.TOOL),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", StopReason.ERROR),
        ("UNEXPECTED_TOOL_CALL", StopReason.OTHER),
    ],
)
def test_only_whole_reply_awaits_calls(word: Any, reason: StopReason) -> None:
    """A call that was cut off is none."""
    assert gemini.stop_reason(_ended(word, {"functionCall": {"name": "now"}})) is reason


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (1, StopReason.STOP),
        (2, StopReason.MAX_TOKENS),
        (5, StopReason.OTHER),
        (6, StopReason.CONTENT_FILTER),
        (8, StopReason.CONTENT_FILTER),
        (9, StopReason.OTHER),
        (10, StopReason.OTHER),
        (11, StopReason.CONTENT_FILTER),
        (12, StopReason.OTHER),
    ],
)
def test_number_must_suit_both_apis(number: int, reason: StopReason) -> None:
    """AI Studio counts otherwise than Vertex AI: what is two things is none of them."""
    with unknown_words_raise():
        assert gemini.stop_reason(_ended(number)) is reason


@pytest.mark.parametrize("word", [True, False, [], {}, 1.5])
def test_what_is_no_word_is_none(word: Any) -> None:
    """Neither is it looked up in the table."""
    with unknown_words_raise():
        assert gemini.stop_reason(_ended(word)) is StopReason.STOP


def test_unknown_word_raises_only_in_tests() -> None:
    """So that somebody looks it up; an unknown block is a block."""
    assert gemini.stop_reason(_ended("NEW")) is StopReason.OTHER
    with unknown_words_raise(), pytest.raises(UnknownStopWord, match="gemini stopped with 'NEW'"):
        gemini.stop_reason({"promptFeedback": {"blockReason": "NEW"}})


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({}, Usage()),
        (None, Usage()),
        ({"promptTokenCount": None, "totalTokenCount": -1}, Usage()),
        ({"promptTokenCount": 3.7, "candidatesTokenCount": "12"}, Usage(input=3, output=12)),
        ({"prompt_token_count": 3, "candidates_token_count": "x"}, Usage(input=3)),
        ({"promptTokenCount": 3, "candidatesTokenCount": "9" * 5000}, Usage(input=3)),
        (
            {"promptTokenCount": 100, "cachedContentTokenCount": 80, "totalTokenCount": 110},
            Usage(input=100, output=10, total=110, cache_read=80),
        ),
        (
            {"promptTokenCount": 17, "toolUsePromptTokenCount": 119, "thoughtsTokenCount": 213}
            | {"candidatesTokenCount": 201, "totalTokenCount": 550},
            Usage(input=136, output=414, total=550, reasoning=213),
        ),
        (
            {"promptTokenCount": 10, "candidatesTokenCount": 30, "thoughtsTokenCount": 20}
            | {"totalTokenCount": 40},
            Usage(input=10, output=30, total=40, reasoning=20),
        ),
        (
            {"promptTokenCount": 10, "toolUsePromptTokenCount": 4, "totalTokenCount": 12}
            | {"candidatesTokenCount": 2},
            Usage(input=10, output=2, total=12),
        ),
    ],
)
def test_usage_is_converted(counts: Any, usage: Usage) -> None:
    """Where a server counts thoughts twice, the total tells."""
    assert gemini.usage({"usageMetadata": counts}) == usage


@pytest.mark.parametrize(
    "junk",
    [
        None,
        {},
        [],
        "x",
        3,
        {"candidates": [None]},
        {"candidates": [{"content": {"parts": [None, 3, {"text": 4}, {"functionCall": "x"}]}}]},
        {"candidates": "x", "usageMetadata": [], "promptFeedback": 3},
    ],
)
def test_junk_never_makes_it_raise(junk: Any) -> None:
    """An empty decision, no usage, a plain stop."""
    assert gemini.decode_response(junk).reply == ""
    assert gemini.usage(junk) == Usage()
    assert gemini.stop_reason(junk) in {StopReason.STOP, StopReason.TOOL}
    assert len(gemini.encode(gemini.decode([junk]))) == 1
    gemini.validate({"contents": junk, "tools": junk})
    gemini.StreamedResponse().feed(junk)


NESTED: list[Callable[[Any], Any]] = [
    lambda inner: [inner],
    lambda inner: {"parts": inner},
    lambda inner: [{"functionResponse": {"name": "f", "parts": inner}}],
    lambda inner: [{"functionCall": {"name": "f", "args": inner}}],
]


@pytest.mark.parametrize("nested", NESTED)
def test_depth_is_no_reason_to_raise(nested: Callable[[Any], Any]) -> None:
    """Nobody sends hundreds of levels, but for somebody who wants to see what happens."""
    deep: Any = []
    while str(deep).count("[") + str(deep).count("{") < 600:
        deep = nested(deep)
    request = {"contents": [{"parts": deep}], "candidates": [{"content": deep}], "tools": deep}

    assert isinstance(gemini.validate(request), list)
    assert "contents" in gemini.encode_request(gemini.decode_request(request))
    assert gemini.usage(request) == Usage()
    assert gemini.decode_response(request).tool_calls == ()
    gemini.StreamedResponse().feed(request)
