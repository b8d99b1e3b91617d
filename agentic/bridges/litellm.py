"""A decider for every model that LiteLLM supports.

LiteLLM translates a chat completion to the API of each provider, and each reply back. So the wire
is that of `providers.openai_chat`, whose payloads keep what LiteLLM adds to it:
`reasoning_content`, `thinking_blocks` with their signatures, and `provider_specific_fields`.

LiteLLM is imported by the first request. It uses the price list in its package, unless
LITELLM_LOCAL_MODEL_COST_MAP says otherwise, and prints no advice on stdout. Everything else is as
LiteLLM does it: it reads `.env` and the variables of each provider.
"""

import asyncio
import contextlib
import os
import sys
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import attrs

from agentic._base import _imports
from agentic._base._versions import require
from agentic.errors import ConfigError, ContextOverflow, IncompleteReply, RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers import openai_chat
from agentic.providers._bound_requests import BoundRequests, with_beta_header, with_drop
from agentic.providers.kit import at, items_at, text_at
from agentic.providers.openai_chat._decider import GrowingRequests, leave_out_reasoning
from agentic.providers.overflow import read_size_refusal
from agentic.providers.overflow._size_refusal import SizeRefusal

__all__ = ["Decider", "PricedDecision"]

_NAME = "litellm"
_OLDEST = "1.83"
_OWN_FIELDS = "provider_specific_fields"
_LOCAL_PRICES = "LITELLM_LOCAL_MODEL_COST_MAP"
# Pydantic's warnings about classes of LiteLLM's, in whatever words: "Item 'a' on TypedDict class"
# of pydantic 2.11 is "Items 'a', 'b' on TypedDict class" in 2.14.
_OF_CLASSES = ".* on TypedDict class"


@attrs.frozen
class PricedDecision(Decision):
    """A decision, and what it cost. Its `provider` is the one that LiteLLM asked."""

    cost_usd: float | None = attrs.field(default=None, kw_only=True)
    """The price of this call by LiteLLM's list; None if the list has no price for the model."""


@attrs.frozen
class Decider:
    """Calls one model through LiteLLM.

    >>> import asyncio
    >>> from agentic.loop import Runner
    >>> decider = Decider("anthropic/claude-sonnet-4-5", options={"mock_response": "It is green."})
    >>> asyncio.run(Runner(decider).run("Is the build green?")).reply
    'It is green.'

    Raises:
        ConfigError: the model's name is empty.
        ImportError: LiteLLM is not installed, or is too old.
    """

    model: str = attrs.field()
    """As LiteLLM spells it: `anthropic/claude-sonnet-4-5`, `bedrock/...`, `ollama_chat/qwen3`."""
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True, repr=False)
    """Additional arguments of `litellm.acompletion`, such as api_key, api_base, temperature,
    max_tokens, reasoning_effort, num_retries, timeout and drop_params."""
    router: Any = attrs.field(default=None, kw_only=True, repr=False)
    """A `litellm.Router`, or another object with LiteLLM's `acompletion`. `model` is then a name of
    the router's."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    _requests: GrowingRequests = attrs.field(
        factory=GrowingRequests, init=False, eq=False, repr=False
    )
    _bound: BoundRequests = attrs.field(
        factory=lambda: BoundRequests(_ask_to_drop, leave_out_reasoning),
        init=False,
        eq=False,
        repr=False,
    )

    @model.validator
    def _check_model(self, _: object, model: object) -> None:
        if not (isinstance(model, str) and model.strip()):
            raise ConfigError("model", model, "a model's name", "such as anthropic/claude-opus-4-5")

    def __attrs_post_init__(self) -> None:
        require("bridges.litellm", _NAME, _NAME, _OLDEST)

    @property
    def name(self) -> str:
        """Return `litellm:model`."""
        return f"{_NAME}:{self.model}"

    @property
    def survives_stale_reasoning(self) -> bool:
        """Return whether the provider is asked to drop stale reasoning; see `_ask_to_drop`."""
        return "reasoning_effort" not in self.options

    def limits(self) -> ModelLimits:
        """Return the model's limits in tokens: those passed in, the catalog's, or LiteLLM's.

        LiteLLM's table states how many input tokens a model accepts, which is taken for its window.
        To read it, LiteLLM is imported.
        """
        if self._limits is not None:
            return self._limits
        # The catalog first: each of its windows has a source, and no import takes seconds.
        limits = lookup(self.model)
        return limits if limits.known else _limits_of_litellm(self.model) or limits

    async def decide(self, request: Input, /) -> PricedDecision:
        """Request the whole reply as one response.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        call = await self._call()
        with self._errors(call):
            decision = await self._chat(call).decide(request)
        return self._priced(decision, call)

    async def stream(self, request: Input, /) -> AsyncIterator[str | PricedDecision]:
        """Yield the reply's text as it arrives, then the complete decision.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream ended in the middle of the reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        call = await self._call()
        with self._errors(call):
            stream: Any = self._chat(call).stream(request)
            async with contextlib.aclosing(stream) as pieces:
                async for piece in pieces:
                    yield (
                        piece
                        if isinstance(piece, str)
                        else self._priced(piece, call, streamed=True)
                    )

    async def _call(self) -> "_Call":
        # In a thread: the first import takes seconds (https://github.com/BerriAI/litellm/issues/2677).
        litellm = await asyncio.to_thread(_import)
        return _Call(litellm, self.router or litellm, self.model)

    def _chat(self, call: "_Call") -> openai_chat.Decider:
        client: Any = call
        return openai_chat.Decider(
            client,
            self.model,
            options=self.options,
            limits=self._limits,
            requests=self._requests,
            bound=self._bound,
        )

    @contextlib.contextmanager
    def _errors(self, call: "_Call") -> Iterator[None]:
        """Name LiteLLM's provider in an error, and the window in an overflow."""
        try:
            yield
        except ContextOverflow as error:
            # A provider behind LiteLLM may refuse without a number, which a compaction needs.
            limits = self.limits()
            assumed = limits.context_window if limits.known and error.kind == "tokens" else None
            raise attrs.evolve(error, window=error.window or assumed) from error.__cause__
        except RequestFailed as error:
            raise attrs.evolve(error, provider=call.provider or _NAME) from error.__cause__

    def _priced(
        self, decision: Decision, call: "_Call", *, streamed: bool = False
    ) -> PricedDecision:
        fields = {each.name: getattr(decision, each.name) for each in attrs.fields(Decision)}
        price = call.price(streamed=streamed)
        return PricedDecision(**{**fields, "provider": call.provider or _NAME, "cost_usd": price})


