"""Decode a complete reply: its message, its token usage and its stop word (2026-11).

By OpenAI's convention, which most servers follow, `prompt_tokens` includes cached tokens and
`completion_tokens` includes reasoning, audio and predictions, even rejected ones (2026-11):
https://platform.openai.com/docs/api-reference/chat/object
If a server counts differently, its total shows that.

A streamed reply is assembled from its events.

Texts, calls, content chunks and reasoning details arrive in pieces, which are joined at the end.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.errors import ProviderError
from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers._bound_requests import input_transformations
from agentic.providers._model import ModelStream, reported_error
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._iterations import (
    context_in,
    last_request_in,
    requests_in,
    used_server_tools,
)
from agentic.providers.kit._json import count_at, has_object
from agentic.providers.kit._streamed_calls import StreamedCalls
from agentic.providers.kit._streamed_texts import GrowingText, add_fields, index_in, join_pieces
from agentic.providers.openai_chat._wire import (
    MESSAGES,
    NAME,
    decode_message,
    with_objects_on_the_wire,
)
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
    tokens = usage(body) if find_usage(body) else None
    return Decision(
        message.content,
        message.tool_calls,
        tokens,
        _reason(body, choice, message),
        message.native,
        stop_word=text_at(choice, "finish_reason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_at(body, "model"),
        response_id=text_at(body, "id"),
        last_request=_last_request(find_usage(body), tokens) if tokens and tokens.summed else None,
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
    fields = find_usage(body)
    if fields is None:
        return Usage()
    return attrs.evolve(_convert(fields), summed=_is_sum(body, fields))


def _is_sum(body: Any, fields: dict[str, Any]) -> bool:
    """Return whether a usage adds up several requests, made by a server's tools or a gateway."""
    if at(fields, "iterations"):
        return len(requests_in(fields)) != 1
    # https://console.groq.com/docs/compound lists there what its agents ran (2026-11).
    ran = at(body, "choices", 0, "message", "executed_tools")
    count = count_at(fields, *_TOOL_USE) or used_server_tools(fields)
    goes_on = 0 < count_at(fields, *_FIRST_PROMPT) < count_at(fields, "prompt_tokens")
    return bool(ran or count or goes_on)


def _last_request(fields: Any, total: Usage) -> Usage | None:
    """Return the part of the last request in a sum; None if it is not reported."""
    if at(fields, "iterations"):
        return last_request_in(fields)
    if context := context_in(fields):
        return context
    first = count_at(fields, *_FIRST_PROMPT) or total.input - count_at(fields, *_TOOL_USE)
    if first == total.input:
        return None
    # As for Gemini itself: the first prompt and the whole reply.
    return Usage(first, total.output, reasoning=total.reasoning)


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
    copy = {**_sendable(wire), "role": "assistant"}
    message = decode_message(copy)
    if all(map(has_object, message.tool_calls)):
        return message
    # Arguments that servers reject are fixed in the payload; the call keeps the model's own.
    return message.replace(native=ProviderPayload(NAME, with_objects_on_the_wire(copy)))


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
    is_refusal = text_at(choice, "message", "refusal") and not at(choice, "message", "content")
    # OpenAI says `stop` after a refusal.
    return StopReason.CONTENT_FILTER if is_refusal and reason is StopReason.STOP else reason


def find_usage(body: Any) -> dict[str, Any] | None:
    """Return the usage, from wherever the server puts it; None if there is none."""
    return next((fields for fields in _places(body) if isinstance(fields, dict) and fields), None)


def _places(body: Any) -> Iterator[Any]:
    yield at(body, "usage")
    yield at(body, "x_groq", "usage")  # https://console.groq.com/docs/api-reference, streams
    for choice in items_at(body, "choices"):
        yield at(choice, "usage")  # https://platform.moonshot.ai/docs/api/chat, streams
    timings = at(body, "timings")  # llama.cpp's server, which may leave `usage` out
    if isinstance(timings, dict):
        cache_tokens = count_at(timings, "cache_n")
        yield {
            "prompt_tokens": count_at(timings, "prompt_n") + cache_tokens,
            "completion_tokens": count_at(timings, "predicted_n"),
            "cached_tokens": cache_tokens,
        }
    if at(body, "prompt_tokens") is not None:
        yield body  # the usage object itself was passed in


