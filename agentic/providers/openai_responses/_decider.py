"""A decider that calls a model through the Responses API, of OpenAI or another server.

A complete reply is decoded into its message, its token usage and why it ended.

A streamed reply is assembled from its events.

The last event (`response.completed`, `response.incomplete`) contains the complete response. The
earlier events are assembled as well, for streams that end early and for servers whose last event is
empty: https://github.com/sipeed/picoclaw/issues/2674.
The events: https://platform.openai.com/docs/api-reference/responses-streaming. llama.cpp identifies
an item only by its id or its call id, without an index.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from agentic._base._validate import must_be, whole
from agentic.errors import CompactionRefused
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input
from agentic.messages import Message, ProviderPayload
from agentic.protocols import RequestPrefix
from agentic.providers._bound_requests import input_transformations
from agentic.providers._model import ModelDecider, ModelStream, counted_tokens, reported_error
from agentic.providers.kit import Adapter, RequestForm, Sdk, at, items_at, plain, text_at
from agentic.providers.kit._adapter import HttpApi, longest_reply, validator_in
from agentic.providers.kit._iterations import context_in, is_server_call, used_server_tools
from agentic.providers.kit._json import count_at
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._streamed_texts import GrowingText, index_in, join_pieces
from agentic.providers.openai_responses._decoding import (
    NAME,
    OUTPUTS,
    IncrementalDecoder,
    decode,
    decode_request,
    is_openais,
    is_unsealed,
    item_role,
    item_text,
    refusal_text,
    reply,
    type_of,
)
from agentic.providers.openai_responses._encoding import (
    TOOL_NAMES,
    encode,
    encode_request,
    write_change,
)
from agentic.providers.overflow import is_context_overflow
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
    message = reply(items)
    word, reason = _stop(body, message)
    tokens = usage(body) if _usage_of(body) else None
    return Decision(
        message.content,
        message.tool_calls,
        tokens,
        reason,
        ProviderPayload(NAME, items) if items else None,
        stop_word=word or "",
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_at(body, "model"),
        response_id=text_at(body, "id"),
        input_transformations=input_transformations(body),
        last_request=context_in(_usage_of(body)) if tokens and tokens.summed else None,
    )


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. As on the wire, `input` includes cached tokens.

    https://platform.openai.com/docs/api-reference/responses/object (`usage`).

    >>> usage({"usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}).total
    11
    """
    body = plain(response)
    fields = _usage_of(body)
    into = at(fields, "input_tokens_details") or at(fields, "prompt_tokens_details")
    out_of = at(fields, "output_tokens_details") or at(fields, "completion_tokens_details")
    return Usage(
        count_at(fields, "input_tokens") or count_at(fields, "prompt_tokens"),
        count_at(fields, "output_tokens") or count_at(fields, "completion_tokens"),
        count_at(fields, "total_tokens"),
        count_at(into, "cached_tokens"),
        count_at(into, "cache_write_tokens"),
        count_at(out_of, "reasoning_tokens"),
        # After each tool that the provider runs, it sends the conversation to the model again, and
        # adds up what that took: https://github.com/turnstonelabs/turnstone/issues/1191 (2026-09),
        # https://docs.x.ai/developers/tools/tool-usage-details (2026-11).
        summed=any(map(_is_hosted, items_at(body, "output"))) or used_server_tools(fields),
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


def _stop(body: Any, message: Message) -> tuple[str | None, StopReason]:
    word = _stop_word(body)
    reason = STOP_WORDS.reason(word, has_tool_calls=bool(message.tool_calls))
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
    fields = at(body, "usage")
    if isinstance(fields, Mapping) and fields:
        return fields
    timings = at(body, "timings")
    if not isinstance(timings, Mapping):
        return {}
    cache_tokens = count_at(timings, "cache_n")
    return {
        "input_tokens": count_at(timings, "prompt_n") + cache_tokens,
        "output_tokens": count_at(timings, "predicted_n"),
        "input_tokens_details": {"cached_tokens": cache_tokens},
    }


_LAST = {
    "response.completed",
    "response.incomplete",
    "response.cancelled",
    "response.done",  # https://openrouter.ai/docs/api-reference/responses-api/basic-usage
}

_FAILED = {"response.failed", "error", "response.error"}

_PARTS = {
    "response.output_text": ("content", "content_index", "text", "output_text"),
    "response.refusal": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text": ("content", "content_index", "text", "reasoning_text"),
    "response.reasoning_summary_text": ("summary", "summary_index", "text", "summary_text"),
}
"""Events with a part's text: the list the part is in, its index field, text field and type."""

_FIELDS = {
    "response.function_call_arguments": "arguments",
    "response.mcp_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.code_interpreter_call_code": "code",
}
"""Events with a text that is a field of the item itself."""

_WHOLE_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}

