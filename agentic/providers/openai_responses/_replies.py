"""Decode a complete reply: its message, its token usage and why it ended."""

from collections.abc import Mapping
from typing import Any

from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers._bound_requests import input_transformations
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._iterations import context_in, is_server_call, used_server_tools
from agentic.providers.kit._json import count_at
from agentic.providers.openai_responses._decoding import NAME, reply
from agentic.providers.openai_responses._items import OUTPUTS, refusal_text, type_of
from agentic.usage import StopReason, StopWords, Usage

_SERVER_FAILURES = (
    *("server_error", "rate_limit_exceeded", "invalid_prompt", "data_residency_mismatch"),
    *("vector_store_timeout", "invalid_image", "invalid_image_format", "invalid_base64_image"),
    *("invalid_image_url", "image_too_large", "image_too_small", "image_parse_error"),
    *("invalid_image_mode", "image_file_too_large", "unsupported_image_media_type"),
    *("empty_image_file", "failed_to_download_image", "image_file_not_found"),
    "context_length_exceeded",
)

# types/responses/response_output_item.py of openai-python 3.57. A compaction replaces what was
# sent.
_HOSTED = OUTPUTS | {"compaction"}

# The words are from response_status.py, response.py (IncompleteDetails) and response_error.py
# in https://github.com/openai/openai-python/tree/main/src/openai/types/responses (3.54).
STOP_WORDS = StopWords(
    NAME,
    {
        "completed": StopReason.STOP,
        # An early spelling: https://github.com/pydantic/pydantic-ai, test_openai_responses.
        "complete": StopReason.STOP,
        "incomplete": StopReason.MAX_TOKENS,
        "max_output_tokens": StopReason.MAX_TOKENS,
        # Gateways pass on the equivalent words of Chat Completions and of Anthropic.
        "max_tokens": StopReason.MAX_TOKENS,
        "length": StopReason.MAX_TOKENS,
        "max_messages": StopReason.MAX_TOKENS,
        "content_filter": StopReason.CONTENT_FILTER,
        # A part of type refusal: the model itself declined.
        # https://platform.openai.com/docs/guides/structured-outputs#refusals
        "refusal": StopReason.CONTENT_FILTER,
        "bio_policy": StopReason.CONTENT_FILTER,
        "misalignment_policy_violation": StopReason.CONTENT_FILTER,
        "image_content_policy_violation": StopReason.CONTENT_FILTER,
        "steered": StopReason.ABORT,
        "cancelled": StopReason.ABORT,
        "failed": StopReason.ERROR,
        # A background response that was retrieved before it was done:
        # https://platform.openai.com/docs/guides/background
        "queued": StopReason.OTHER,
        "in_progress": StopReason.OTHER,
        **dict.fromkeys(_SERVER_FAILURES, StopReason.ERROR),
    },
)


def decode_response(response: Any, /) -> Decision:
    """Read a reply. Its items, including reasoning, are the payload to send back.

    >>> said = {"type": "message", "content": [{"type": "output_text", "text": "Hello."}]}
    >>> decode_response({"status": "completed", "output": [said]}).reply
    'Hello.'
    """
    body = plain(response)
    items = items_at(body, "output")
    said = reply(items)
    word, reason = _stop(body, said)
    used = usage(body) if _usage_of(body) else None
    return Decision(
        said.content,
        said.tool_calls,
        used,
        reason,
        ProviderPayload(NAME, items) if items else None,
        stop_word=word or "",
        reasoning=said.reasoning,
        media=said.media,
        provider=NAME,
        response_model=text_at(body, "model"),
        response_id=text_at(body, "id"),
        input_transformations=input_transformations(body),
        last_request=context_in(_usage_of(body)) if used and used.summed else None,
    )


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. As on the wire, `input` includes cached tokens.

    https://platform.openai.com/docs/api-reference/responses/object (`usage`).

    >>> usage({"usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}).total
    11
    """
    body = plain(response)
    told = _usage_of(body)
    into = at(told, "input_tokens_details") or at(told, "prompt_tokens_details")
    out_of = at(told, "output_tokens_details") or at(told, "completion_tokens_details")
    return Usage(
        count_at(told, "input_tokens") or count_at(told, "prompt_tokens"),
        count_at(told, "output_tokens") or count_at(told, "completion_tokens"),
        count_at(told, "total_tokens"),
        count_at(into, "cached_tokens"),
        count_at(into, "cache_write_tokens"),
        count_at(out_of, "reasoning_tokens"),
        # After each tool that the provider runs, it sends the conversation to the model again, and
        # adds up what that took: https://github.com/turnstonelabs/turnstone/issues/1191 (2026-09),
        # https://docs.x.ai/developers/tools/tool-usage-details (2026-11).
        summed=any(map(_is_hosted, items_at(body, "output"))) or used_server_tools(told),
    )


def _is_hosted(item: Any) -> bool:
    """Return whether an item in a reply shows that the provider made several requests for it."""
    kind = type_of(item)
    # A call that the caller may answer has an answer in the reply if the provider ran it.
    return is_server_call(kind) or kind in _HOSTED


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    llama.cpp reports a reply as completed even if the limit cut it off, and OpenAI has done so too.
    A reply that used all of its `max_output_tokens` therefore counts as cut off.
    https://community.openai.com/t/empty-incomplete-details-from-gpt-5-with-max-output-tokens/1355725

    >>> stop_reason({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}})
    <StopReason.CONTENT_FILTER: 'content_filter'>
    """
    body = plain(response)
    return _stop(body, reply(items_at(body, "output")))[1]


def _stop(body: Any, said: Message) -> tuple[str | None, StopReason]:
    word = _stop_word(body)
    reason = STOP_WORDS.reason(word, has_tool_calls=bool(said.tool_calls))
    if reason in {StopReason.STOP, StopReason.TOOL} and _reached_limit(body):
        reason = StopReason.MAX_TOKENS
    return word, reason


def _stop_word(body: Any) -> str | None:
    """Return the most specific stop word in a response; None if it has none."""
    code, status = text_at(body, "error", "code"), text_at(body, "status")
    if code in STOP_WORDS.reasons:
        return code
    if at(body, "error") and status not in {"failed", "cancelled"}:
        return "failed"
    detail = text_at(body, "incomplete_details", "reason")
    if detail:
        return detail
    items = items_at(body, "output")
    if status.startswith("complete") and any(map(refusal_text, items)):
        return "refusal"
    cut = any(type_of(i) == "message" and text_at(i, "status") == "incomplete" for i in items)
    return "incomplete" if cut and status.startswith("complete") else status or None


def _reached_limit(body: Any) -> bool:
    limit = at(body, "max_output_tokens")
    return isinstance(limit, int) and 0 < limit <= usage(body).output


def _usage_of(body: Any) -> Mapping[str, Any]:
    """Return the usage, or llama.cpp's `timings`, which count the prompt tokens not in its cache.

    https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
    """
    told = at(body, "usage")
    if isinstance(told, Mapping) and told:
        return told
    timings = at(body, "timings")
    if not isinstance(timings, Mapping):
        return {}
    cached = count_at(timings, "cache_n")
    return {
        "input_tokens": count_at(timings, "prompt_n") + cached,
        "output_tokens": count_at(timings, "predicted_n"),
        "input_tokens_details": {"cached_tokens": cached},
    }
