"""What the deciders and the streams of all adapters share, whatever the provider's API."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import attrs

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._failure import known_window, provider_errors
from agentic.providers.kit import NameRule
from agentic.providers.kit._json import GrowingText
from agentic.providers.overflow import read_silent_overflow

__all__ = ["ModelDecider", "ModelStream"]


class ModelDecider:
    """The name, the limits and the errors of one model, and the order in which it is called.

    An adapter adds `_whole` and `_open`, which call its client, and names what reads the replies.
    """

    # Not an attrs class: some deciders are frozen, and others learn what a model refuses.
    __slots__ = ()

    _provider: ClassVar[str]
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
        streamed = self._stream_type(self.model)
        async with self._errors(lambda: streamed.text), await self._open(request) as events:
            async for event in events:
                if piece := streamed.feed(event):
                    yield piece
        yield self._decision(streamed.response(), request)

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

    def _errors(self, received: Callable[[], str] = str) -> AbstractAsyncContextManager[None]:
        """Translate the exceptions of a block; `received` returns what a stream has delivered."""
        window, list_models = known_window(self.limits()), getattr(self, "list_models", None)
        return provider_errors(self._provider, self.model, window, received, list_models)

    def _without(self, part: str, body: Any) -> RequestFailed:
        """Return the error for an answer that is no reply, such as the login page of a proxy."""
        return RequestFailed(self._provider, None, f"an answer without {part}: {body!r:.500}")

    def _raise_if_cut(self, decision: Decision, estimate: Callable[[], int]) -> None:
        """Raise if the usage shows that the server cut the prompt, which some do silently.

        `estimate` returns the size of the request in tokens. It is only asked if the window is
        known, since counting a long conversation takes time.
        """
        window = known_window(self.limits())
        if window is None or decision.usage is None:
            return
        overflow = read_silent_overflow(
            decision.usage, decision.stop_reason, window, estimated_input=estimate()
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
        """Return the reply's text so far."""
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
