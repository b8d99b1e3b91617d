"""Decode a complete reply: its message, its token usage and why it ended."""

from typing import Any

from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers._bound_requests import input_transformations
from agentic.providers.bedrock._blocks import as_json
from agentic.providers.bedrock._decoding import NAME, decode_payload
from agentic.providers.kit import at, items_at, text_at
from agentic.providers.kit._json import count_at
from agentic.usage import StopReason, StopWords, Usage

STOP_WORDS = StopWords(
    NAME,
    {
        "end_turn": StopReason.STOP,
        "stop_sequence": StopReason.STOP,
        "tool_use": StopReason.TOOL,
        "max_tokens": StopReason.MAX_TOKENS,
        "model_context_window_exceeded": StopReason.MAX_TOKENS,
        "guardrail_intervened": StopReason.CONTENT_FILTER,
        "content_filtered": StopReason.CONTENT_FILTER,
        "malformed_model_output": StopReason.ERROR,
        "malformed_tool_use": StopReason.ERROR,
    },
)
"""All words in
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
(2026-11). Malformed output is output by the model that the service could not parse."""


def decode_response(response: Any, /) -> Decision:
    """Read a reply, which may be JSON data or boto3's response.

    >>> said = {"output": {"message": {"role": "assistant", "content": [{"text": "Hi."}]}}}
    >>> decode_response(said).reply
    'Hi.'
    """
    data = as_json(response)
    message = _message(data)
    return Decision(
        message.content,
        message.tool_calls,
        usage=usage(data) if isinstance(_used(data), dict) else None,
        stop_reason=_stop_reason(data, message),
        native=message.native,
        stop_word=text_at(data, "stopReason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        # AWS's id of the request: a reply has none of its own, nor the name of a model.
        response_id=text_at(data, "ResponseMetadata", "RequestId"),
        # Only if the caller asks for it by `additionalModelResponseFieldPaths`.
        input_transformations=input_transformations(at(data, "additionalModelResponseFields")),
    )


def _message(data: Any) -> Message:
    given = at(data, "output", "message")
    if not isinstance(given, dict) or not items_at(given, "content"):
        return Message("assistant")
    payload = given if given.get("role") == "assistant" else {**given, "role": "assistant"}
    found = decode_payload(payload) or Message("assistant")
    return found.replace(native=ProviderPayload(NAME, payload))


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended; a normal stop with calls is TOOL, whatever the model's word.

    >>> stop_reason({"stopReason": "max_tokens"})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    data = as_json(response)
    return _stop_reason(data, _message(data))


def _stop_reason(data: Any, message: Message) -> StopReason:
    word = at(data, "stopReason")
    known = None if word is None else str(word)
    return STOP_WORDS.reason(known, has_tool_calls=bool(message.tool_calls))


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. The provider counts cached tokens separately; `input` includes them.

    https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html

    >>> usage({"usage": {"inputTokens": 2, "outputTokens": 5, "cacheReadInputTokens": 90}})
    Usage(input=92, output=5, total=0, cache_read=90, cache_write=0, reasoning=0)
    """
    used = _used(as_json(response))
    details = items_at(used, "cacheDetails")
    read = count_at(used, "cacheReadInputTokens") or count_at(used, "cacheReadInputTokenCount")
    written = count_at(used, "cacheWriteInputTokens") or count_at(used, "cacheWriteInputTokenCount")
    written = written or sum(count_at(detail, "inputTokens") for detail in details)
    return Usage(
        input=count_at(used, "inputTokens") + read + written,
        output=count_at(used, "outputTokens"),
        total=count_at(used, "totalTokens"),
        cache_read=read,
        cache_write=written,
    )


def _used(data: Any) -> Any:
    """Return the token counts in a reply, or in the last event of a stream."""
    used = at(data, "usage")
    return at(data, "metadata", "usage") if used is None else used
