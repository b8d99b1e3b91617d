"""The strategies of a session, as one chain."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from agentic.context import compactors
from agentic.context.strategies import (
    Chain,
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
    TruncateToolOutputs,
)
from agentic.errors import ConfigError
from agentic.messages import Message

__all__ = ["Strategy", "as_chain", "name_recall"]

Strategy: TypeAlias = ContextStrategy | Callable[[list[Message]], list[Message]]


def as_chain(given: Iterable[Strategy] | Chain) -> Chain:
    """Give strategies as a chain.

    >>> as_chain([]).strategies
    ()

    Raises:
        ConfigError: no strategies, or something that is none among them.
    """
    if isinstance(given, Chain):
        return given
    if not hasattr(given, "__iter__"):
        raise ConfigError("strategies", given, "a list of strategies", "put it into a list")
    return Chain(given)


def name_recall(strategy: Any, name: str) -> Any:
    """Let notices of cleared and truncated outputs, and digests, name a recall tool; in chains too.

    >>> name_recall(ClearToolOutputs(8_000), "recall").recall
    'recall'
    """
    if isinstance(strategy, Chain):
        return Chain([name_recall(each, name) for each in strategy.strategies])
    if isinstance(strategy, ClearToolOutputs | TruncateToolOutputs) and strategy.recall is None:
        return attrs.evolve(strategy, recall=name)
    if isinstance(strategy, FitContextWindow):
        digest = compactors.name_recall(strategy.digest, name)
        # Unchanged, it stays the same object: a new one would know nothing of the conversation.
        return strategy if digest is strategy.digest else attrs.evolve(strategy, digest=digest)
    return strategy