_SPOKEN = {"response.output_text", "response.refusal"}


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> streamed.feed({"type": "response.output_text.delta", "delta": "Hi."})
    'Hi.'
    """

    _response: dict[str, Any] = attrs.field(factory=dict, init=False)
    _items: dict[int, dict[str, Any]] = attrs.field(factory=dict, init=False)
    _places: dict[str, int] = attrs.field(factory=dict, init=False)
    """Where the item with an id, or the call with one, is in `_items`."""
    _ended: bool = attrs.field(default=False, init=False)

    def _process(self, event: Any) -> str:
        data = plain(event)
        kind = text_at(data, "type") or ("error" if at(data, "error") else "")
        if kind in _FAILED:
            raise_failure(data, self._model())
        if isinstance(at(data, "response"), Mapping):
            if kind in _LAST and at(data, "response", "status") == "failed":
                raise_failure(data, self._model())
            self._response = dict(data["response"])
            if kind in _LAST:
                return self._end(data)
        name, _, step = kind.rpartition(".")
        if name == "response.output_item":
            self._take_item(data, done=step == "done")
        return self._take_piece(name, step, data)

    def _built(self) -> dict[str, Any] | None:
        return self._response if self._ended else None

    def _model(self) -> str:
        return self.model or text_at(self._response, "model")

    def _end(self, data: Any) -> str:
        """Keep the complete response; return the text in it that had not arrived before."""
        self._ended = True
        if not items_at(self._response, "output"):
            self._response["output"] = [
                join_pieces(item) for _, item in sorted(self._items.items())
            ]
        # llama.cpp's counts are next to the response, not in it.
        if not at(self._response, "usage") and at(data, "timings"):
            self._response["timings"] = data["timings"]
        text_of_items = "".join(map(item_text, items_at(self._response, "output")))
        text_so_far = self.text
        # A server that streams no pieces has its whole text here.
        return text_of_items[len(text_so_far) :] if text_of_items.startswith(text_so_far) else ""

    def _take_item(self, data: Any, *, done: bool) -> None:
        item = at(data, "item")
        if not isinstance(item, Mapping):
            return
        entry = self._find(data, item)
        place = entry if done and entry is not None else self._place(data)
        self._items[place] = _copy(item)
        self._places |= {item_id: place for k in ("id", "call_id") if (item_id := text_at(item, k))}

    def _place(self, data: Any) -> int:
        """Return the place of a new item: the index in the event, or else the end."""
        index = index_in(at(data, "output_index"))
        return max(self._items, default=-1) + 1 if index is None else index

    def _take_piece(self, name: str, step: str, data: Any) -> str:
        if step not in {"added", "delta", "done"}:
            return ""
        if name in _WHOLE_PARTS:
            where, index = _WHOLE_PARTS[name]
            part = at(data, "part")
            if isinstance(part, Mapping):
                self._part(data, where, index).update(_copy(part))
        elif name in _FIELDS:
            # Arguments under an index that no call began with continue the latest call.
            _put(self._item(data, of_call=True), _FIELDS[name], step, data)
        elif name in _PARTS:
            where, index, field, part_type = _PARTS[name]
            part = self._part(data, where, index, part_type)
            piece = _put(part, field, step, data)
            return piece if name in _SPOKEN else ""
        return ""

    def _part(
        self, data: Any, where: str, index: str, part_type: str = "output_text"
    ) -> dict[str, Any]:
        """Return the part that an event refers to; create it if necessary."""
        item, number = self._item(data), at(data, index)
        parts = item[where] = items_at(item, where)
        position = number if isinstance(number, int) else max(len(parts) - 1, 0)
        if not 0 <= position < len(parts) or not isinstance(parts[position], dict):
            position = len(parts)
            parts.append({"type": part_type})
        part: dict[str, Any] = parts[position]
        return part

    def _item(self, data: Any, *, of_call: bool = False) -> dict[str, Any]:
        """Return the item that an event refers to; create it if necessary."""
        place = self._find(data, data)
        if place is None and of_call:
            place = self._latest_call()
        if place is None:
            place = self._place(data)
            self._items[place] = {"type": "message", "role": "assistant", "content": []}
        return self._items[place]

    def _find(self, data: Any, about: Any) -> int | None:
        item_id = text_at(about, "item_id") or text_at(about, "id") or text_at(about, "call_id")
        # A known id decides, and only then an index. GitHub Copilot's ids are never known, since
        # they change with each event (https://github.com/lidge-jun/opencodex/issues/995, 2026-08).
        if item_id in self._places:
            return self._places[item_id]
        index = index_in(at(data, "output_index"))
        if index is not None:
            return index if index in self._items else None
        # A piece that names no item continues the latest one.
        return max(self._items, default=None) if not item_id else None

    def _latest_call(self) -> int | None:
        calls = (n for n, item in self._items.items() if text_at(item, "type").endswith("call"))
        return max(calls, default=None)


def raise_failure(data: Any, model: str) -> None:
    """Raise the error in a failed response or in an error event.

    Raises:
        ContextOverflow: the request does not fit the model's window.
        RequestFailed: anything else.
    """
    error = at(data, "response", "error") or at(data, "error") or data
    found = at(error, "status") or at(data, "status")
    text = error if isinstance(error, str) else text_at(error, "message")
    words = (text_at(error, "code"), text)
    problem = ": ".join(word for word in words if word) or "the response failed, without a reason"
    status = found if isinstance(found, int) else None
    raise reported_error(error, NAME, model, status, problem)


def _put(target: dict[str, Any], field: str, step: str, data: Any) -> str:
    """Append a piece of text or set the whole text; return what is new."""
    if step == "delta":
        if not isinstance(target.get(field), GrowingText):
            target[field] = GrowingText(text_at(target, field))
        piece: str = target[field].add(text_at(data, "delta"))
        return piece
    before = text_at(join_pieces(target), field)
    whole = target[field] = text_at(data, field) or before
    return whole[len(before) :] if whole.startswith(before) else ""


def _copy(item: Mapping[str, Any]) -> dict[str, Any]:
    """Copy an item, with its parts, so that the copy can be modified."""
    copy = dict(item)
    for where in ("content", "summary"):
        if isinstance(copy.get(where), list):
            copy[where] = [dict(p) if isinstance(p, Mapping) else p for p in copy[where]]
    return copy


if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Reasoning that can be sent back: https://platform.openai.com/docs/guides/reasoning.
_REASONING: Mapping[str, Any] = {"include": ["reasoning.encrypted_content"]}
# From errors that reject `include`: OpenAI's, and those of servers that do not know the option. An
# error about reasoning that cannot be decrypted has none of these texts.
_REFUSALS = ("encrypted content is not supported", "reasoning.encrypted_content", "'include'")

_ONLY_OPENAI: Mapping[str, Any] = {"only": ["openai"]}
"""OpenRouter's choice of the provider: https://openrouter.ai/docs/guides/routing/provider-selection
(2026-11-28)."""
_TIED = {"message", "function_call", "custom_tool_call"}
# What the endpoint that counts tokens accepts of a request, and the SDK's own arguments.
_COMPACTED = (
    *("model", "input", "instructions", "prompt_cache_key", "service_tier"),
    *("extra_body", "extra_headers", "extra_query", "timeout"),
)
"""What the endpoint that compacts accepts of a request, and the SDK's own arguments."""
_COUNTED = (
    *("conversation", "input", "instructions", "parallel_tool_calls", "previous_response_id"),
    *("reasoning", "text", "tool_choice", "tools", "truncation"),
    *("extra_body", "extra_headers", "timeout"),
)


