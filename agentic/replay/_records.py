"""What a replay tells: each request, each cut, and what they add up to. Sizes in tokens."""

import statistics
from collections.abc import Sequence

import attrs

from agentic.replay._prompt_cache import cost_of

__all__ = ["Cut", "Replayed", "SentRequest"]


@attrs.frozen(kw_only=True)
class SentRequest:
    """One turn: what the model is sent."""

    said: int
    """Everything said until then."""
    tokens: int
    """What is sent of it."""
    reused: int
    """The part of `tokens` that the request before began with: the prompt cache has it."""
    refused: str = ""
    """Why a provider would refuse it for its shape; empty if none would."""


@attrs.frozen(kw_only=True)
class Cut:
    """A request that does not begin with the one before it: something of that is gone."""

    turn: int
    """The number of the request, from 1."""
    before: int
    """The size that it would have had, uncut."""
    after: int
    dropped: int = 0
    """How many messages are no longer there."""
    cleared: int = 0
    """How many messages are still there, but changed."""
    what: tuple[str, ...] = ()
    """What was dropped or cleared: a line a kind."""
    summary: str = ""
    """The text that stands for what was dropped, if any does."""


@attrs.frozen(kw_only=True)
class Replayed:
    """One transcript under one policy."""

    policy: str
    window: int
    requests: tuple[SentRequest, ...]
    cuts: tuple[Cut, ...]
    evidences: tuple[float, ...] = ()
    """At each point of the session: which share of what the agent went on to use has its line in
    the request."""
    terms: tuple[float, ...] = ()
    """The same for the identifier alone."""
    problems: tuple[str, ...] = ()
    """Why compactions that were due changed nothing, a sentence each, with how often."""

    @property
    def turns(self) -> int:
        """How many requests there were."""
        return len(self.requests)

    @property
    def said(self) -> int:
        """The size of everything that was said until the last request."""
        return max((request.said for request in self.requests), default=0)

    @property
    def peak(self) -> int:
        """The size of the largest request."""
        return max((request.tokens for request in self.requests), default=0)

    @property
    def over(self) -> int:
        """How many requests were larger than the window."""
        return sum(request.tokens > self.window for request in self.requests)

    @property
    def invalid(self) -> int:
        """How many requests a provider would refuse for their shape."""
        return sum(bool(request.refused) for request in self.requests)

    @property
    def sent(self) -> int:
        """The size of all requests."""
        return sum(request.tokens for request in self.requests)

    @property
    def cost(self) -> float:
        """The price of all requests with a prompt cache, in tokens at the full price."""
        return cost_of(self.sent, sum(request.reused for request in self.requests))

    @property
    def reused(self) -> float | None:
        """Which share of all that was sent came from the cache; None if nothing was sent."""
        reused = sum(request.reused for request in self.requests)
        return reused / self.sent if self.sent else None

    @property
    def evidence(self) -> float | None:
        """The mean of `evidences`; None where no point of the session has a future."""
        return _mean(self.evidences)

    @property
    def term(self) -> float | None:
        """The mean of `terms`; None where no point of the session has a future."""
        return _mean(self.terms)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
