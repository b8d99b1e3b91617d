"""Decode a complete reply: its message, its token usage and its stop word (2026-11).

By OpenAI's convention, which most servers follow, `prompt_tokens` includes cached tokens and
`completion_tokens` includes reasoning, audio and predictions, even rejected ones (2026-11):
https://platform.openai.com/docs/api-reference/chat/object
If a server counts differently, its total shows that.
"""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers._bound_requests import input_transformations
from agentic.providers._model import reported_error
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._iterations import (
    context_in,
    last_request_in,
    requests_in,
    used_server_tools,
)
from agentic.providers.kit._json import count_at, has_object
from agentic.providers.openai_chat._decoding import MESSAGES, NAME, decode_message
from agentic.providers.openai_chat._encoding import with_objects_on_the_wire
from agentic.usage import StopReason, StopWords, Usage

NO_WORD = {"", "null", "not_finished"}
"""Values of `finish_reason` while the reply is not finished: an empty string at Snowflake, "null"
at DashScope (https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference), "not_finished"
at watsonx."""

_STOP, _TOOL, _CUT = StopReason.STOP, StopReason.TOOL, StopReason.MAX_TOKENS
_FILTERED, _ABORT = StopReason.CONTENT_FILTER, StopReason.ABORT
_FAILED, _OTHER = StopReason.ERROR, StopReason.OTHER

_WORDS: dict[str, dict[StopReason, str]] = {
    "https://platform.openai.com/docs/api-reference/chat/object": {
        _STOP: "stop",
        _TOOL: "tool_calls function_call",
        _CUT: "length",
        _FILTERED: "content_filter",
    },
    "https://docs.mistral.ai/api/": {_CUT: "model_length", _FAILED: "error"},
    "https://docs.z.ai/api-reference/llm/chat-completion": {
        _CUT: "model_context_window_exceeded",
        _FILTERED: "sensitive",
        _FAILED: "network_error",
    },
    "https://api-docs.deepseek.com/api/create-chat-completion": {
        _FAILED: "insufficient_system_resource"
    },
    "https://docs.together.ai/reference/chat-completions-1": {_STOP: "eos"},
    "https://huggingface.co/docs/text-generation-inference": {_STOP: "eos_token stop_sequence"},
    "https://github.com/vllm-project/vllm/issues/57082": {_ABORT: "abort", _FAILED: "error"},
    "https://github.com/BerriAI/litellm/pull/27101": {_FAILED: "repetition"},  # from vLLM
    # DashScope's "null" means "not finished yet"; a complete reply with it just stopped.
    "https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference": {_STOP: "null"},
    # TIMEOUT is from version 2 of the API: https://docs.cohere.com/reference/chat
    "https://docs.cohere.com/v1/reference/chat": {
        _STOP: "complete stop_sequence",
        _TOOL: "tool_call",
        _CUT: "max_tokens error_limit",
        _FILTERED: "error_toxic",
        _ABORT: "user_cancel",
        _FAILED: "error timeout",
    },
    # A time limit is not MAX_TOKENS: a larger token limit would not help.
    "https://ibm.github.io/watsonx-ai-node-sdk/enums/0_1_x.WatsonXAI.TextGenResult.Constants.StopReason.html": {  # noqa: E501
        _STOP: "eos_token stop_sequence",
        _CUT: "max_tokens token_limit",
        _ABORT: "cancelled",
        _FAILED: "time_limit error",
        _OTHER: "not_finished",
    },
    "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons": {
        _STOP: "end_turn stop_sequence",
        _TOOL: "tool_use",
        _CUT: "max_tokens model_context_window_exceeded",
        _FILTERED: "refusal",
        _OTHER: "pause_turn",
    },
    "https://platform.claude.com/docs/en/build-with-claude/compaction": {_OTHER: "compaction"},
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html": {
        _STOP: "end_turn stop_sequence",
        _TOOL: "tool_use",
        _CUT: "max_tokens model_context_window_exceeded",
        _FILTERED: "guardrail_intervened content_filtered",
        _FAILED: "malformed_model_output malformed_tool_use",
    },
    # A gateway passes them on in lower case (https://github.com/HKUDS/Vibe-Trading/pull/308). The
    # last ones are only in the enum of google-genai 3.4.
    "https://ai.google.dev/api/generate-content#FinishReason": {
        _STOP: "stop",
        _CUT: "max_tokens continuation",
        _FILTERED: (
            "safety recitation language blocklist prohibited_content spii image_safety "
            "image_prohibited_content image_recitation model_armor escalation pup_limited_disabled"
        ),
        _FAILED: (
            "malformed_function_call malformed_response missing_thought_signature "
            "too_many_tool_calls no_image function_call_filter"
        ),
        # A call to an undeclared tool is no error: the loop reports it to the model.
        _OTHER: "finish_reason_unspecified other image_other unexpected_tool_call",
    },
    "https://ai.google.dev/api/generate-content#BlockReason": {
        _FILTERED: "jailbreak blocked_reason_unspecified block_reason_unspecified"
    },
    "https://github.com/ollama/ollama/blob/main/docs/api.md": {_STOP: "load unload"},
    # OpenAI's Responses API, and spellings used by gateways that are documented nowhere.
    "https://platform.openai.com/docs/api-reference/responses/object": {
        _STOP: "completed",
        _CUT: "max_output_tokens max_length",
        _ABORT: "aborted canceled cancelled",
        _FAILED: "failed",
        _OTHER: "unknown",
    },
}
"""The stop words, by the page that documents them. All words apply to every server."""