def _convert(fields: dict[str, Any]) -> Usage:
    prompt = count_at(fields, "prompt_tokens") or count_at(fields, "input_tokens")
    completion = count_at(fields, "completion_tokens") or count_at(fields, "output_tokens")
    total, reasoning = count_at(fields, "total_tokens"), _first(fields, _REASONING)
    tool_use = count_at(fields, *_TOOL_USE)
    if 0 < tool_use <= total - prompt - completion:
        prompt += tool_use
    read, write = _first(fields, _CACHE_READ), _first(fields, _CACHE_WRITE)
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
    total_of_both = prompt + completion
    if max(read, write) > prompt or (
        total and total == total_of_both + read + write != total_of_both
    ):
        return True
    return total != total_of_both and read + write > prompt


def _first(fields: dict[str, Any], paths: list[tuple[str, ...]]) -> int:
    return next((number for path in paths if (number := count_at(fields, *path))), 0)


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


_THINKING = "thinking_blocks"
_PADDING = {"obfuscation", "p"}
"""Fields that OpenAI and Mistral add to hide the length of an event."""
_TAKEN = {"content", "tool_calls", "audio", "function_call", "reasoning_details", "index"}


def _add_delta(fields: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add the fields of a delta, with Claude's thinking blocks wherever LiteLLM has them."""
    for key, value in delta.items():
        present = fields.get(key)
        if key == _THINKING and isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            for block in value:
                _add_thinking(present, block)
        elif key == "provider_specific_fields" and isinstance(value, dict):
            fields[key] = present = present if isinstance(present, dict) else {}
            _add_delta(present, value)
        else:
            add_fields(fields, {key: value})


def _add_thinking(blocks: list[Any], block: Any) -> None:
    """Add a fragment of LiteLLM's `thinking_blocks`, which are Claude's thinking blocks.

    LiteLLM sends one for each event of the stream, all without an index: texts, then a signature,
    which ends the block. Some versions repeat the whole text with the signature, others send only
    complete blocks:
    https://github.com/BerriAI/litellm/issues/29428, https://github.com/BerriAI/litellm/pull/31022,
    https://github.com/open-webui/open-webui/pull/29860 (2026-11). Anthropic rejects a block that is
    sent back in pieces.

    >>> blocks = []
    >>> for text, signature in [("Look ", ""), ("first.", None), ("", "EqQB")]:
    ...     _add_thinking(blocks, {"type": "thinking", "thinking": text, "signature": signature})
    >>> join_pieces(blocks)
    [{'type': 'thinking', 'thinking': 'Look first.', 'signature': 'EqQB'}]
    """
    if text_at(block, "type") != "thinking" or not isinstance(at(block, "thinking"), str | None):
        blocks.append(block)
        return
    last: Any = blocks[-1] if blocks else None
    if not isinstance(at(last, "thinking"), GrowingText) or text_at(last, "signature"):
        blocks.append(last := {"type": "thinking", "thinking": GrowingText()})
    rest = {key: value for key, value in block.items() if key != "thinking"}
    text = text_at(block, "thinking")
    # Said again together with its signature: see above.
    if not (text_at(block, "signature") and text == join_pieces(last["thinking"])):
        last["thinking"].add(text)
    last.update({key: value for key, value in rest.items() if value or key not in last})


class _Chunks(list[dict[str, Any]]):
    """Mistral's content: thinking and text, with adjacent chunks of the same type joined.

    https://docs.mistral.ai/capabilities/reasoning/ (2026-11)
    """

    def add(self, chunk: Any) -> str:
        """Add a chunk or a plain string; return the text in it that the user sees."""
        if isinstance(chunk, str):
            chunk = {"type": "text", "text": chunk}
        if not isinstance(chunk, dict):
            return ""
        if isinstance(parts := chunk.get("thinking"), list):
            inner = self._joined(chunk, "thinking", _Chunks)
            for each in parts:
                inner.add(each)
            return ""
        if chunk.get("type") != "text":
            self.append(dict(chunk))
            return ""
        piece: str = self._joined(chunk, "text", GrowingText).add(text_at(chunk, "text"))
        return piece

    def _joined(self, chunk: dict[str, Any], field: str, kind: type[Any]) -> Any:
        """Return what the field of a chunk is added to; note the other fields, which may be late.

        A signature ends a chunk, as it ends a block of Anthropic's.
        """
        last = self[-1] if self and self[-1].get("type") == chunk.get("type") else {}
        if not isinstance(last.get(field), kind) or (chunk.get(field) and last.get("signature")):
            self.append(last := {**chunk, field: kind()})
        last.update({k: v for k, v in chunk.items() if k != field and v is not None})
        return last[field]


def _add_detail(details: list[Any], detail: Any) -> None:
    """Add a piece of OpenRouter's `reasoning_details`; join texts with the same index and type.

    https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11)
    """
    if not isinstance(detail, dict):
        details.append(detail)
        return
    last = details[-1] if details else None
    kind = (detail.get("type"), detail.get("index"))
    if not isinstance(last, dict) or (last.get("type"), last.get("index")) != kind:
        details.append(last := {})
    add_fields(last, detail)


@attrs.define(eq=False)
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> reply = StreamedResponse()
    >>> reply.feed({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
    'Hi.'
    >>> reply.response()["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi.'}
    """

    _body: dict[str, Any] = attrs.field(init=False, factory=dict)
    _choices: "dict[int, _Choice]" = attrs.field(init=False, factory=dict)
    _ended: bool = attrs.field(init=False, default=False)

    def _process(self, event: Any) -> str:
        chunk = plain(event)
        failure = failure_in(chunk, self.model or text_at(self._body, "model"))
        if failure is not None:
            raise failure
        self._ended |= self._ends(chunk)
        if not isinstance(chunk, dict):
            return ""
        self._keep(chunk)
        return "".join(map(self._take, items_at(chunk, "choices")))

    def _built(self) -> dict[str, Any] | None:
        reasons = [choice.fields.get("finish_reason") for choice in self._choices.values()]
        if not self._ended and not (reasons and all(reasons)):
            return None
        choices = [self._choices[index].whole(index) for index in sorted(self._choices)]
        body = {**self._body, "choices": choices}
        # So that `decode_response` and whoever logs it see one kind of response.
        if text_at(body, "object") == "chat.completion.chunk":
            body["object"] = "chat.completion"
        fields = find_usage(body)
        return {**body, "usage": fields} if fields else body

    def _ends(self, chunk: Any) -> bool:
        """Return whether a chunk ends a stream that has no finish_reason, such as Snowflake's.

        The SDK never passes on `[DONE]`. The event with the usage and no choices comes last:
        https://platform.openai.com/docs/api-reference/chat-streaming (2026-11).
        """
        if isinstance(chunk, str):
            return chunk.strip().removeprefix("data:").strip() == "[DONE]"
        is_usage = isinstance(at(chunk, "usage"), dict) and at(chunk, "choices") == []
        return is_usage and bool(self._choices)

    def _keep(self, chunk: dict[str, Any]) -> None:
        """Keep the fields other than `choices`. Azure's first event has empty ids."""
        for key, value in chunk.items():
            if key in _PADDING or key == "choices":
                continue
            if isinstance(value, dict) and isinstance(self._body.get(key), dict):
                self._body[key] = {**self._body[key], **value}
            elif value or key not in self._body:
                self._body[key] = value

    def _take(self, choice: Any) -> str:
        if not isinstance(choice, dict):
            return ""
        index = choice.get("index")
        index = index if isinstance(index, int) else 0
        text = self._choices.setdefault(index, _Choice()).take(choice)
        return "" if index else text


@attrs.define
class _Choice:
    """One choice, with the part of its messages received so far."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    messages: "dict[int, _Message]" = attrs.field(factory=dict)
    """One, but Mistral may send several, with what its own tools returned. The deltas say by their
    `index` which one they are for (`DeltaMessage` in mistralai 3.7; 2026-11)."""
    latest: int = 0

    def take(self, choice: dict[str, Any]) -> str:
        # Writer and Perplexity send the message so far along with the delta.
        delta = choice["delta"] if "delta" in choice else choice.get("message")
        piece = self._message_of(delta).take(delta) if isinstance(delta, dict) else ""
        rest = {key: value for key, value in choice.items() if key not in {"delta", "message"}}
        word = self.fields.get("finish_reason")
        if text_at(rest, "finish_reason").lower() in NO_WORD:
            rest["finish_reason"] = None
        # The other texts are states, such as the severity that Azure's filter reports.
        add_fields(self.fields, rest, "text".__eq__)
        self.fields["finish_reason"] = self.fields.get("finish_reason") or word
        return piece

    def _message_of(self, delta: dict[str, Any]) -> "_Message":
        index = index_in(delta.get("index"))
        # Only a role begins another message: an index alone may count events.
        if index in self.messages or not self.messages or text_at(delta, "role"):
            self.latest = self.latest if index is None else index
        return self.messages.setdefault(self.latest, _Message())

    def whole(self, index: int) -> dict[str, Any]:
        messages = [self.messages[each].whole() for each in sorted(self.messages)]
        if len(messages) > 1 or any(each["role"] == "tool" for each in messages):
            return {**join_pieces(self.fields), "index": index, MESSAGES: messages}
        message = messages[0] if messages else _Message().whole()
        return {**join_pieces(self.fields), "index": index, "message": message}


@attrs.define
class _Message:
    """A message, as received so far."""

    fields: dict[str, Any] = attrs.field(factory=dict)
    calls: StreamedCalls = attrs.field(factory=StreamedCalls)

    def whole(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, **join_pieces(self.fields)}
        calls = self.calls.whole()
        if calls:
            message["tool_calls"] = calls
        return message

    def take(self, delta: dict[str, Any]) -> str:
        """Add a delta; return the text it adds to the reply."""
        is_result = "tool" in (text_at(delta, "role"), self.fields.get("role"))
        piece = self._take_content(delta.get("content"))
        for call in items_at(delta, "tool_calls"):
            self.calls.add(call)
        for key in ("audio", "function_call"):
            if isinstance(delta.get(key), dict):
                self._take_part(key, delta[key])
        for detail in items_at(delta, "reasoning_details"):
            _add_detail(self.fields.setdefault("reasoning_details", []), detail)
        rest = {key: value for key, value in delta.items() if key not in _TAKEN}
        _add_delta(self.fields, {**rest, "role": "tool" if is_result else "assistant"})
        return "" if is_result else piece or self._beside(delta)

    def _beside(self, delta: dict[str, Any]) -> str:
        """Return the reply's text if there is no content: a refusal or a transcript."""
        if self.fields.get("content"):
            return ""
        refusal, transcript = text_at(delta, "refusal"), text_at(delta, "audio", "transcript")
        return refusal or ("" if self.fields.get("refusal") else transcript)

    def _take_content(self, content: Any) -> str:
        present = self.fields.get("content")
        if isinstance(content, str) and not isinstance(present, _Chunks):
            add_fields(self.fields, {"content": content})
            return content
        if content is None:
            return ""
        if not isinstance(present, _Chunks):
            # A text that came before the first chunk becomes a chunk, too.
            before, present = join_pieces(present), _Chunks()
            self.fields["content"] = present
            if before:
                present.add(before)
        return "".join(map(present.add, content if isinstance(content, list) else [content]))

    def _take_part(self, key: str, piece: dict[str, Any]) -> None:
        part = self.fields.get(key)
        if not isinstance(part, dict):
            part = self.fields[key] = {}
        add_fields(part, piece)
