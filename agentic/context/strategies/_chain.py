"""Several strategies as one."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from agentic._validate import must_be_strategy
from agentic.context.strategies._strategy import ContextStrategy
from agentic.messages import Message

__all__ = ["Chain"]

_Strategy: TypeAlias = ContextStrategy | Callable[[list[Message]], list[Message]]


def _strategies(given: Iterable[Any]) -> tuple[_Strategy, ...]:
    strategies = tuple(given)
    for strategy in strategies:
        must_be_strategy("strategies", strategy)
    return strategies


@attrs.frozen(eq=False)
class Chain:
    """Apply strategies one after the other, each to the view of the one before.

    Put what shortens before what leaves out: `Chain([TruncateToolOutputs(20_000),
    FitContextWindow(100_000)])`.

    >>> Chain([]).compact([Message("user", "Hello.")])[0].content
    'Hello.'
    """

    strategies: tuple[_Strategy, ...] = attrs.field(converter=_strategies)

    def for_conversation(self, *, recall: str | None = None) -> "Chain":
        """Return a chain for one conversation, each strategy with a memory of its own."""
        adapted: list[_Strategy] = []
        for strategy in self.strategies:
            adapt = getattr(strategy, "for_conversation", None)
            adapted.append(strategy if adapt is None else adapt(recall=recall))
        return Chain(adapted)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if no strategy changed it."""
        view = messages
        for strategy in self.strategies:
            view = strategy.compact(view) if hasattr(strategy, "compact") else strategy(view)
        return view