@attrs.define(eq=False)
class _Call:
    """One call, in the form of the OpenAI client that the wire's decider expects."""

    litellm: Any
    client: Any
    """What has `acompletion`: LiteLLM itself, or a router."""
    model: str
    body: Any = attrs.field(default=None, init=False)
    """The reply as JSON data, or the latest event of a stream that has a usage."""
    _hidden: Mapping[str, Any] = attrs.field(factory=dict, init=False)
    """What LiteLLM keeps next to a reply: provider, cost, addresses."""

    @property
    def chat(self) -> "_Call":
        """The place of `client.chat`."""
        return self

    @property
    def completions(self) -> "_Call":
        """The place of `client.chat.completions`."""
        return self

    @property
    def provider(self) -> str:
        """LiteLLM's name of the provider; empty if it cannot tell."""
        provider = self._hidden.get("custom_llm_provider")
        if not isinstance(provider, str) or not provider:
            with contextlib.suppress(Exception):  # for an unknown name, it raises its own errors
                provider = self.litellm.get_llm_provider(self.model)[1]
        return provider if isinstance(provider, str) else ""

    async def create(self, **arguments: Any) -> Any:
        """Return the reply as JSON data or, for a stream, a context manager with its events."""
        # LiteLLM changes messages and schemas in place for some providers; ours are those of the
        # history, and the tools' own.
        request = {**arguments, "messages": _copy(arguments["messages"])}
        if "tools" in arguments:
            request["tools"] = _copy(arguments["tools"])
        try:
            response = await self.client.acompletion(**request)
        except self.litellm.ContextWindowExceededError as error:
            # It is about the window by its class, whatever its text says.
            refusal = read_size_refusal(error) or SizeRefusal("tokens")
            raise refusal.as_error(self.model) from error
        if arguments.get("stream"):
            is_mocked = "mock_response" in arguments
            return contextlib.aclosing(self._events(response, is_mocked=is_mocked))
        self._hidden = _hidden(response)
        self.body = _dumped(response)
        for choice in items_at(self.body, "choices"):
            # Left out as a null by `_dumped`; a reply of the wire always has it.
            message = at(choice, "message")
            if isinstance(message, dict):
                message.setdefault("content", None)
        return self.body

    async def _events(self, stream: Any, *, is_mocked: bool) -> AsyncIterator[Any]:
        """Yield the events of a stream as JSON data, and keep what tells its price.

        Raises:
            IncompleteReply: the connection was lost in the middle of the reply.
        """
        pieces: list[str] = []
        async with contextlib.AsyncExitStack() as closing:
            if hasattr(stream, "aclose"):  # a custom router may lack it
                closing.push_async_callback(stream.aclose)
            try:
                async for event in stream:
                    self._hidden = {**self._hidden, **_hidden(event)}
                    chunk = _dumped(event)
                    is_last = bool(at(chunk, "choices", 0, "finish_reason"))
                    if is_last and not is_mocked and self._is_cut_off(stream):
                        return
                    pieces.append(text_at(chunk, "choices", 0, "delta", "content"))
                    self.body = {**(self.body or {}), **chunk}
                    yield chunk
            except Exception as error:
                cause = getattr(error, "original_exception", None) or error
                if pieces and isinstance(cause, self.litellm.APIConnectionError):
                    raise IncompleteReply("".join(pieces)) from error
                raise

    def _is_cut_off(self, stream: Any) -> bool:
        """Return whether LiteLLM made up the stop word of a stream: "stop", if none arrived.

        It does so for a connection that was closed too early, and for a reply of `mock_response`.
        A Router's streams do not tell.
        """
        if type(stream) is not self.litellm.CustomStreamWrapper:
            return False
        return stream.received_finish_reason is None

    def price(self, *, streamed: bool) -> float | None:
        """Return the price of the reply in USD; None if LiteLLM has none for the model.

        LiteLLM states the price of a whole reply, but not of a stream, or wrongly as 0.
        """
        cost = None if streamed else self._hidden.get("response_cost")
        if cost is None and at(self.body, "usage"):
            model = self._hidden.get("litellm_model_name") or self.model
            with contextlib.suppress(Exception):  # it raises a plain Exception for an unknown model
                cost = self.litellm.completion_cost(completion_response=self.body, model=model)
        return cost if isinstance(cost, float) else None


