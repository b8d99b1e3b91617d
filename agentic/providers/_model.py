"""What the deciders and the streams of all adapters share, whatever the provider's API."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import attrs

from agentic.errors import ContextOverflow, RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision
from agentic.providers._failure import known_window, provider_errors
from agentic.providers.kit._json import GrowingText
from agentic.providers.overflow import read_silent_overflow

__all__ = ["ModelDecider", "ModelStream"]


class ModelDecider:
    """The name, the limits and the errors of one model."""

    # Not an attrs class: some deciders are frozen, and others learn what a model refuses.
    __slots__ = ()

    _provider: ClassVar[str]
    model: str
    _limits: ModelLimits | None

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        return f"{self._provider}:{self.model}"

    def limits(self) -> ModelLimits:
        """Return the model's limits in tokens: those passed in, else those in the catalog."""
        return self._limits or lookup(self.model)

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
    """The text of one streamed reply, and the name of the model that was asked for it."""

    model: str = ""
    """The model to name in an error; if empty, the one that the events name, if any."""
    _said: GrowingText = attrs.field(factory=GrowingText, init=False)

    @property
    def text(self) -> str:
        """Return the reply's text so far."""
        return str(self._said)
