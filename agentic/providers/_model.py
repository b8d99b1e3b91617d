"""What the adapters share about one model: its name and limits, and the errors of its provider.

The exceptions of an SDK and the errors in a provider's replies become errors that a decider's
caller can handle.
"""

import difflib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ClassVar, TypeAlias
from urllib.parse import urlsplit

import attrs

from agentic._base._addresses import hide_credentials, show_address
from agentic._base._lazy import asyncio
from agentic.errors import (
    BoundReasoning,
    ContextOverflow,
    IncompleteReply,
    ProviderError,
    RequestFailed,
)
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers.binding import is_bound_reasoning
from agentic.providers.kit import NameRule, at, plain
from agentic.providers.kit._streamed_texts import GrowingText
from agentic.providers.overflow import read_size_refusal
from agentic.providers.overflow._detection import read_silent_overflow
from agentic.providers.overflow._error_text import status_of

_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "urllib3", "requests"}
"""Packages whose exceptions concern the connection to the provider."""
# OpenAI's and Anthropic's SDKs hand these on, if a body was cut or is a gateway's error page.
_UNREADABLE = (json.JSONDecodeError, UnicodeDecodeError)
_BAD_REQUEST, _NOT_FOUND = 400, 404
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|model\b.{0,200}\bnot exist|not a valid model|invalid model", re.IGNORECASE
)
"""How servers say with status 400 that they do not have the model (2026-11): OpenAI's Responses API
(the cassettes of https://github.com/open-telemetry/opentelemetry-python-contrib), DeepSeek
(https://github.com/langbot-app/LangBot/issues/1643), OpenRouter
(https://github.com/OpenRouterTeam/openrouter-examples/issues/74) and Mistral
(https://github.com/tmc/langchaingo/issues/1233)."""
_ListModels: TypeAlias = Callable[[], Awaitable[Sequence[str]]]
_LISTED = 20
"""The most models that an error names."""
_LISTING_SECONDS = 5.0
"""How long an error may be delayed by asking for the models that exist."""


