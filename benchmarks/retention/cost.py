"""What a session costs under a strategy, with a prompt cache as `agentic replay` has it."""

import statistics
from collections.abc import Iterator, Sequence

import attrs

from agentic.app.replay._records import PromptCache, cost_of
from agentic.context.compactors import Digest
from agentic.context.strategies import (
    Chain,
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
)
from agentic.messages import Message
from benchmarks.retention.evidence import points_of
from benchmarks.retention.sessions import Session
from benchmarks.retention.shown import CharSize, size_of, text_of

__all__ = ["COST_BUDGETS", "SLIDING", "Bill", "replay", "replay_marks"]

COST_BUDGETS = (8_000, 20_000, 50_000)
SLIDING = "a window that slides every turn"
LOW, DIGEST = 0.35, 0.12
"""A lower mark than the default, and what a digest of what is left out gets of the budget."""
TIERS_LOW, TIERS_DIGEST, TIERS_AT_ONCE = 0.3, 0.1, 2
"""The same of both tiers, where outputs are cleared before the window cuts; and how many times the
budget a clearing frees at least."""
WINDOW_MARKS = (0.75, 0.6, 0.5, 0.4, 0.3)
CLEARING_MARKS = (0.85, 0.75, 0.65, 0.5)
DIGEST_MARKS = ((0.5, 0.15), (0.4, 0.15), (0.35, 0.12), (0.3, 0.1))
"""Marks, the last ones with what a digest gets of the budget."""


@attrs.frozen
class Bill:
    """One session under one strategy at one budget. Sizes in tokens."""

    way: str
    budget: int
    session: str
    turns: int
    cost: float
    """In tokens at the full price."""
    cost_when_full: float
    """The same of the turns at which the whole history was larger than the budget."""
    reused: float
    """The share of all that was sent that was read from the cache."""
    breaks: int
    """How often a request did not begin with the whole one before it."""
    evidence: float | None
    """The mean over the points of the session; None if it has none at this budget."""


def replay(session: Session, budget: int) -> Iterator[Bill]:
    """Send a session turn by turn under each strategy, if it ever outgrows the budget."""
    return _bills(session, budget, _strategies(budget))


def replay_marks(session: Session, budget: int) -> Iterator[Bill]:
    """Do the same under each strategy at several marks, beside the window that slides."""
    return _bills(session, budget, _marked(budget))


def _bills(session: Session, budget: int, ways: dict[str, ContextStrategy]) -> Iterator[Bill]:
    if size_of(text_of(session.messages)) <= budget:
        return
    sizes = _Sizes()
    points = [point for point in points_of(session.messages) if point.size > budget]
    for way, strategy in ways.items():
        bill = _send(session.messages, strategy, budget, sizes)
        judged = [point.judge(text_of(strategy.compact(point.past))).evidence for point in points]
        evidence = statistics.fmean(judged) if judged else None
        yield attrs.evolve(bill, way=way, session=session.name, evidence=evidence)


def _marked(budget: int) -> dict[str, ContextStrategy]:
    def window(mark: float) -> FitContextWindow:
        return FitContextWindow(budget, CharSize(), per_message_overhead=0, low_watermark=mark)

    def clearing(mark: float, min_tokens: int | None = None) -> ClearToolOutputs:
        return ClearToolOutputs(
            budget,
            CharSize(),
            per_message_overhead=0,
            low_watermark=mark,
            min_tokens=min_tokens,
        )

    return {
        SLIDING: window(1.0),
        **{f"FitContextWindow {mark}": window(mark) for mark in WINDOW_MARKS},
        **{f"ClearToolOutputs {mark}": clearing(mark) for mark in CLEARING_MARKS},
        "ClearToolOutputs 0.5, window 0.75": Chain([clearing(0.5, budget // 4), window(0.75)]),
        **{
            f"FitContextWindow {mark}, digest {share}": _low_with_digest(budget, mark, share)
            for mark, share in DIGEST_MARKS
        },
    }


def _strategies(budget: int) -> dict[str, ContextStrategy]:
    counter = CharSize()
    return {
        SLIDING: FitContextWindow(budget, counter, per_message_overhead=0, low_watermark=1.0),
        "FitContextWindow": FitContextWindow(budget, counter, per_message_overhead=0),
        "FitContextWindow, low, digest": _low_with_digest(budget, LOW, DIGEST),
        "ClearToolOutputs": ClearToolOutputs(budget, counter, per_message_overhead=0),
        "ClearToolOutputs, FitContextWindow": Chain(
            [
                ClearToolOutputs(budget, counter, per_message_overhead=0),
                FitContextWindow(budget, counter, per_message_overhead=0),
            ]
        ),
        "two tiers, lower, digest": Chain(
            [
                ClearToolOutputs(
                    budget,
                    counter,
                    min_tokens=TIERS_AT_ONCE * budget,
                    low_watermark=TIERS_LOW,
                    per_message_overhead=0,
                ),
                _low_with_digest(budget, TIERS_LOW, TIERS_DIGEST),
            ]
        ),
    }


def _low_with_digest(budget: int, low_watermark: float, share: float) -> FitContextWindow:
    counter = CharSize()
    digest = Digest(max_tokens=int(budget * share), counter=counter)
    return FitContextWindow(
        budget, counter, per_message_overhead=0, low_watermark=low_watermark, digest=digest
    )


def _send(
    messages: Sequence[Message], strategy: ContextStrategy, budget: int, sizes: "_Sizes"
) -> Bill:
    """Add up what the requests of a session cost."""
    history: list[Message] = []
    cache = PromptCache(sizes.of)
    size = sent = read = cost_when_full = 0.0
    turns = breaks = 0
    for message in messages:
        if message.role == "assistant" and history:
            request = cache.send(strategy.compact(history))
            turns += 1
            breaks += request.breaks
            read += request.reused
            sent += request.tokens
            cost_when_full += cost_of(request.tokens, request.reused) * (size > budget)
        history = [*history, message]
        size += sizes.of(message)
    reused = read / sent if sent else 0.0
    cost = cost_of(sent, read)
    return Bill("", budget, "", turns, cost, cost_when_full, reused, breaks, None)


@attrs.define
class _Sizes:
    """The sizes of messages, each worked out once."""

    known: dict[int, tuple[Message, float]] = attrs.field(factory=dict)

    def of(self, message: Message) -> float:
        """Return the size of a message in tokens."""
        if id(message) not in self.known:
            self.known[id(message)] = message, size_of(text_of([message]))
        return self.known[id(message)][1]
