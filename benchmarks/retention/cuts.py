"""The ways to cut a past to a budget: newest only, the strategies, and a digest with the newest."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from agentic.context.compactors import Digest
from agentic.context.strategies import ClearToolOutputs, Importance, TrimRounds
from agentic.messages import Message
from benchmarks.retention.index import line_index
from benchmarks.retention.shown import CharSize, newest, size_of, text_of

__all__ = ["CUTS", "SPLITS", "Cut", "newest_only", "with_digest"]

Cut: TypeAlias = Callable[[list[Message], int], str]
"""From a past and a budget in tokens to the text that is kept."""

SPLITS = (50, 75, 90)
"""How much of the budget the digest gets, in percent; the crude index the least and the most."""


def newest_only(past: list[Message], budget: int) -> str:
    """Keep the newest messages: what trimming libraries do."""
    return newest(past, budget)[0]


def cleared(past: list[Message], budget: int) -> str:
    """Clear the old tool outputs, and keep the newest of what is left."""
    strategy = ClearToolOutputs(budget, CharSize(), keep_rounds=3, per_message_overhead=0)
    return newest_only(strategy.compact(past), budget)


def trimmed(past: list[Message], budget: int) -> str:
    """Keep the task and as many tool rounds as fit."""
    fits, too_many = 1, sum(bool(message.tool_calls) for message in past) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if size_of(text_of(TrimRounds(middle).compact(past))) <= budget:
            fits = middle
        else:
            too_many = middle
    return newest_only(TrimRounds(fits).compact(past), budget)


def weighed(past: list[Message], budget: int) -> str:
    """Leave out what weighs little, and keep the newest of the rest."""
    return newest_only(Importance().compact(past), budget)


def with_digest(past: list[Message], budget: int, percent: int) -> str:
    """Keep the newest messages in a part of the budget, a digest of those before in the rest.

    What the digest does not need goes to the newest messages.
    """
    kept, before = newest(past, budget * (100 - percent) // 100)
    room = budget - int(size_of(kept)) - 1
    digest = (
        asyncio.run(Digest(max_tokens=room, counter=CharSize()).compact(before)) if before else ""
    )
    kept, _ = newest(past, budget - size_of(digest) - 1)
    return "\n".join(part for part in (digest, kept) if part)


def _split(percent: int) -> Cut:
    return lambda past, budget: with_digest(past, budget, percent)


def _indexed(percent: int) -> Cut:
    return lambda past, budget: line_index(past, budget, percent)


CUTS: dict[str, Cut] = {
    "newest only": newest_only,
    "tool outputs cleared": cleared,
    "TrimRounds": trimmed,
    "Importance, newest": weighed,
    **{f"crude index {percent} %, newest": _indexed(percent) for percent in SPLITS[::2]},
    **{f"Digest {percent} %, newest": _split(percent) for percent in SPLITS},
}
