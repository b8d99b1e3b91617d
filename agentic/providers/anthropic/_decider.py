"""A decider that calls a model through Anthropic's Messages API."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from agentic.limits import ModelLimits, reply_reserve
from agentic.loop import Decision, Input
from agentic.providers._bound_requests import (
    BoundRequests,
    input_transformations,
    leave_out_blocks,
    with_beta_header,
    with_drop,
)
from agentic.providers._model import ModelDecider, counted_tokens
from agentic.providers.anthropic._decoding import NAME, blocks_of, is_thinking
from agentic.providers.anthropic._encoding import TOOL_NAMES, encode_request
from agentic.providers.anthropic._replies import decode_response, reply_blocks, usage
from agentic.providers.anthropic._streaming import StreamedResponse, stream_error
from agentic.providers.anthropic._turns import mark_for_cache
from agentic.providers.kit import at, plain, text_at
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.usage import Usage, normalize

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

_PAUSES = {"pause_turn", "compaction"}
# After so many consecutive pauses the decision has the stop word of the pause.
_MOST_PAUSES = 5

# https://platform.claude.com/docs/en/build-with-claude/token-counting (2026-11), and the SDK's
# own arguments.
_COUNTED = {
    *("model", "messages", "tools", "system", "tool_choice", "thinking", "cache_control"),
    *("output_config", "speed", "extra_body", "extra_headers", "extra_query", "timeout"),
}


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
        streamed = StreamedResponse(model=self.model)
        while _goes_on(responses):
            streamed = StreamedResponse(model=self.model, before=streamed.text)
            # Not a lambda: `streamed` is another object after a pause.
            async with self._errors(partial(getattr, streamed, "text")):
                sent = _resumed(body, responses)
                async with await self._create({**sent, "stream": True}) as events:
                    with _error_events(self.model):
                        async for event in events:
                            if piece := streamed.feed(event):
                                yield piece
                responses.append(streamed.response())
        yield self._turn(responses, request)

    async def count_tokens(self, request: Input, /) -> int:
        """Return the provider's token count of the request, including system prompt and tools.

        Raises:
            RequestFailed: the provider returned no count.
        """
        body = self._body(request)
        counted = {key: value for key, value in body.items() if key in _COUNTED}
        async with self._errors():
            answer = await self._bound.send(
                lambda sent: self.client.messages.count_tokens(**sent), counted, self.model
            )
        return counted_tokens(answer, "input_tokens", NAME)

    async def list_models(self) -> list[str]:
        """Return the names of the models that the provider offers.

        Raises:
            Exception: what the SDK raises; Bedrock's and Vertex's clients list none.
        """
        client: Any = self.client
        return [model.id async for model in client.models.list()]

    async def _create(self, body: dict[str, Any]) -> Any:
        create: Any = self.client.messages.create
        return await self._bound.send(lambda sent: create(**sent), body, self.model)

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
        used = sum((normalize(usage(response)) for response in responses), Usage())
        size = self._decode(last).request_usage
        changes = (each for part in responses for each in input_transformations(part))
        return attrs.evolve(
            decision,
            usage=used,
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

    def _body(self, request: Input) -> dict[str, Any]:
        encoded = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            record_role=self.record_role,
            model=self.model,
        )
        # The options' tools and texts first: they are the same in every request, and the cache
        # begins with them.
        tools = [*(self.options.get("tools") or ()), *encoded.pop("tools", ())]
        system = self.options.get("system")
        if system and "system" in encoded:
            system = blocks_of(system if isinstance(system, str) else list(system))
            encoded["system"] = [*system, *blocks_of(encoded["system"])]
        limit = reply_tokens(self.limits(), self.options)
        body = {"model": self.model, "max_tokens": limit, **self.options, **encoded, "tools": tools}
        if not tools:
            del body["tools"]
        # `decide` and `stream` are the choice; an option would contradict one of them.
        body.pop("stream", None)
        return mark_for_cache(body) if self.prompt_cache else body


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
    told = options.get("max_tokens")
    if isinstance(told, int):
        return told
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
    paused = text_at(responses[-1], "stop_reason") in _PAUSES
    return paused and len(responses) <= _MOST_PAUSES


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
    kept = {"container": container} if container else {}
    return {**kept, **body, "messages": [*body["messages"], reply]}


def _content(responses: list[Any]) -> list[Any]:
    return [block for response in responses for block in reply_blocks(response)]
