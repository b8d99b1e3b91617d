"""Decode a complete reply: its message, its token usage and why it ended.

The first candidate is the reply; others are ignored. The response to a blocked prompt has no
candidate.

Usage: `promptTokenCount` includes cached tokens. `candidatesTokenCount` excludes thoughts, and
`promptTokenCount` excludes tool-use prompts
(https://ai.google.dev/api/generate-content#UsageMetadata and the totals of 110 recorded replies of
both APIs). A gateway that counts differently is recognized by `totalTokenCount`.
"""

from collections.abc import Mapping
from typing import Any

from agentic.loop import Decision
from agentic.messages import ProviderPayload
from agentic.providers.gemini._decoding import NAME, made_ids, read_message
from agentic.providers.gemini._fields import (
    FIRST_PROMPT,
    field,
    has_field,
    list_of,
    parts_of,
    response_of,
    text_of,
)
from agentic.providers.kit import at
from agentic.usage import StopReason, StopWords, Usage

# https://ai.google.dev/api/generate-content#FinishReason and
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse
# and the enum of google-genai 3.4, which has both (2026-11).
#
# Clients that request `enum-encoding=int` get numbers. From 6 on, the numbers of AI Studio and
# Vertex AI differ, since 6 is LANGUAGE in AI Studio (Candidate.FinishReason in
# https://github.com/googleapis/googleapis/blob/master/google/ai/generativelanguage/v1beta/generative_service.proto
# and google/cloud/aiplatform/v1beta1/content.proto, 2026-11). A number with two meanings is OTHER.
# 9: MALFORMED_FUNCTION_CALL or SPII; 10: MODEL_ARMOR or MALFORMED_FUNCTION_CALL;
# 12: IMAGE_PROHIBITED_CONTENT or UNEXPECTED_TOOL_CALL.
_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
    *("ESCALATION", "PUP_LIMITED_DISABLED"),
    *("3", "4", "6", "7", "8", "11"),
    # promptFeedback.blockReason (https://ai.google.dev/api/generate-content#BlockReason) has some
    # of the words above, and an OTHER that also means a block; see `stop_reason`.
    *("BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "JAILBREAK"),
)
_FAILED = (
    *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"),
    *("TOO_MANY_TOOL_CALLS", "NO_IMAGE"),
)
_OTHER = (
    *("FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_OTHER"),
    # A call to an undeclared tool, not an error: the loop reports it to the model.
    "UNEXPECTED_TOOL_CALL",
    *("0", "5", "9", "10", "12"),
)
STOP_WORDS = StopWords(
    NAME,
    {
        **dict.fromkeys(("STOP", "1"), StopReason.STOP),
        # CONTINUATION is the limit of one request; a token would continue the reply.
        **dict.fromkeys(("MAX_TOKENS", "CONTINUATION", "2"), StopReason.MAX_TOKENS),
        **dict.fromkeys(_FILTERED, StopReason.CONTENT_FILTER),
        **dict.fromkeys(_FAILED, StopReason.ERROR),
        **dict.fromkeys(_OTHER, StopReason.OTHER),
    },
)


def decode_response(response: Any, /) -> Decision:
    """Read a reply; if there are several candidates, the first one.

    >>> parts = [{"text": "Hello."}]
    >>> decode_response({"candidates": [{"content": {"parts": parts}}]}).reply
    'Hello.'
    """
    data = response_of(response)
    payload = _payload(data)
    message = read_message(payload)
    used = usage(data) if field(data, "usageMetadata") else None
    return Decision(
        message.content,
        message.tool_calls,
        used,
        stop_reason(data),
        ProviderPayload(NAME, payload) if _says_something(payload) else None,
        stop_word=_stop_word(data),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_of(data, "modelVersion"),
        response_id=text_of(data, "responseId"),
        last_request=_last_request(data, used) if used and used.summed else None,
    )


