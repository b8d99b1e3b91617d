"""What a replay reports: each request, each cut, their totals, and their cost. Sizes are in tokens.

The whole context is sent again with every request. If the provider has a prompt cache, the part
that a request shares with the one before it costs less.

Costs in USD are by the price list of `genai-prices` (extra `prices`). The list has no date of its
own, but its release has a version, and it knows from when on a price holds. So a price is dated by
the day for which it was looked up, next to the list's version.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Generic, TypeVar

import attrs

from agentic.messages import Message
from agentic.usage import Usage, cost


def count_of(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count_of(1, "compaction"), count_of(2_000, "compaction")
    ('1 compaction', '2,000 compactions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@attrs.frozen(kw_only=True)
class SentRequest:
    """What is sent to the model before one of its replies."""

    said: int
    """The size of everything said so far."""
    tokens: int
    """The size of what is sent."""
    reused: int
    """The size of the start that it shares with the previous request: it is in the prompt cache."""
    refused: str = ""
    """Why a provider would refuse its structure; empty if none would."""


@attrs.frozen(kw_only=True)
class SummaryRequest:
    """What a model is sent for a summary, and how large the summary is."""

    tokens: int
    reused: int = 0
    """The size of the start that is in the prompt cache."""
    output: int


@attrs.frozen(kw_only=True)
class Cut:
    """A request that does not begin with the previous one: something was removed from it."""

    request: int
    """The number of the request, counted from 1."""
    before: int
    """The size that it would have had without the cut."""
    after: int
    dropped: int = 0
    """How many messages are missing."""
    cleared: int = 0
    """How many messages are shortened or changed."""
    what: tuple[str, ...] = ()
    """What was dropped or cleared, one line per kind."""
    summary: str = ""
    """The text that replaces what was dropped, if there is one."""

    @property
    def figures(self) -> dict[str, int]:
        """The sizes and counts, by name."""
        names = ("request", "before", "after", "dropped", "cleared")
        return {name: getattr(self, name) for name in names}


@attrs.frozen(kw_only=True)
class Series:
    """Requests of which each begins with the whole one before: from one cut to the next."""

    first: int
    """The number of the first request, counted from 1."""
    items: tuple[int | Message, ...]
    """What the last request sent: positions in the transcript, or messages that replace some."""
    lengths: tuple[int, ...]
    """How many of the items each request sent."""


@attrs.frozen(kw_only=True)
class Replayed:
    """One transcript under one policy."""

    policy: str
    window: int
    requests: tuple[SentRequest, ...]
    cuts: tuple[Cut, ...]
    recalls: tuple[float, ...] = ()
    """At each point of the session: the share of what is used later that the request still has."""
    problems: tuple[str, ...] = ()
    """Why compactions that were due changed nothing: a sentence for each reason, with a count."""
    summaries: tuple[SummaryRequest, ...] = ()
    """The requests for summaries; empty if no model is asked for any, or if they are not known."""
    series: tuple[Series, ...] = ()
    """What each request sent; empty unless it was asked for."""
    recorded: tuple[Usage, ...] = ()
    """The recorded usage of its requests, if they are those that the agent made."""

    @property
    def said(self) -> int:
        """The size of everything said until the last request."""
        return max((request.said for request in self.requests), default=0)

    @property
    def peak(self) -> int:
        """The size of the largest request."""
        return max((request.tokens for request in self.requests), default=0)

    @property
    def over(self) -> int:
        """How many requests exceeded the window."""
        return sum(request.tokens > self.window for request in self.requests)

    @property
    def invalid(self) -> int:
        """How many requests a provider would refuse because of their structure."""
        return sum(bool(request.refused) for request in self.requests)

    @property
    def sent(self) -> int:
        """The total size of all requests."""
        return sum(request.tokens for request in self.requests)

    @property
    def cost(self) -> float:
        """The cost of all requests with a prompt cache, in tokens at the full price."""
        reused = sum(request.reused for request in self.requests)
        return cost_of(self.sent, reused) + self.summary_cost

    @property
    def summary_cost(self) -> float:
        """The part of it that is for summaries."""
        return sum(
            cost_of(each.tokens, each.reused) + _OUTPUT * each.output for each in self.summaries
        )

    @property
    def has_record(self) -> bool:
        """Whether nearly all of its requests have a recorded usage: nine tenths."""
        return bool(self.recorded) and len(self.recorded) >= _RECORDED * len(self.requests)

    @property
    def recorded_cost(self) -> float:
        """The recorded cost of all requests, in tokens at the full price."""
        read = sum(usage.cache_read for usage in self.recorded)
        writes = sum(usage.cache_write for usage in self.recorded)
        plain = sum(usage.input for usage in self.recorded) - read - writes
        return _READ * read + _WRITE * writes + plain

    @property
    def reused(self) -> float | None:
        """The share of all sent tokens that came from the cache; None if nothing was sent."""
        total = sum(request.reused for request in self.requests)
        return total / self.sent if self.sent else None

    @property
    def recall(self) -> float | None:
        """The mean of `recalls`; None if there are no points."""
        return statistics.fmean(self.recalls) if self.recalls else None


# As shares of the price of an uncached token: Anthropic's for five minutes (2026-11),
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching. OpenAI charges nothing for
# writing and 0.1 to 0.5 for reading.
_READ, _WRITE = 0.1, 1.25
# What a model writes, by the same list; with OpenAI and Google it is six to eight.
_OUTPUT = 5.0


@attrs.frozen
class CacheUse:
    """The cache use of one request. Sizes are in tokens."""

    tokens: float
    reused: float
    """The tokens that were read from the cache."""
    breaks: bool
    """Whether it did not begin with the whole previous request."""
    shared: int
    """How many messages at its start are those of the previous request."""


_RECORDED = 0.9
"""The share of requests whose usage must be recorded for a cost that is the record's."""