STOP_WORDS = StopWords(
    NAME,
    {
        word: reason
        for reasons in _WORDS.values()
        for reason, words in reasons.items()
        for word in words.split()
    },
)
"""The words in lower case; other spellings are lowercased before the lookup."""

_CACHE_READ = [
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),  # https://api-docs.deepseek.com/guides/kv_cache
    ("cached_tokens",),  # Moonshot
    ("num_cached_tokens",),  # Mistral
    ("cache_read_input_tokens",),  # Anthropic, through a gateway
    ("prompt_token_details", "cached_tokens"),  # Writer
    ("input_tokens_details", "cached_tokens"),
]

_CACHE_WRITE = [
    # https://openrouter.ai/docs/guides/best-practices/prompt-caching
    ("prompt_tokens_details", "cache_write_tokens"),
    ("prompt_tokens_details", "cache_creation_tokens"),  # LiteLLM
    # https://www.alibabacloud.com/help/en/model-studio/context-cache
    ("prompt_tokens_details", "cache_creation_input_tokens"),
    ("prompt_tokens_details", "cache_creation", "ephemeral_5m_input_tokens"),
    ("cache_creation_input_tokens",),  # Anthropic, through a gateway
    ("cache_write_tokens",),
    ("input_tokens_details", "cache_write_tokens"),
]

# LiteLLM 1.110 keeps Gemini's counts there (llms/vertex_ai/gemini): what its tools returned, which
# the prompt includes unless the tool was a search, and the prompt of the first of several requests.
_TOOL_USE = ("prompt_tokens_details", "tool_use_tokens")
_FIRST_PROMPT = ("prompt_tokens_details", "initial_prompt_tokens")

_REASONING = [
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
]


def decode_response(response: Any, /) -> Decision:
    """Read a reply; if there are several choices, the first one.

    >>> message = {"role": "assistant", "content": "Done."}
    >>> decode_response({"choices": [{"message": message, "finish_reason": "stop"}]}).reply
    'Done.'
    """
    body = plain(response)
    choice = at(body, "choices", 0)
    message = _message(choice)
    used = usage(body) if find_usage(body) else None
    return Decision(
        message.content,
        message.tool_calls,
        used,
        _reason(body, choice, message),
        message.native,
        stop_word=text_at(choice, "finish_reason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_at(body, "model"),
        response_id=text_at(body, "id"),
        last_request=_last_request(find_usage(body), used) if used and used.summed else None,
        # LiteLLM hands on Anthropic's next to the message (1.110).
        input_transformations=input_transformations(body)
        or input_transformations(at(choice, "message", "provider_specific_fields")),
    )


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"choices": [{"finish_reason": "length"}]})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    body = plain(response)
    choice = at(body, "choices", 0)
    return _reason(body, choice, _message(choice))


