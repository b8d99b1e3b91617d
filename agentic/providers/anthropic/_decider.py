"""A decider that calls a model through Anthropic's Messages API.

A streamed reply is assembled from its events.

The events: https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11).
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from agentic._base._validate import must_be, whole
from agentic.errors import CompactionRefused, ConfigError, ProviderError
from agentic.limits import ModelLimits
from agentic.limits._model_limits import reply_reserve
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.protocols import RequestPrefix
from agentic.providers._bound_requests import (
    BINDING_BETA,
    BoundRequests,
    input_transformations,
    leave_out_blocks,
    with_beta_header,
    with_drop,
)
from agentic.providers._model import ModelDecider, ModelStream, counted_tokens, reported_error
from agentic.providers._registry import BEGINNINGS
from agentic.providers.anthropic._decoding import (
    INVALID_JSON,
    NAME,
    STOP_WORDS,
    IncrementalDecoder,
    blocks_of,
    decode,
    decode_request,
    decode_response,
    is_thinking,
    reply_blocks,
    stop_reason,
    usage,
)
from agentic.providers.anthropic._encoding import (
    TOOL_NAMES,
    changes_tools,
    encode,
    encode_request,
    mark_for_cache,
    without_go_on,
    write_change,
)
from agentic.providers.kit import Adapter, RequestForm, Sdk, at, items_at, plain, text_at
from agentic.providers.kit._adapter import HttpApi, ModelOffer, validator_in
from agentic.providers.kit._json import parse_object
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.kit._streamed_texts import GrowingText, index_in
from agentic.providers.overflow import is_context_overflow
from agentic.usage import Usage, normalize

# By the type of a delta: the fields that are complete in it, the field of which it is a fragment,
# and the type of the block that it belongs to if that is not a text.
_SETTLED = {"signature_delta": ("signature",), "compaction_delta": ("content", "encrypted_content")}
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
_KINDS = {"thinking_delta": "thinking", "input_json_delta": "tool_use"}

# https://platform.claude.com/docs/en/api/errors (2026-11): an error in a stream has no status.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

_WRITTEN = "cache_creation_input_tokens"
_INPUT = ("input_tokens", "cache_read_input_tokens", _WRITTEN, "cache_creation")


@attrs.define
class _StreamedBlock:
    """One block as received so far."""

    _fields: dict[str, Any]
    _citations: list[Any] = attrs.field(factory=list, init=False)
    """Citations that arrived in deltas."""
    _input: GrowingText | None = attrs.field(default=None, init=False)
    """The fragments of a call's JSON text, until the block ends."""

    @property
    def is_open(self) -> bool:
        """Return whether a call's input is not complete yet."""
        return self._input is not None

    @property
    def is_call(self) -> bool:
        """Return whether it is a call, whoever answers it."""
        return text_at(self._fields, "type").endswith("tool_use")

    def add(self, delta: Any) -> str:
        """Process the next delta; return the text it adds to the reply."""
        kind = text_at(delta, "type")
        if kind in _GROWING:
            piece = self._grow(_GROWING[kind], text_at(delta, _GROWING[kind]))
            return piece if kind == "text_delta" else ""
        if kind == "input_json_delta":
            self._input = GrowingText() if self._input is None else self._input
            self._input.add(text_at(delta, "partial_json"))
        elif kind == "citations_delta":
            self._citations.append(at(delta, "citation"))
        for field in _SETTLED.get(kind, ()):
            if at(delta, field) is not None:
                self._fields[field] = at(delta, field)
        return ""

    def _grow(self, field: str, piece: str) -> str:
        text = self._fields.get(field)
        if not isinstance(text, GrowingText):
            # A start event may already hold the first piece.
            self._fields[field] = text = GrowingText(text_at(self._fields, field))
        return text.add(piece)

    def close(self) -> None:
        """Parse a call's input, which is now complete."""
        text, self._input = str(self._input or ""), None
        # A call without arguments has no fragments, and keeps the object that it started with.
        if text.strip():
            value = parse_object(text)
            self._fields["input"] = {INVALID_JSON: text} if value is None else value

    def whole(self) -> dict[str, Any]:
        """Return the block as in a non-streamed response."""
        # Not `join_pieces`: a call's input may be nested more deeply than Python can recurse into.
        whole = {
            key: str(value) if isinstance(value, GrowingText) else value
            for key, value in self._fields.items()
        }
        if self._citations:
            whole["citations"] = [*items_at(whole, "citations"), *self._citations]
        return whole


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> streamed.feed({"type": "ping"})
    ''
    """

    before: str = attrs.field(default="", kw_only=True)
    """The text of this turn from before a pause; it is a part of `text`."""
    _message: dict[str, Any] = attrs.field(factory=dict, init=False)
    _blocks: list[_StreamedBlock] = attrs.field(factory=list, init=False)
    _by_index: dict[int, _StreamedBlock] = attrs.field(factory=dict, init=False)
    """The latest block with each index: a gateway may give all blocks the same."""
    _ended: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._said = GrowingText(self.before)

    def _process(self, event: Any) -> str:
        data = plain(event)
        kind = at(data, "type")
        if kind == "error":
            raise stream_error(data, text_at(self._message, "model") or self.model)
        if kind == "message_start":
            return self._start(at(data, "message"))
        if kind == "content_block_start":
            return self._open(_index(data), at(data, "content_block"))
        if kind == "content_block_delta":
            return self._extend(_index(data), at(data, "delta"))
        if kind == "content_block_stop" and _index(data) in self._by_index:
            self._by_index[_index(data)].close()
        elif kind == "message_delta":
            self._update(data)
        elif kind == "message_stop":
            self._ended = True
        return ""

    def _built(self) -> dict[str, Any] | None:
        is_over = at(self._message, "stop_reason") is not None
        # Some gateways omit the last event: a stop reason without an open block is the end, too.
        if not self._ended and (not is_over or any(block.is_open for block in self._blocks)):
            return None
        for block in self._blocks:
            block.close()
        return {**self._message, "content": [block.whole() for block in self._blocks]}

    def _start(self, message: Any) -> str:
        # A second start is a gateway's retry, which replaces the first.
        self._message = dict(message) if isinstance(message, dict) else {}
        self._blocks, self._by_index, self._said = [], {}, GrowingText(self.before)
        blocks = enumerate(items_at(message, "content"))
        return "".join([self._open(index, block) for index, block in blocks])

    def _open(self, index: int, block: Any) -> str:
        start = dict(block) if isinstance(block, dict) else {"type": "text"}
        self._blocks.append(_StreamedBlock(start))
        self._by_index[index] = self._blocks[-1]
        return text_at(block, "text") if at(block, "type") == "text" else ""

    def _extend(self, index: int, delta: Any) -> str:
        block = self._by_index.get(index)
        if block is None:
            kind = _KINDS.get(text_at(delta, "type"), "text")
            # Arguments without a call belong to the latest one. Of other blocks the start event is
            # missing: the type of the delta says what it belongs to.
            if kind == "tool_use" and self._blocks and self._blocks[-1].is_call:
                return self._blocks[-1].add(delta)
            self._open(index, {"type": kind})
            block = self._blocks[-1]
        return block.add(delta)

    def _update(self, event: dict[str, Any]) -> None:
        """Process late fields."""
        # A container comes within the delta, `context_management` next to it.
        fields = {
            **{key: value for key, value in event.items() if key not in {"type", "delta", "usage"}},
            **_dict(at(event, "delta")),
        }
        self._message.update(fields)
        # Counts are running totals, so the last report is the final one:
        # https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11); the SDK's own
        # `accumulate_event` overwrites them too. A count may decrease: the start event reports an
        # estimate, or tokens that a compaction on the server then removed.
        if late := _dict(at(event, "usage")):
            counts = _dict(at(self._message, "usage"))
            self._message["usage"] = _latest(counts, late)


def _latest(before: dict[str, Any], late: dict[str, Any]) -> dict[str, Any]:
    """Return the counts updated by a later report.

    >>> _latest({"input_tokens": 25, "output_tokens": 1}, {"input_tokens": 0, "output_tokens": 9})
    {'input_tokens': 25, 'output_tokens': 9}
    """
    fields = {key: value for key, value in late.items() if value is not None}
    # No request has 0 input tokens. A server that reports that, or 0 output tokens after some
    # output, does not know the number.
    if not usage({"usage": fields}).input:
        fields = {key: value for key, value in fields.items() if key not in _INPUT}
    if not fields.get("output_tokens"):
        fields.pop("output_tokens", None)
    result = dict(before)
    if fields.get(_WRITTEN, before.get(_WRITTEN)) != before.get(_WRITTEN):
        result.pop("cache_creation", None)  # the earlier number, split by lifetime
    return {**result, **fields}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(event: Any) -> int:
    return index_in(at(event, "index")) or 0


def stream_error(event: Any, model: str) -> ProviderError:
    """Return the error for an error event."""
    kind = text_at(event, "error", "type")
    problem = text_at(event, "error", "message") or json.dumps(event, default=str)
    text = f"{kind}: {problem}" if kind else problem
    return reported_error(event, NAME, model, _STATUSES.get(kind), text)


if TYPE_CHECKING:
    import anthropic

    Client: TypeAlias = (
        anthropic.AsyncAnthropic | anthropic.AsyncAnthropicBedrock | anthropic.AsyncAnthropicVertex
    )

# For a model whose reply limit is unknown: the smallest limit of any model in the catalog.
_DEFAULT_MAX_TOKENS = 4096
# The SDK requires streaming for a reply that might take over ten minutes: over 21,333 tokens,
# and for some models over 8,192.
# https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/_constants.py
_LARGEST_UNSTREAMED = 8192

# The default reply limit is `_LARGE_REPLY` tokens, or the window divided by `_PARTS_OF_WINDOW` if
# larger. A file that an agent writes in one call seldom takes 32,000 tokens, and one that is cut
# off has to be written again. Models before Claude 4.5, which reject a request if its input plus
# `max_tokens` exceed the window, are asked for what a `budget.Policy` reserves by default.
_LARGE_REPLY = 32_000
_PARTS_OF_WINDOW = 8
# In a small window, a reply may have at most the window divided by this, even if the model's reply
# could fill the whole window. A `budget.Policy` reserves the same share by default.
_MOST_OF_WINDOW = 4

# https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand (2026-11-27)
_COMPACT_BETA = "compact-2026-09-04"
# https://platform.claude.com/docs/en/build-with-claude/compaction (2026-11-27); with its header in
# https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-compaction.md (2026-11-28)
_THRESHOLD_EDIT, _THRESHOLD_BETA = "compact_20260112", "compact-2026-01-12"
_LEAST_THRESHOLD = 50_000
_PAUSES = {"pause_turn", "compaction"}
# After so many consecutive pauses the decision has the stop word of the pause.
_MOST_PAUSES = 5

# https://platform.claude.com/docs/en/build-with-claude/token-counting (2026-11), and the SDK's
# own arguments.
_COUNTED = {
    *("model", "messages", "tools", "system", "tool_choice", "thinking", "cache_control"),
    *("output_config", "speed", "extra_body", "extra_headers", "extra_query", "timeout"),
}


# Also for a removal by name: the tool may have been added by its definition before (anthropic 2.14,
# `BetaToolRunner.remove_tools`).
_INLINE_BETA = "inline-tools-2026-09-15"
_TAKES_CHANGES = re.compile(
    r"claude-(?:(?:fable|mythos)-[5-9]|opus-(?:4[-.][89]|[5-9])"
    r"|(?:sonnet|haiku)-(?:5[-.][5-9]|[6-9]))(?![0-9])"
)
"""The models that Anthropic lists for `mid-conversation-tool-changes-2026-07-01`, by the copy in
pydantic-ai 2 (2026-11); newer ones are taken to be among them."""


def _takes_changes(decider: "Decider", attribute: Any, value: object) -> None:
    must_be(bool)(decider, attribute, value)
    # Of a name that is not Anthropic's, such as an alias, the caller knows more.
    if value and "claude-" in decider.model and not _TAKES_CHANGES.search(decider.model):
        raise ConfigError(
            "appends_changes",
            value,
            f"False for {decider.model}",
            "it takes no changed tools in a message: leave the option out",
        )


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with the official SDK's `messages.create`.

    If the server pauses a turn, it is continued, and the usage of its responses is added up.

    If the server refuses reasoning because an earlier part of the conversation has changed, the
    call is repeated, and the server is asked to drop such reasoning; later calls ask for it, too.
    Models that check every account are asked from the first call on. Options with a
    `thinking.block_binding` are sent as they are.
    """

    _provider = NAME
    # The SDK's clients for Bedrock and Vertex get their credentials by other packages.
    _sdks = frozenset({"anthropic", "boto3", "botocore", "google"})
    _tool_names = TOOL_NAMES
    _decode = staticmethod(decode_response)
    client: "Client" = attrs.field(repr=False)
    """`AsyncAnthropic`, or its variant for Bedrock or Vertex. It supplies the API key, the server
    address, timeouts and retries."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional arguments of the call. Without `max_tokens`, a reply may be as long as the model
    allows, but at most 32,000 tokens or an eighth of the window, whichever is larger, and before
    Claude 4.5 what a `budget.Policy` reserves by default; `budget_tokens` for thinking are added.
    `system` and `tools` come before those of the request; `messages` are not replaced."""
    prompt_cache: bool = attrs.field(default=True, kw_only=True)
    """Whether the tools, the system prompt and the newest messages are marked for the cache, which
    makes a long conversation cost a fifth. If you set a `cache_control` yourself, no other is
    added. Turn it off for single requests, whose cache writes are never read."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    compact_threshold: int | None = attrs.field(
        default=None,
        kw_only=True,
        validator=whole(_LEAST_THRESHOLD, optional=True, remedy="the server's default is 150,000"),
    )
    """The size in tokens, at least 50,000, from which on the server compacts by itself before it
    replies. The reply holds its compaction, which is sent back; the history keeps all that precedes
    it, for models that cannot read it. None if the server shall not."""
    appends_changes: bool = attrs.field(default=False, kw_only=True, validator=_takes_changes)
    """Whether a system prompt or tools that changed within a conversation are sent as a system
    message in place, so that the request still extends the last one: see `write_change`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _bound: BoundRequests = attrs.field(init=False, eq=False, repr=False)

    @_bound.default
    def _make_bound(self) -> BoundRequests:
        return BoundRequests(self._ask_to_drop, leave_out_reasoning)

    async def decide(self, request: Input, /) -> Decision:
        """Request the complete reply; one that may be long is streamed, as the SDK requires.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the connection was lost in the middle of a long reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        body = self._body(request)
        # The SDK raises instead of waiting for more than ten minutes.
        if body["max_tokens"] > _LARGEST_UNSTREAMED:
            *_, decision = [item async for item in self.stream(request)]
            return cast("Decision", decision)
        responses: list[Any] = []
        async with self._errors():
            while _goes_on(responses):
                sent = _resumed(body, responses)
                responses.append(self._checked(await self._create(sent)))
        return self._turn(responses, request)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply's text as it arrives, then the complete Decision.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream ended in the middle of the reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        body = self._body(request)
        responses: list[Any] = []
        response = StreamedResponse(model=self.model)
        while _goes_on(responses):
            response = StreamedResponse(model=self.model, before=response.text)
            # Not a lambda: `streamed` is another object after a pause.
            async with self._errors(partial(getattr, response, "text")):
                request_body = _resumed(body, responses)
                async with await self._create({**request_body, "stream": True}) as events:
                    with _error_events(self.model):
                        async for event in events:
                            if piece := response.feed(event):
                                yield piece
                responses.append(response.response())
        yield self._turn(responses, request)

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        Raises:
            RequestFailed: the provider returned no count.
        """
        body = self._body(request)
        fields = {key: value for key, value in body.items() if key in _COUNTED}
        async with self._errors():
            answer = await self._bound.send(
                lambda call_body: self.client.messages.count_tokens(**call_body), fields, self.model
            )
        return counted_tokens(answer, "input_tokens", NAME)

    async def compact_natively(self, request: Input, instructions: str = "", /) -> Decision:
        """Return the provider's own compaction of a whole request, as a reply with one block.

        https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand (2026-11-27). It
        needs the same model, system prompt and tools, no forced `tool_choice` and no open call.

        Raises:
            CompactionRefused: the server made none: the block is empty.
            RequestFailed: the provider refused the request (`compaction_*`, status 529), or did not
                answer.
        """
        instruction = {
            "type": "summarize",
            **({"instructions": instructions} if instructions else {}),
        }
        body = self._body(request, by_threshold=False)
        # Not streamed: a compaction is short. The SDK refuses to wait for longer replies.
        body["max_tokens"] = min(body["max_tokens"], _LARGEST_UNSTREAMED)
        body["extra_body"] = {**(body.get("extra_body") or {}), "compaction": instruction}
        headers = getattr(self.client, "default_headers", {})
        body = with_beta_header(body, headers, _COMPACT_BETA)
        async with self._errors():
            response = self._checked(await self._create(body))
        decision = self._decision(response, request)
        if not any(at(block, "content") for block in items_at(response, "content")):
            raise CompactionRefused("Anthropic made no compaction: its block is empty")
        return decision

    def write_change(
        self, before: RequestPrefix, after: RequestPrefix, /
    ) -> Sequence[Message] | None:
        """Return a system message that says what has changed; None without `appends_changes`.

        https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
        (2026-11-27): `tool_removal` and `tool_addition`, and the new system prompt as a text.
        """
        return write_change(before, after) if self.appends_changes else None

    async def list_models(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Raises:
            Exception: what the SDK raises; Bedrock's and Vertex's clients list none.
        """
        client: Any = self.client
        return [model.id async for model in client.models.list()]

    async def _create(self, body: dict[str, Any]) -> Any:
        create: Any = self.client.messages.create
        return await self._bound.send(lambda request: create(**request), body, self.model)

    def _ask_to_drop(self, body: dict[str, Any]) -> dict[str, Any] | None:
        asking = with_drop(body)
        headers = getattr(self.client, "default_headers", {})
        return None if asking is None else with_beta_header(asking, headers)

    def _turn(self, responses: list[Any], request: Input) -> Decision:
        """Decode the responses of one turn as a single one; its id is that of the last."""
        last = responses[-1]
        if len(responses) == 1:
            return self._decision(last, request)
        decision = self._decision({**last, "content": _content(responses)}, request)
        # Each part was a request of its own, and was paid for. Only the last one says how large the
        # conversation is: it sent the other parts again.
        used_usage = sum((normalize(usage(response)) for response in responses), Usage())
        size = self._decode(last).request_usage
        changes = (each for part in responses for each in input_transformations(part))
        return attrs.evolve(
            decision,
            usage=used_usage,
            last_request=size,
            input_transformations=tuple(dict.fromkeys(changes)),
        )

    def _checked(self, answer: Any) -> Any:
        """Return a response as plain data; raise if it is none."""
        # The SDK accepts any answer.
        response = plain(answer)
        if at(response, "type") == "error":
            raise stream_error(response, self.model)
        if at(response, "content") is None and not at(response, "stop_reason"):
            raise self._without("content", response)
        return response

    def _body(self, request: Input, *, by_threshold: bool = True) -> dict[str, Any]:
        wire = encode_request(
            request.history,
            system_prompt=request.front.system_prompt,
            tools=request.front.tools,
            record_role=self.record_role,
            model=self.model,
        )
        if not by_threshold:
            wire["messages"] = without_go_on(wire["messages"])
        # The options' tools and texts first: they are the same in every request, and the cache
        # begins with them.
        tools = [*(self.options.get("tools") or ()), *wire.pop("tools", ())]
        system = self.options.get("system")
        if system and "system" in wire:
            system = blocks_of(system if isinstance(system, str) else list(system))
            wire["system"] = [*system, *blocks_of(wire["system"])]
        limit = reply_tokens(self.limits(), self.options)
        body = {"model": self.model, "max_tokens": limit, **self.options, **wire, "tools": tools}
        if not tools:
            del body["tools"]
        # `decide` and `stream` are the choice; an option would contradict one of them.
        body.pop("stream", None)
        if by_threshold and self.compact_threshold is not None:
            headers = getattr(self.client, "default_headers", {})
            body = with_beta_header(body, headers, _THRESHOLD_BETA)
            body["extra_body"] = _compacting_above(body.get("extra_body"), self.compact_threshold)
        if changes_tools(wire["messages"]):
            body = with_beta_header(body, getattr(self.client, "default_headers", {}), _INLINE_BETA)
        return mark_for_cache(body) if self.prompt_cache else body


def _compacting_above(extra: Mapping[str, Any] | None, tokens: int) -> dict[str, Any]:
    """Return a request's additional fields, with the server's own compaction among its edits."""
    edits = items_at(extra, "context_management", "edits")
    # One that the caller wrote says more than a number.
    if not any(at(edit, "type") == _THRESHOLD_EDIT for edit in edits):
        trigger = {"type": "input_tokens", "value": tokens}
        edits = [*edits, {"type": _THRESHOLD_EDIT, "trigger": trigger}]
    management = {**_dict(at(extra, "context_management")), "edits": edits}
    return {**(extra or {}), "context_management": management}


def reply_tokens(limits: ModelLimits, options: Mapping[str, Any] = MappingProxyType({})) -> int:
    """Return the `max_tokens` that a `Decider` with these options requests for a reply.

    >>> reply_tokens(ModelLimits(200_000, 64_000))
    32000

    A model before Claude 4.5 is asked for no more than the default reserve of a `budget.Policy`,
    unless `budget_tokens` for thinking leave no room in it for a reply. With a smaller reserve,
    pass `max_tokens`.

    >>> reply_tokens(ModelLimits(200_000, 64_000, window_includes_reply=True))
    16384
    """
    limit = options.get("max_tokens")
    if isinstance(limit, int):
        return limit
    budget = at(options, "thinking", "budget_tokens")
    thinking = budget if isinstance(budget, int) else 0
    # `max_tokens` includes thinking, and so does the limit of a model.
    longest = limits.max_output or _DEFAULT_MAX_TOKENS + thinking
    if limits.window_includes_reply:
        reserve = reply_reserve(limits.context_window)
        return min(longest, max(reserve, thinking + _DEFAULT_MAX_TOKENS))
    return min(longest, _large_reply(limits) + thinking)


def _large_reply(limits: ModelLimits) -> int:
    """Return how long a reply may be that a window has room for."""
    window = limits.context_window
    most = max(_LARGE_REPLY, window // _PARTS_OF_WINDOW)
    # The default window of an unknown model might limit the reply without need.
    if limits.usable and window:
        most = min(most, window // _MOST_OF_WINDOW)
    return most


def leave_out_reasoning(body: dict[str, Any], is_stale: Callable[[Any], bool]) -> dict[str, Any]:
    """Return a request without the thinking whose signature is stale."""
    return leave_out_blocks(body, _signature_of, is_stale)


def _signature_of(block: Any) -> Any:
    """Return what identifies a block of reasoning; None for another block."""
    if not is_thinking(block):
        return None
    fields = ("signature", "data", "thinking")
    return next(filter(None, (text_at(block, field) for field in fields)), "")


def _goes_on(responses: list[Any]) -> bool:
    if not responses:
        return True
    is_paused = text_at(responses[-1], "stop_reason") in _PAUSES
    return is_paused and len(responses) <= _MOST_PAUSES


@contextmanager
def _error_events(model: str) -> Iterator[None]:
    """Translate stream errors by their type."""
    try:
        yield
    # The SDK gives them the response's status, which is 200.
    except Exception as error:
        body = plain(getattr(error, "body", None))
        if at(body, "type") == "error":
            raise stream_error(body, model) from error
        raise


def _resumed(body: dict[str, Any], responses: list[Any]) -> dict[str, Any]:
    """Return a request that sends a paused reply back unchanged, so that the model continues it.

    https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (2026-11)
    """
    content = _content(responses)
    if not content:
        return body
    reply = {"role": "assistant", "content": content}
    container = at(responses[-1], "container", "id")
    # The code that runs in it is in the middle of its work.
    container_field = {"container": container} if container else {}
    return {**container_field, **body, "messages": [*body["messages"], reply]}


def _content(responses: list[Any]) -> list[Any]:
    return [block for response in responses for block in reply_blocks(response)]


def make_client(sdk: Any) -> Any:
    """Create the client. Raise now if it has no key: the SDK would only fail on first use."""
    client = sdk.AsyncAnthropic()
    # The last two are attributes of newer versions of the SDK only.
    credentials = (client.api_key, client.auth_token, getattr(client, "credentials", None))
    if not any(credentials) and getattr(client, "_token_cache", None) is None:
        raise ValueError("set the environment variable ANTHROPIC_API_KEY")
    return client


_BEFORE_CONTENT = {"message_start", "ping"}
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
    validate=validator_in("agentic.providers.anthropic._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm(
        "messages",
        "system",
        has_system_role=False,
        parts_replies=True,
        family="claude",
    ),
    sdk=Sdk(
        install="agentic-weave[anthropic]",
        module="anthropic",
        make=make_client,
        key_variables=("ANTHROPIC_API_KEY",),
        address_variable="ANTHROPIC_BASE_URL",
    ),
    reply_tokens=lambda options, limits: reply_tokens(limits, options),
    http=HttpApi(
        # OpenAI's threads have messages as well, at other paths.
        takes_path=lambda path: path == "/messages" or path.endswith("/v1/messages"),
        has_content=lambda event: at(event, "type") not in _BEFORE_CONTENT,
        is_last=lambda event: at(event, "type") == "message_stop",
        leave_out_reasoning=leave_out_reasoning,
        ask_to_drop=with_drop,
        drop_header=("anthropic-beta", BINDING_BETA),
        error_body=lambda _, kind, message: {
            "type": "error",
            "error": {"type": kind, "message": message},
        },
    ),
    offer=ModelOffer(model="claude-sonnet-4-5", starts=BEGINNINGS["anthropic"]),
)