class ModelDecider:
    """The name, the limits and the errors of one model, and the order in which it is called.

    An adapter adds `_whole` and `_open`, which call its client, and names what reads the replies.
    """

    # Not an attrs class: some deciders are frozen, and others learn what a model refuses.
    __slots__ = ()

    survives_stale_reasoning: ClassVar[bool] = True
    """Whether a request with reasoning whose preceding request has changed is answered all the
    same: the server drops the reasoning, or the request is sent once more without it."""
    _provider: ClassVar[str]
    _sdks: ClassVar[frozenset[str]] = frozenset()
    """Packages of the clients that may be passed in: their exceptions concern the provider.
    Exceptions from elsewhere are mistakes in the call and are not translated."""
    _tool_names: ClassVar[NameRule]
    _decode: ClassVar["staticmethod[[Any], Decision]"]
    _stream_type: ClassVar[type["ModelStream"]]
    model: str
    _limits: ModelLimits | None

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return f"{self._provider}:{self.model}"

    def limits(self) -> ModelLimits:
        """Return the model's limits in tokens: those passed in, else those in the catalog."""
        return self._limits or lookup(self.model)

    async def decide(self, request: Input, /) -> Decision:
        """Request the whole reply as one response.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        async with self._errors():
            response = await self._whole(request)
        return self._decision(response, request)

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield the reply's text as it arrives, then the complete Decision.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the stream ended in the middle of the reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        response = self._stream_type(self.model)
        async with self._errors(lambda: response.text), await self._open(request) as events:
            async for event in events:
                if piece := response.feed(event):
                    yield piece
        yield self._decision(response.response(), request)

    async def _whole(self, request: Input) -> Any:
        """Return the response to a request; raise if it is none."""
        raise NotImplementedError

    async def _open(self, request: Input) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Return the events of a streamed response, whose connection is closed on exit."""
        raise NotImplementedError

    def _decision(self, response: Any, request: Input) -> Decision:
        """Decode a reply, and restore the loop's tool names in it."""
        decision = self._tool_names.restore(self._decode(response), request.tools)
        return attrs.evolve(decision, request_model=self.model)

    @property
    def _window(self) -> int | None:
        """The model's context window in tokens; None if it is only an assumption."""
        limits = self.limits()
        return limits.context_window if limits.known else None

    @asynccontextmanager
    async def _errors(self, text_so_far: Callable[[], str] = str) -> AsyncIterator[None]:
        """Translate exceptions that an SDK raises inside the block into a `ProviderError`.

        `text_so_far` returns the text that a stream has delivered so far.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            IncompleteReply: the connection was lost in the middle of a reply.
            RequestFailed: the provider refused the request for another reason, or did not answer.
        """
        try:
            yield
        # Not BaseException: a cancellation is not a failure of the provider.
        except Exception as error:
            failure: Exception = error
            # Reported inside a stream or a body, where the window is not known.
            if isinstance(error, ContextOverflow) and error.kind == "tokens":
                error.window = error.window or _exceeded(self._window, error.sent)
            if _speaks_of_the_provider(error, self._sdks):
                failure = self._translated(error, text_so_far())
            failure = await self._with_models(failure)
            # `raise failure from error` would make the exception its own cause.
            if failure is error:
                raise
            raise failure from error

    def _translated(self, error: Exception, received: str) -> ProviderError:
        status = status_of(error)
        # An answer with a status is a refusal, whatever came before it.
        if received and status is None and read_size_refusal(error) is None:
            return IncompleteReply(received)
        problem = hide_credentials(_text_of(error))
        if isinstance(error, _UNREADABLE):
            problem = f"the answer cannot be read: {problem}"
        if status is None and (address := _address(error)):
            problem = f"{problem.rstrip('.')} at {address}"
        provider, window = self._provider, self._window
        return reported_error(error, provider, self.model, status, problem, window=window)

    async def _with_models(self, error: Exception) -> Exception:
        """Return the error, with the models that exist if it says that this one does not."""
        # Not every adapter has a list of models.
        list_models: _ListModels | None = getattr(self, "list_models", None)
        if list_models is None or not isinstance(error, RequestFailed):
            return error
        # Other refusals with 400 are about a request to a model that may exist under an alias,
        # which lists leave out.
        is_unknown = error.status == _BAD_REQUEST and _UNKNOWN_MODEL.search(error.problem)
        if not is_unknown and error.status != _NOT_FOUND:
            return error
        try:
            names = await asyncio.wait_for(list_models(), _LISTING_SECONDS)
        except Exception:  # noqa: BLE001  a server need not list its models
            return error
        # A model that is listed exists, so the 404 is about something else.
        if not names or self.model in names:
            return error
        near = difflib.get_close_matches(self.model, names, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        names_shown = ", ".join(sorted(names)[:_LISTED])
        return attrs.evolve(error, problem=f"{error.problem}{hint}; there are {names_shown}{more}")

    def _without(self, part: str, body: Any) -> RequestFailed:
        """Return the error for an answer that is no reply, such as the login page of a proxy."""
        return RequestFailed(self._provider, None, f"an answer without {part}: {body!r:.500}")

    def _raise_if_cut(self, decision: Decision, estimate: Callable[[], int]) -> None:
        """Raise if the usage shows that the server cut the prompt, which some do silently.

        `estimate` returns the size of the request in tokens. It is only asked if the window is
        known, since counting a long conversation takes time.
        """
        window = self._window
        usage = decision.request_usage
        if window is None or usage is None:
            return
        overflow = read_silent_overflow(
            usage, decision.stop_reason, window, estimated_input=estimate()
        )
        if overflow is not None:
            raise ContextOverflow(self.model, overflow.sent, overflow.window)


@attrs.define
class ModelStream:
    """Assembles one streamed reply from its events, which an adapter reads with `_process`."""

    model: str = ""
    """The model to name in an error; if empty, the one that the events name, if any."""
    _said: GrowingText = attrs.field(factory=GrowingText, init=False)

    @property
    def text(self) -> str:
        """Return the reply's text so far.

        It may be read after each event: that copies what is new, and also what is old only if the
        former reading is still held. To show a reply as it comes, use what `feed` returns.
        """
        return str(self._said)

    def feed(self, event: Any) -> str:
        """Process the next event; return the text it adds to the reply, empty for most events.

        Raises:
            ContextOverflow: the event says that the request does not fit the model's window.
            RequestFailed: the event reports any other error.
        """
        # In this order: an event may begin the reply anew, with a new `_said`.
        piece = self._process(event)
        return self._said.add(piece)

    def response(self) -> dict[str, Any]:
        """Return the response in the shape of a non-streamed one.

        Raises:
            IncompleteReply: the stream ended before the reply was complete.
        """
        response = self._built()
        if response is None:
            raise IncompleteReply(self.text)
        return response

    def _process(self, event: Any) -> str:
        """Process an event; return the text it adds."""
        raise NotImplementedError

    def _built(self) -> dict[str, Any] | None:
        """Return the response; None if it is not complete."""
        raise NotImplementedError


def reported_error(
    text: Any,
    provider: str,
    model: str,
    status: int | None,
    problem: str,
    *,
    window: int | None = None,
) -> ProviderError:
    """Return the error that a provider reports, in an exception or in a response with status 200.

    An overflow and bound reasoning are recognized from `text`; `status` and `problem` describe any
    error but an overflow.

    >>> print(reported_error({"error": "no"}, "acme", "m-1", 502, "upstream is gone"))
    acme did not serve the request (HTTP 502): upstream is gone
    """
    refusal = read_size_refusal(text)
    if refusal is not None:
        assumed = _exceeded(window, refusal.sent) if refusal.kind == "tokens" else None
        return attrs.evolve(refusal, limit=refusal.limit or assumed).as_error(model)
    failure = BoundReasoning if is_bound_reasoning(text) else RequestFailed
    return failure(provider, status, problem)


def counted_tokens(answer: Any, field: str, provider: str) -> int:
    """Return the count in a response to a token-counting request.

    >>> counted_tokens({"input_tokens": 7}, "input_tokens", "acme")
    7

    Raises:
        RequestFailed: there is no count in it, as when the server does not support counting.
    """
    count = at(plain(answer), field)
    # A missing count is not 0: a context that counts as empty would never be compacted.
    if isinstance(count, bool) or not isinstance(count, int):
        raise RequestFailed(provider, None, "the reply has no token count")
    return count


def _exceeded(window: int | None, count: int | None) -> int | None:
    """Return the model's window if the request exceeded it, so that it is the one that counts."""
    # A server may be started with less (vLLM's max-model-len) and name only what was sent.
    return None if window is not None and count is not None and count <= window else window


def _speaks_of_the_provider(error: Exception, sdks: frozenset[str]) -> bool:
    # Translated already, as the errors that a stream reports in its events are.
    if isinstance(error, ProviderError):
        return False
    origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if origins & (sdks | _TRANSPORTS) or isinstance(error, _UNREADABLE):
        return True
    # An OSError with a file name is a local problem, not one of the connection to the provider.
    return isinstance(error, OSError) and error.filename is None


def _text_of(error: Exception) -> str:
    # The text of Cohere's errors begins with all headers of the response.
    body = vars(error).get("body") if "headers" in vars(error) else None
    if body:
        return str(at(body, "message") or body)
    # The text of httpx's timeouts is empty.
    return str(error) or repr(error)


def _address(error: BaseException | None) -> str:
    """Return the address that was asked, without credentials; "" if the exception has none."""
    ids: set[int] = set()
    # Exceptions may be each other's causes.
    while error is not None and id(error) not in ids:
        ids.add(id(error))
        # httpx raises if its property is read before it is set.
        request = vars(error).get("_request") or vars(error).get("request")
        address = str(getattr(request, "url", ""))
        if urlsplit(address).hostname:
            return show_address(address)
        error = error.__cause__ or error.__context__
    return ""
