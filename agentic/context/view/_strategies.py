"""The strategies of one conversation, each with its own memory and a name for reports."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from agentic.context.strategies import Chain, ContextStrategy
from agentic.errors import ConfigError
from agentic.messages import Message, close_open_rounds

__all__ = ["Part", "Strategy", "as_chain", "for_conversation", "parts_of"]

Strategy: TypeAlias = ContextStrategy | Callable[[list[Message]], list[Message]]


@attrs.frozen(eq=False)
class Part:
    """One strategy."""

    name: str
    make_view: Callable[[list[Message]], list[Message]]


def as_chain(given: Iterable[Strategy] | Chain) -> Chain:
    """Return strategies as a chain.

    >>> as_chain([]).strategies
    ()

    Raises:
        ConfigError: something in `given` is not a strategy.
    """
    if isinstance(given, Chain):
        return given
    if not hasattr(given, "__iter__"):
        raise ConfigError("strategies", given, "a list of strategies", "pass a list")
    return Chain(given)


def for_conversation(part: Any, recall: str | None) -> Any:
    """Return a part adapted to one conversation.

    A strategy or compactor may have `for_conversation(*, recall)`. It returns one that knows
    nothing of other conversations, and that mentions the recall tool, if there is one, in the text
    it writes. Other parts are used as they are.
    """
    adapt = getattr(part, "for_conversation", None)
    return part if adapt is None else adapt(recall=recall)


def parts_of(chain: Chain) -> tuple[Part, ...]:
    """Return the strategies of a chain in order, including those of nested chains."""
    parts: list[Part] = []
    for strategy in chain.strategies:
        if isinstance(strategy, Chain):
            parts += parts_of(strategy)
        elif isinstance(strategy, ContextStrategy):
            parts.append(Part(type(strategy).__name__, strategy.compact))
        else:
            name = getattr(strategy, "__name__", type(strategy).__name__)
            parts.append(Part(name, _closed(strategy)))
    return tuple(parts)


def _closed(
    strategy: Callable[[list[Message]], list[Message]],
) -> Callable[[list[Message]], list[Message]]:
    """Return a plain callable as a strategy whose view is repaired: it may know nothing of rounds.

    A `ContextStrategy` guarantees a valid view itself and is spared the cost.
    """

    def make_view(messages: list[Message]) -> list[Message]:
        view: Any = strategy(messages.copy())  # it may modify its argument
        if not isinstance(view, list) or not all(isinstance(each, Message) for each in view):
            raise ConfigError(
                "the strategy's view", view, "a list of messages", "return what is to be sent"
            )
        same = len(view) == len(messages) and all(
            new is old for new, old in zip(view, messages, strict=True)
        )
        return messages if same else close_open_rounds(view)

    return make_view