def cost_of(tokens: float, cache_tokens: float) -> float:
    """Return the cost of what was sent, in tokens at the full price.

    >>> cost_of(1_000, 0), cost_of(1_000, 1_000)
    (1250.0, 100.0)
    """
    return _READ * cache_tokens + _WRITE * (tokens - cache_tokens)


_T = TypeVar("_T")


@attrs.define(eq=False)
class MessageMemo(Generic[_T]):
    """What a function returns for messages, computed once for each object."""

    compute: Callable[[Message], _T]
    # By object id: a hash would go through every field of a message, at each look.
    # Holding the message ensures that its id is not reused.
    _known: dict[int, tuple[Message, _T]] = attrs.field(factory=dict, init=False)

    def __call__(self, message: Message) -> _T:
        """Return what the function does."""
        entry = self._known.get(id(message))
        if entry is None:
            entry = self._known[id(message)] = message, self.compute(message)
        return entry[1]

    def of_each(self, messages: Iterable[Message]) -> list[_T]:
        """Return what the function does for each message."""
        find = self._known.get
        # Most are known, and are spared a call.
        return [self(each) if (entry := find(id(each))) is None else entry[1] for each in messages]


@attrs.define(eq=False)
class PromptCache:
    """A cache that holds the latest request for as long as the session lasts.

    >>> cache = PromptCache(lambda message: len(message.content))
    >>> task = Message("user", "12345678")
    >>> cache.send([task]).reused, cache.send([task, Message("assistant", "1234")]).reused
    (0.0, 8.0)
    """

    size: Callable[[Message], float]
    """Returns the size of a message in tokens; called again only for messages after a break."""
    _before: list[Message] = attrs.field(factory=list, init=False)
    _sums: list[float] = attrs.field(factory=lambda: [0.0], init=False)
    """`_sums[n]` is the size of the first n messages of the latest request."""

    @property
    def tokens(self) -> float:
        """The size of the latest request."""
        return self._sums[-1]

    def send(self, view: Sequence[Message]) -> CacheUse:
        """Record a request. The cost is a glance at each message, and counting the new ones."""
        length = len(self._before)
        same = _shared(self._before, view)
        # In place: to copy the list for every request would cost the square of a session.
        del self._before[same:], self._sums[same + 1 :]
        for message in view[same:]:
            self._before.append(message)
            self._sums.append(self._sums[-1] + self.size(message))
        return CacheUse(self._sums[-1], self._sums[same], same < length, same)