@attrs.define(eq=False)
class Decider(ModelDecider):
    """Calls one model with the official SDK's `responses.create`.

    A model without reasoning rejects `include=["reasoning.encrypted_content"]` ("Encrypted content
    is not supported with this model", https://github.com/NousResearch/hermes-agent/pull/24234). The
    call is then repeated without it, and later calls leave it out.
    """

    _provider = NAME
    _sdks = frozenset({"openai"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    _stream_type = StreamedResponse
    client: "AsyncOpenAI" = attrs.field(repr=False)
    """`AsyncOpenAI`, `AsyncAzureOpenAI` or a subclass. It supplies the API key, the server address,
    timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call. They override `store=False` and
    `include=["reasoning.encrypted_content"]`, by which the caller keeps the conversation. The
    provider's own tools (such as web search) are offered in addition to those of the loop, and
    `instructions` come before those of the conversation; `input` is not replaced."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    compact_threshold: int | None = attrs.field(
        default=None, kw_only=True, validator=whole(1, optional=True)
    )
    """The size in tokens from which on the server compacts by itself before it replies: OpenAI,
    Azure, xAI, and OpenRouter with models of OpenAI. The reply holds its item, which is sent back;
    the history keeps all that precedes it, for models that cannot read it. None if the server shall
    not."""
    appends_changes: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether a system prompt that changed within a conversation is sent as a developer message in
    place, and tools that were added as an item `additional_tools`, so that the request still
    extends the last one. OpenAI's own models take both; of other servers try it first. A tool that
    was removed or has changed begins an epoch."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _has_reasoning: bool = attrs.field(default=True, init=False)

    async def _whole(self, request: Input) -> Any:
        response = plain(await self._create(request))
        # The SDK accepts any answer.
        has_output = isinstance(at(response, "output"), list)
        if at(response, "status") == "failed" or (at(response, "error") and not has_output):
            raise_failure({"response": response}, self.model)
        if not has_output:
            raise self._without("output", response)
        return response

    async def _open(self, request: Input) -> Any:
        return await self._create(request, stream=True)

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        https://platform.openai.com/docs/api-reference/responses/input-tokens

        Raises:
            RequestFailed: the server returned no count; most servers other than OpenAI return none.
        """
        body = self._call(request)
        fields: dict[str, Any] = {key: body[key] for key in _COUNTED if key in body}
        async with self._errors():
            answer = await self.client.responses.input_tokens.count(**fields, model=self.model)
        return counted_tokens(answer, "input_tokens", NAME)

    async def compact_natively(self, request: Input, instructions: str = "", /) -> Decision:
        """Return the provider's own compaction of a whole request, as a reply with opaque items.

        https://developers.openai.com/api/docs/guides/compaction (2026-11-27). xAI has the same
        endpoint. OpenRouter documents the threshold alone. It takes no instructions.

        Raises:
            CompactionRefused: the server made none.
            RequestFailed: the provider refused the request, has no such endpoint, or did not
                answer.
        """
        called = self._call(request)
        fields: dict[str, Any] = {key: called[key] for key in _COMPACTED if key in called}
        async with self._errors():
            response = plain(await self.client.responses.compact(**fields))
        output = items_at(response, "output")
        if not any(type_of(item) == "compaction" for item in output):
            raise CompactionRefused("the server returned no compaction")
        # In the form of any other response: the items are its output.
        body = {"status": "completed", "model": self.model, **response}
        return self._decision({**body, "object": "response"}, request)

    def write_change(
        self, before: RequestPrefix, after: RequestPrefix, /
    ) -> Sequence[Message] | None:
        """Return items that say what has changed; None without `appends_changes` or a form for it.

        https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11): an item
        `additional_tools`, and the new system prompt as a developer message.
        """
        return write_change(before, after) if self.appends_changes else None

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server offers.

        Raises:
            Exception: what the SDK raises; many servers do not list their models.
        """
        return [model.id async for model in self.client.models.list()]

    def _call(self, request: Input) -> dict[str, Any]:
        """Return the arguments for the SDK's method."""
        body_fields = encode_request(
            request.history,
            system_prompt=request.front.system_prompt,
            tools=request.front.tools,
            model=str(self.options.get("model", self.model)),
            record_role=self.record_role,
        )
        if self.options.get("instructions") and "instructions" in body_fields:
            body_fields["instructions"] = (
                f"{self.options['instructions']}\n\n{body_fields['instructions']}"
            )
        tools = [*body_fields.pop("tools", ()), *(self.options.get("tools") or ())]
        # The caller keeps the conversation, so the provider need not store it.
        defaults = {"store": False, **(_REASONING if self._has_reasoning else {})}
        result: dict[str, Any] = {**defaults, "model": self.model, **self.options, **body_fields}
        # `decide` and `stream` are the choice; an option would contradict one of them.
        result.pop("stream", None)
        if result["store"] is False and is_openais(str(result["model"])):
            # A text as input has no items, and an empty list is refused.
            result["input"] = _without_unsealed(items_at(result, "input")) or result["input"]
        if self.compact_threshold is not None:
            result |= self._compaction(result)
        return {**result, "tools": tools} if tools else result

    def _compaction(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields by which the server compacts from the threshold on."""
        items = items_at(body, "context_management")
        # One that the caller wrote says more than a number.
        if not any(type_of(item) == "compaction" for item in items):
            threshold = {"type": "compaction", "compact_threshold": self.compact_threshold}
            items = [*items, threshold]
        fields: dict[str, Any] = {"context_management": items}
        if "openrouter.ai" in str(getattr(self.client, "base_url", "")):
            # Only the provider that made an item can read it, and others make none:
            # https://openrouter.ai/docs/api_reference/responses/compaction (2026-11-28).
            fields["extra_body"] = {"provider": _ONLY_OPENAI, **(body.get("extra_body") or {})}
        return fields

    async def _create(self, request: Input, **more: Any) -> Any:
        body = self._call(request)
        try:
            return await self.client.responses.create(**body, **more)
        except Exception as error:
            # By what was sent: a parallel call may have learned of the refusal meanwhile.
            if body.get("include") is not _REASONING["include"] or not _refuses_reasoning(error):
                raise
        self._has_reasoning = False
        return await self.client.responses.create(**self._call(request), **more)

    def _decision(self, response: Any, request: Input) -> Decision:
        if isinstance(response, dict) and not at(response, "max_output_tokens"):
            # llama.cpp does not repeat the limit, and only the limit tells that it cut the reply.
            response = {**response, "max_output_tokens": self.options.get("max_output_tokens")}
        return super()._decision(response, request)


def _refuses_reasoning(error: Exception) -> bool:
    is_refusal = any(words in str(error).lower() for words in _REFUSALS)
    # Only the server's answer has a status: a mistake in the call is raised as it is.
    return is_refusal and hasattr(error, "status_code")


def _without_unsealed(items: list[Any]) -> list[Any]:
    """Leave out reasoning without content, and the ids that tie later items to it."""
    # An id whose reasoning is missing is rejected: https://github.com/0xPlaygrounds/rig/issues/751.
    return list(_kept(items)) if any(map(is_unsealed, items)) else items


def _kept(items: list[Any]) -> Iterator[Any]:
    is_bound = False
    for item in items:
        # Items after the reasoning are of its response, up to one that is not the model's.
        is_bound = item_role(item) == "assistant" and (is_bound or is_unsealed(item))
        if is_unsealed(item):
            continue
        if is_bound and type_of(item) in _TIED:
            yield {key: value for key, value in item.items() if key != "id"}
        else:
            yield item


_BEFORE_CONTENT = {"response.created", "response.queued", "response.in_progress", "keepalive"}
"""The events of a stream that say nothing of the reply."""

ADAPTER = Adapter(
    name=NAME,
    stop_words=STOP_WORDS,
    decode=decode,
    decode_request=decode_request,
    decode_response=decode_response,
    usage=usage,
    stop_reason=stop_reason,
    streamed_response=StreamedResponse,
    list_decoder=IncrementalDecoder,
    encode=encode,
    encode_request=encode_request,
    validate=validator_in("agentic.providers.openai_responses._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm(
        "input",
        "instructions",
        on_server=("previous_response_id", "conversation"),
        takes_texts=True,
        has_turns=False,
        # https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (2026-11)
        drops_reasoning=True,
        family="gpt-5.6",
    ),
    sdk=Sdk(
        install="agentic-weave[openai]",
        module="openai",
        make=lambda sdk: sdk.AsyncOpenAI(),
        address_variable="OPENAI_BASE_URL",
    ),
    reply_tokens=lambda options, _: longest_reply(options, [("max_output_tokens",)]),
    http=HttpApi(
        # Not those below it, such as /responses/compact and /responses/input_tokens.
        takes_path=lambda path: path.endswith("/responses"),
        has_content=lambda event: text_at(event, "type") not in _BEFORE_CONTENT,
        is_last=lambda event: text_at(event, "type") in _LAST,
    ),
    trace_name="openai",
)