def usage(response: Any, /) -> Usage:
    """Return a reply's token usage; counts that the server does not report are 0.

    >>> usage({"usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
    Usage(input=7, output=3, total=10, cache_read=0, cache_write=0, reasoning=0)
    """
    body = plain(response)
    found = find_usage(body)
    if found is None:
        return Usage()
    return attrs.evolve(_convert(found), summed=_is_sum(body, found))


def _is_sum(body: Any, found: dict[str, Any]) -> bool:
    """Return whether a usage adds up several requests, made by a server's tools or a gateway."""
    if at(found, "iterations"):
        return len(requests_in(found)) != 1
    # https://console.groq.com/docs/compound lists there what its agents ran (2026-11).
    ran = at(body, "choices", 0, "message", "executed_tools")
    counted = count_at(found, *_TOOL_USE) or used_server_tools(found)
    continued = 0 < count_at(found, *_FIRST_PROMPT) < count_at(found, "prompt_tokens")
    return bool(ran or counted or continued)


def _last_request(found: Any, used: Usage) -> Usage | None:
    """Return the part of the last request in a sum; None if it is not reported."""
    if at(found, "iterations"):
        return last_request_in(found)
    if context := context_in(found):
        return context
    first = count_at(found, *_FIRST_PROMPT) or used.input - count_at(found, *_TOOL_USE)
    if first == used.input:
        return None
    # As for Gemini itself: the first prompt and the whole reply.
    return Usage(first, used.output, reasoning=used.reasoning)


def _spelled(word: str) -> str | None:
    """Return the spelling that is in the table; None for an empty word.

    Gemini's /openai says "content_filter: RECITATION" and
    "function_call_filter: MALFORMED_FUNCTION_CALL".

    >>> _spelled("MAX_TOKENS"), _spelled("content_filter: RECITATION"), _spelled("")
    ('max_tokens', 'content_filter', None)
    """
    small = word.lower()
    spellings = (small, small.partition(":")[0].strip(), small.replace("-", "_"))
    return next((each for each in spellings if each in STOP_WORDS.reasons), word or None)


def _message(choice: Any) -> Message:
    """Return a choice's message, with the payload to send back."""
    wire = at(choice, "message") or _joint(choice)
    if not isinstance(wire, dict) or not wire:
        return Message("assistant", text_at(choice, "text"))  # from the older /completions endpoint
    sent = {**_sendable(wire), "role": "assistant"}
    message = decode_message(sent)
    if all(map(has_object, message.tool_calls)):
        return message
    # Arguments that servers reject are fixed in the payload; the call keeps the model's own.
    return message.replace(native=ProviderPayload(NAME, with_objects_on_the_wire(sent)))


def _sendable(wire: dict[str, Any]) -> dict[str, Any]:
    # vLLM sends an empty list of calls in replies, but it is rejected in a request:
    # https://github.com/openai/openai-python/issues/2061
    return {key: value for key, value in wire.items() if key != "tool_calls" or value != []}


def _joint(choice: Any) -> dict[str, Any] | None:
    """Return the messages of a choice that has several in place of one, as one."""
    messages = [_sendable(each) for each in items_at(choice, MESSAGES) if isinstance(each, dict)]
    for message in messages:
        # Which message a delta was for, which a request has no place for.
        message.pop("index", None)
        message["role"] = text_at(message, "role") or "assistant"
    if len(messages) == 1 and messages[0]["role"] != "tool":
        return messages[0]
    return {"role": "assistant", MESSAGES: messages} if messages else None


def _reason(body: Any, choice: Any, message: Message) -> StopReason:
    # OpenRouter reports an error in the place of a reply, with status 200.
    if choice is None and at(body, "error"):
        return StopReason.ERROR
    reason = STOP_WORDS.reason(
        _spelled(text_at(choice, "finish_reason")), has_tool_calls=bool(message.tool_calls)
    )
    refused = text_at(choice, "message", "refusal") and not at(choice, "message", "content")
    # OpenAI says `stop` after a refusal.
    return StopReason.CONTENT_FILTER if refused and reason is StopReason.STOP else reason


