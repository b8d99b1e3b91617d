"""What a strategy promises, and several strategies as one."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import attrs

from agentic._validate import must_be_strategy
from agentic.messages import Message
from agentic.tokens import Counter, describe_largest

__all__ = ["Chain", "ContextStrategy", "Fit", "SyncSummarizer"]


@runtime_checkable
class ContextStrategy(Protocol):
    """Makes the view from the history; the history is untouched.

    Drops whole rounds only (a summary message may say what they held), gives the same list object
    when nothing changed, and applied twice is applied once. Inherit, or just have the method.
    """

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view. The default changes nothing."""
        return messages


@attrs.frozen
class Fit:
    """A view that was cut to a budget."""

    messages: list[Message]
    tokens: int
    """The size of `messages`."""
    fits: bool
    """False if even the minimum is larger than the budget: send it and it may be refused."""

    @property
    def too_large(self) -> str:
        """What most of the view is, in words, if it does not fit; else nothing.

        >>> Fit([Message("system", "Be brief. " * 100)], 254, fits=False).too_large
        'the system prompt'
        """
        return "" if self.fits else describe_largest(self.messages)


class SyncSummarizer(Protocol):
    """Writes down, at once and without a model, what leaves the view: `compactors.Digest`."""

    @property
    def max_tokens(self) -> int:
        """The most that it writes."""
        ...

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        """Return what these messages held, within `max_tokens` as the counter counts them.

        The first of them may be what it wrote before, as a summary, to be folded into the new one.
        What it needs then beside the text, it returns as the notes of a `messages.SummaryText`, and
        finds in `message.summary.notes`.
        """
        ...


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
