"""The strategies of a View, one by one: what each makes of a request, and whether it must."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view._explain import Stage
from agentic.context.view._repair import are_same
from agentic.errors import ConfigError
from agentic.messages import Message, close_open_rounds

_MakeView: TypeAlias = Callable[[list[Message]], list[Message]]


@attrs.frozen
class ChainedStrategy:
    """One strategy of a chain."""

    name: str
    strategy: Any
    make_view: _MakeView

    @property
    def shortens_new(self) -> bool:
        """Whether it shortens messages one by one, before they are first sent."""
        return bool(getattr(self.strategy, "shortens_new", False))

    def is_exceeded(self, view: list[Message], *, measured: bool) -> bool:
        """Return whether this request is over the strategy's budget, and has to be within it.

        Where nothing else is `measured`, the budget of any strategy takes the place of the window.
        """
        bounds = getattr(self.strategy, "bounds_request", False)
        bounds = bounds or (not measured and hasattr(self.strategy, "fit"))
        # A sum says so without a view being made, which nobody would look at.
        exceeds = getattr(self.strategy, "exceeds", None)
        if not bounds or (exceeds is not None and not exceeds(view)):
            return False
        return self.make_view(view) is not view


def chain_parts(chain: Chain) -> list[ChainedStrategy]:
    """Return the strategies of a chain in order, and those of nested chains."""
    parts: list[ChainedStrategy] = []
    for strategy in chain.strategies:
        if isinstance(strategy, Chain):
            # One by one, so that `explain` names the strategy and not the chain.
            parts += chain_parts(strategy)
        elif isinstance(strategy, ContextStrategy):
            parts.append(ChainedStrategy(type(strategy).__name__, strategy, strategy.compact))
        else:
            name = getattr(strategy, "__name__", type(strategy).__name__)
            parts.append(ChainedStrategy(name, strategy, _closed(strategy)))
    return parts


def apply(
    parts: Sequence[ChainedStrategy], view: list[Message]
) -> tuple[list[Message], list[Stage]]:
    """Return what the strategies make of a request, one after another, and their steps."""
    stages: list[Stage] = []
    for part in parts:
        change = part.make_view(view)
        stages.append(Stage(part.name, "as configured", view, change))
        view = change
    return view, stages


def _closed(strategy: _MakeView) -> _MakeView:
    """Return a plain callable as a strategy whose view is repaired: it may know nothing of rounds.

    A `ContextStrategy` guarantees a valid view itself and is spared the cost.
    """

    def make_view(messages: list[Message]) -> list[Message]:
        view: Any = strategy(messages.copy())  # it may modify its argument
        if not isinstance(view, list) or not all(isinstance(each, Message) for each in view):
            raise ConfigError(
                "the strategy's view", view, "a list of messages", "return the messages to send"
            )
        # A callable that leaves everything often returns a new list: later stages compare
        # identities.
        return messages if are_same(view, messages) else close_open_rounds(view)

    return make_view


def check_request(history: list[Message], view: list[Message]) -> None:
    """Raise ConfigError if a view has lost the user's request."""
    in_view, in_history = (any(each.role == "user" for each in some) for some in (view, history))
    if in_history and not in_view:
        raise ConfigError(
            "the strategy's view",
            f"{len(view)} messages",
            "a view that contains the current request",
            "keep the latest user message",
        )