def find_usage(body: Any) -> dict[str, Any] | None:
    """Return the usage, from wherever the server puts it; None if there is none."""
    return next((found for found in _places(body) if isinstance(found, dict) and found), None)


def _places(body: Any) -> Iterator[Any]:
    yield at(body, "usage")
    yield at(body, "x_groq", "usage")  # https://console.groq.com/docs/api-reference, streams
    for choice in items_at(body, "choices"):
        yield at(choice, "usage")  # https://platform.moonshot.ai/docs/api/chat, streams
    timings = at(body, "timings")  # llama.cpp's server, which may leave `usage` out
    if isinstance(timings, dict):
        cached = count_at(timings, "cache_n")
        yield {
            "prompt_tokens": count_at(timings, "prompt_n") + cached,
            "completion_tokens": count_at(timings, "predicted_n"),
            "cached_tokens": cached,
        }
    if at(body, "prompt_tokens") is not None:
        yield body  # the usage object itself was passed in


def _convert(found: dict[str, Any]) -> Usage:
    prompt = count_at(found, "prompt_tokens") or count_at(found, "input_tokens")
    completion = count_at(found, "completion_tokens") or count_at(found, "output_tokens")
    total, reasoning = count_at(found, "total_tokens"), _first(found, _REASONING)
    tool_use = count_at(found, *_TOOL_USE)
    if 0 < tool_use <= total - prompt - completion:
        prompt += tool_use
    read, write = _first(found, _CACHE_READ), _first(found, _CACHE_WRITE)
    if _cache_is_beside(total, prompt, completion, read, write):
        prompt += read + write
    hidden = total - prompt - completion if total and prompt else 0
    if hidden > 0 and hidden >= reasoning:
        # Grok counts reasoning separately, Gemini's /openai counts it only in the total:
        # https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
        # https://github.com/mozilla-ai/any-llm/issues/1290 (2026-11)
        completion, reasoning = completion + hidden, hidden
    elif reasoning > completion:
        # Perplexity's deep research reports reasoning only here, and bills it separately:
        # https://github.com/bgeneto/open-webui-cost-tracker/issues/6
        completion += reasoning
    total = max(total, prompt + completion) if total else 0
    # The two parts may overlap, but together they are at most the prompt.
    return Usage(prompt, completion, total, read, min(write, prompt - read), reasoning)


def _cache_is_beside(total: int, prompt: int, completion: int, read: int, write: int) -> bool:
    """Return whether the prompt count excludes cached tokens, as Anthropic's does via a gateway.

    A part that is larger than the prompt cannot be included in it. If only the sum of two parts is
    larger and the total includes neither, they overlap: OpenRouter may count tokens that it read as
    written, too.
    """
    said = prompt + completion
    if max(read, write) > prompt or (total and total == said + read + write != said):
        return True
    return total != said and read + write > prompt


def _first(found: dict[str, Any], paths: list[tuple[str, ...]]) -> int:
    return next((number for path in paths if (number := count_at(found, *path))), 0)


def failure_in(body: Any, model: str = "") -> ProviderError | None:
    """Return the error in an event or a response body; None if there is none.

    `{"error": {...}}` is what OpenRouter and vLLM send in the middle of a stream
    (https://openrouter.ai/docs/api/reference/errors-and-debugging); Mistral and older servers of
    vLLM send `{"object": "error", ...}`.

    >>> print(failure_in({"error": {"code": 502, "message": "upstream is gone"}}))
    openai_chat did not serve the request (HTTP 502): upstream is gone
    """
    error = at(body, "error") or (body if text_at(body, "object") == "error" else None)
    if not error:
        return None
    code = at(error, "code")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    problem = text_at(error, "message") or str(error)
    return reported_error(body, NAME, model or text_at(body, "model"), status, problem)
