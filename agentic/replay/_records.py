"""What a replay tells: each request, each cut, and what they add up to. Sizes in tokens.

A session is sent anew every turn, and what a view shares with the one before it costs less, where
a provider has a prompt cache.
"""

import statistics
from collections.abc import Callable, Sequence

import attrs

from agentic.messages import Message

__all__ = ["Cut", "PromptCache", "Replayed", "SentRequest", "cost_of"]


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


_READ, _WRITE = 0.1, 1.25
"""Of the price of a token without a cache: Anthropic's for five minutes (2026-11),
https://platform.claude.com/docs/en/build-with-claude/prompt-caching. OpenAI charges nothing for
writing and 0.1 to 0.5 for reading."""


@attrs.frozen
class CacheUse:
    """One request. Sizes in tokens."""

    tokens: float
    reused: float
    """What was read from the cache."""
    breaks: bool
    """Whether it did not begin with the whole request before it."""
    shared: int
    """How many messages it begins with that the request before began with."""


def cost_of(tokens: float, reused: float) -> float:
    """Price what was sent, in tokens at the full price.

    >>> cost_of(1_000, 0), cost_of(1_000, 1_000)
    (1250.0, 100.0)
    """
    return _READ * reused + _WRITE * (tokens - reused)


@attrs.define(eq=False)
class PromptCache:
    """A cache that holds the latest request, as long as the session lasts.

    >>> cache = PromptCache(lambda message: len(message.content))
    >>> task = Message("user", "12345678")
    >>> cache.send([task]).reused, cache.send([task, Message("assistant", "1234")]).reused
    (0.0, 8.0)
    """

    size: Callable[[Message], float]
    """Returns the size of one message in tokens; asked again only for what follows a break."""
    _before: list[Message] = attrs.field(factory=list, init=False)
    _sums: list[float] = attrs.field(factory=lambda: [0.0], init=False)
    """`_sums[n]` is the size of the first n messages of the latest request."""

    def send(self, view: Sequence[Message]) -> CacheUse:
        """Take in a request. It costs what is new in it, and a look at each message."""
        length = len(self._before)
        shared = _shared(self._before, view)
        del self._before[shared:], self._sums[shared + 1 :]
        for message in view[shared:]:
            self._before.append(message)
            self._sums.append(self._sums[-1] + self.size(message))
        return CacheUse(self._sums[-1], self._sums[shared], shared < length, shared)


def _shared(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Count the messages that both begin with."""
    if after[: len(before)] == before:
        return len(before)
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one is not other and one != other), len(after))