def _ask_to_drop(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return a call that asks the provider to drop reasoning; None if the caller chose.

    LiteLLM hands on `thinking`. Older versions do not add the beta by themselves.
    """
    # LiteLLM makes `thinking` of it, which must not be there twice.
    if "reasoning_effort" in arguments:
        return None
    asking = with_drop(arguments)
    return None if asking is None else with_beta_header(asking, {})


def _copy(value: Any) -> Any:
    """Return JSON data that shares no container with the original."""
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return list(map(_copy, value)) if isinstance(value, list) else value


def _hidden(response: Any) -> Mapping[str, Any]:
    parameters = getattr(response, "_hidden_params", None)
    return (
        {k: v for k, v in parameters.items() if v is not None}
        if isinstance(parameters, dict)
        else {}
    )


def _dumped(response: Any) -> Any:
    """Return a reply or an event as JSON data, without what LiteLLM fills in.

    The nulls and empty fields would be sent back with the message, and not every server accepts
    them. A refusal, for which LiteLLM has no field, goes back to where OpenAI has it.
    """
    body = response.model_dump(mode="json", exclude_none=True, warnings=False)
    for choice in items_at(body, "choices"):
        for message in filter(None, (at(choice, "message"), at(choice, "delta"))):
            for each in (message, *items_at(message, "tool_calls")):
                own = each.pop(_OWN_FIELDS, None) or {}
                fields = {key: value for key, value in own.items() if value is not None}
                if each is message and "refusal" in fields:
                    each["refusal"] = fields.pop("refusal")
                each.update({_OWN_FIELDS: fields} if fields else {})
    return body


def _import() -> Any:
    """Return the module, imported without network access and without warnings."""
    if _NAME in sys.modules:
        litellm = _imports.load(_NAME)
    else:
        # Otherwise the import fetches them from the network, and waits for it:
        # https://github.com/BerriAI/litellm/issues/22159 (open, 2026-11).
        value = os.environ.get(_LOCAL_PRICES)
        os.environ.setdefault(_LOCAL_PRICES, "True")
        try:
            litellm = _imports.load(_NAME)
        finally:
            if value is None:
                del os.environ[_LOCAL_PRICES]
    # On an error it would print advice on stdout, where a command has its result.
    litellm.suppress_debug_info = True
    # LiteLLM imports parts of itself with the first request that needs them, whenever that is. Not
    # added twice: with each change of the filters, Python forgets which warnings it has shown.
    if not any(getattr(text, "pattern", "") == _OF_CLASSES for _, text, *_ in warnings.filters):
        warnings.filterwarnings("ignore", _OF_CLASSES, UserWarning, module="pydantic")
    return litellm


def _limits_of_litellm(model: str) -> ModelLimits | None:
    """Return a model's limits from LiteLLM's table; None if they are not in it."""
    table: Mapping[str, Mapping[str, Any]] = _import().model_cost
    # It has most models without their provider: gpt-4o, and not openai/gpt-4o (1.83.0).
    rest = model.partition("/")[2]
    entry = table.get(model) or table.get(rest) or {}
    window, most = entry.get("max_input_tokens"), entry.get("max_output_tokens")
    if not isinstance(window, int) or window <= 0:
        return None
    return ModelLimits(window, most if isinstance(most, int) and most > 0 else 0)