def _shared(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Return how many messages both lists begin with."""
    # Nearly every request begins with the whole one before.
    if after[: len(before)] == before:
        return len(before)
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one is not other and one != other), len(after))


# Prices depend on the size of a request in steps that are multiples of this, in tokens: a price is
# looked up once for each step, not once for each request.
_STEP = 1_000


@attrs.frozen
class _Rates:
    """Prices of a token."""

    read: float
    """One that the cache has."""
    write: float
    """One that is written to it."""
    output: float


@attrs.define
class Price:
    """The price of what is sent to a model, and of summaries.

    What the model answers besides is the same under any policy.
    """

    model: str
    """The entry of the price list."""
    provider: str
    day: datetime
    """The day whose prices they are."""
    _known: dict[int, "_Rates"] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    """By the size of the input, in steps."""

    @property
    def description(self) -> str:
        """Whose prices they are, of which day, by which list."""
        from importlib import metadata  # noqa: PLC0415  it costs more to import than all else here

        version = metadata.version("genai-prices")
        return (
            f"input at the prices of {self.model} ({self.provider}) on {self.day:%Y-%m-%d}, "
            f"by genai-prices {version}"
        )

    def of_usage(self, usages: Iterable[Usage]) -> float:
        """Return the cost of recorded requests, without that of the replies."""
        return sum(self._each(attrs.evolve(usage, output=0, reasoning=0)) for usage in usages)

    def of(self, requests: Iterable[tuple[int, int]]) -> float:
        """Return the cost of requests, each as its size and how much of it the cache had."""
        total = 0.0
        for tokens, cache_tokens in requests:
            rates = self._rates(tokens)
            total += rates.read * cache_tokens + rates.write * (tokens - cache_tokens)
        return total

    def of_summaries(self, summaries: Iterable[SummaryRequest]) -> float:
        """Return the cost of summaries, with what the model writes."""
        return sum(
            self.of([(each.tokens, each.reused)]) + self._rates(each.tokens).output * each.output
            for each in summaries
        )

    def _rates(self, tokens: int) -> "_Rates":
        step = max(1, -(-tokens // _STEP))
        if step not in self._known:
            size = step * _STEP
            read = Usage(input=size, cache_read=size)
            write = Usage(input=size, cache_write=size, output=_STEP)
            self._known[step] = _Rates(
                self._each(read) / size, self._each(write) / size, self._output(write) / _STEP
            )
        return self._known[step]

    def _output(self, usage: Usage) -> float:
        amount = cost(usage, self.model, provider=self.provider, at=self.day)
        return 0.0 if amount is None else float(amount.output)

    def _each(self, usage: Usage) -> float:
        amount = cost(usage, self.model, provider=self.provider, at=self.day)
        return 0.0 if amount is None else float(amount.input)


def price_of(model: str, day: datetime) -> Price | None:
    """Return the price of a model on a day; None if the list has none.

    >>> from datetime import UTC
    >>> price = price_of("claude-sonnet-4-5", datetime(2026, 11, 1, tzinfo=UTC))
    >>> round(price.of([(100_000, 0), (110_000, 100_000)]), 4)
    0.4425
    >>> price_of("my-own", datetime(2026, 11, 1, tzinfo=UTC)) is None
    True

    Raises:
        ImportError: the list is not installed.
    """
    amount = cost(Usage(input=_STEP), model, at=day)
    return None if amount is None else Price(amount.model, amount.provider, day)
