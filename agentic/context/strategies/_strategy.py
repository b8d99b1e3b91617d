"""The contract of a strategy, and a chain of strategies."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from agentic._base._validate import must_be_strategy
from agentic.context._for_conversation import for_conversation
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens import Counter
from agentic.tokens._count import describe_largest


@runtime_checkable
class ContextStrategy(Protocol):
    """Makes the view from the history, without changing the history.

    A strategy drops whole rounds only (a summary message may describe them), returns the same list
    object if nothing changed, and is idempotent. A View applies it when an epoch begins, and not at
    every request. Inherit from this class, or just implement the method.
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
    """False if even the minimum is larger than the budget; the provider may refuse it."""

    @property
    def too_large(self) -> str:
        """A phrase naming the largest part of the view if it does not fit; otherwise empty.

        >>> Fit([Message("system", "Be brief. " * 100)], 254, fits=False).too_large
        'the system prompt'
        """
        return "" if self.fits else describe_largest(self.messages)


class SyncSummarizer(Protocol):
    """Summarizes the messages that leave the view, without waiting: `compactors.Digest`."""

    @property
    def max_tokens(self) -> int:
        """The largest size of the text that it returns."""
        ...

    def write(self, messages: list[Message], /, *, counter: Counter | None = None) -> str:
        """Return a summary of these messages of at most `max_tokens`, measured by the counter.

        The first message may be a summary that it wrote before, to be merged into the new one. Data
        that it needs for that in addition to the text, it can return as the notes of a
        `messages.SummaryText`; they are then found in `message.summary.notes`.
        """
        ...


_Strategy: TypeAlias = ContextStrategy | Callable[[list[Message]], list[Message]]


def _strategies(value: object) -> tuple[_Strategy, ...]:
    if not isinstance(value, Iterable):
        raise ConfigError("strategies", value, "a list of strategies", "pass a list")
    strategies = tuple(value)
    for strategy in strategies:
        must_be_strategy("strategies", strategy)
    return strategies


@attrs.frozen(eq=False)
class Chain:
    """Apply strategies one after the other, each to the view of the one before.

    Put strategies that shorten messages before those that leave messages out:
    `Chain([TruncateToolOutputs(20_000), FitContextWindow(100_000)])`.

    >>> Chain([]).compact([Message("user", "Hello.")])[0].content
    'Hello.'
    """

    strategies: tuple[_Strategy, ...] = attrs.field(converter=_strategies)

    def for_conversation(self, *, recall: str | None = None) -> "Chain":
        """Return a chain for one conversation, in which each strategy has its own cache."""
        return Chain([for_conversation(each, recall) for each in self.strategies])

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if no strategy changed it."""
        view = messages
        for strategy in self.strategies:
            view = strategy.compact(view) if hasattr(strategy, "compact") else strategy(view)
        return view


def as_chain(strategies: Iterable[_Strategy] | Chain) -> Chain:
    """Return strategies as a chain.

    >>> as_chain([]).strategies
    ()

    Raises:
        ConfigError: something in `strategies` is not a strategy.
    """
    return strategies if isinstance(strategies, Chain) else Chain(strategies)