def _payload(response: Any) -> dict[str, Any]:
    """Return the native payload of a reply: its content unchanged, and ids for its calls."""
    content = at(_first_candidate(response), "content")
    # A copy: the response is the caller's.
    content = dict(content) if isinstance(content, Mapping) else {}
    # Omitted in some streams; without it, or with another role, this would be read as the user's.
    content["role"] = "model"
    # With the response's id, since another reply may hold the very same call.
    ids = made_ids(content, text_of(response, "responseId"))
    return {"content": content, **({"ids": ids} if ids else {})}


def _says_something(payload: Any) -> bool:
    # A content with only empty parts is rejected in a request.
    return any(part not in ({}, {"text": ""}) for part in parts_of(field(payload, "content")))


def _first_candidate(response: Any) -> Any:
    return next(iter(list_of(response, "candidates")), None)


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended. A blocked prompt is CONTENT_FILTER, whatever the reason.

    >>> stop_reason({"promptFeedback": {"blockReason": "OTHER"}})
    <StopReason.CONTENT_FILTER: 'content_filter'>
    """
    data = response_of(response)
    if _first_candidate(data) is None and _block_word(data):
        STOP_WORDS.reason(_block_word(data))  # reports an unknown word
        return StopReason.CONTENT_FILTER
    parts = parts_of(field(_first_candidate(data), "content"))
    calls = any(has_field(part, "functionCall") for part in parts)
    return STOP_WORDS.reason(_stop_word(data) or None, has_tool_calls=calls)


def _stop_word(response: Any) -> str:
    candidate = _first_candidate(response)
    return _block_word(response) if candidate is None else _word(field(candidate, "finishReason"))


def _block_word(response: Any) -> str:
    return _word(field(field(response, "promptFeedback"), "blockReason"))


def _word(found: Any) -> str:
    # Some clients get a number instead of a word.
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


def usage(response: Any, /) -> Usage:
    """Return a reply's token usage; a count that is missing, null or not a number is 0.

    >>> usage({"usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 5}})
    Usage(input=9, output=5, total=0, cache_read=0, cache_write=0, reasoning=5)
    """
    counts = field(response_of(response), "usageMetadata")
    prompt, tool_use = _count(counts, "promptTokenCount"), _count(counts, "toolUsePromptTokenCount")
    said, thoughts = _count(counts, "candidatesTokenCount"), _count(counts, "thoughtsTokenCount")
    total = _count(counts, "totalTokenCount")
    # By how much the parts exceed the total: a gateway may count one of them in another, too.
    twice = prompt + tool_use + said + thoughts - total if total else 0
    if thoughts and twice in {thoughts, thoughts + tool_use}:
        said, twice = max(0, said - thoughts), twice - thoughts
    if tool_use and twice == tool_use:
        prompt = max(0, prompt - tool_use)
    if not has_field(counts, "candidatesTokenCount"):
        said = max(0, total - prompt - tool_use - thoughts)
    return Usage(
        input=prompt + tool_use,
        output=said + thoughts,
        total=total,
        cache_read=_count(counts, "cachedContentTokenCount"),
        reasoning=thoughts,
        # What the server's tools returned was sent to the model again, and is not sent by anybody
        # afterwards.
        summed=bool(tool_use) or 0 < _count(counts, FIRST_PROMPT) < prompt,
    )


def _last_request(data: Any, used: Usage) -> Usage:
    """Return how large the conversation is after a reply that took several requests.

    Each request after the first sends what the reply says so far, so the first prompt and the
    whole reply are as large as the last request with its part of the reply.
    """
    counts = field(data, "usageMetadata")
    first = _count(counts, FIRST_PROMPT) or _count(counts, "promptTokenCount")
    tool_use = _count(counts, "toolUsePromptTokenCount")
    # A gateway may count the tools' results in the prompt, too; `usage` found that out.
    prompt = min(first, used.input - tool_use) if used.input > tool_use else first
    return Usage(input=prompt, output=used.output, reasoning=used.reasoning)


def _count(counts: Any, name: str) -> int:
    # JSON made from protocol buffers may write a count as a string, which `Usage` can read.
    return Usage(input=field(counts, name)).input
