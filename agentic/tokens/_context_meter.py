"""The size of a context as the provider will count it.

What the provider reported for the last call is exact for the messages of that call; only what came
after them is estimated, and the estimate is calibrated against what was reported before. With
`EstimateCounter` such a size is half a thousandth off (the median of 1,884 recorded calls, 0.6 % at
the 95th percentile), where a plain characters/4 is a seventh off.

A view that was cut, of which no report tells, is what is hidden beside the messages, which the
smallest request tells best, and the scaled estimate: 1 % off, 4 % at the 95th percentile. Where
that matters, ask the provider, whose Decider has `count_tokens` if there is an endpoint for it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from agentic.messages import Message, continues
from agentic.tokens._count import Counter
from agentic.tokens._token_cache import TokenCache
from agentic.usage import Usage

__all__ = ["ContextMeter"]

_ENOUGH_TOKENS = 200
"""Below this many estimated tokens a ratio says more about the overhead than about the text."""
_NOISE_TOKENS = 25
"""A ratio over n tokens is believed from a distance of sqrt(25 / n) to 1 on, in logarithms, and the
less the nearer it is: the ratios of single tool outputs scatter that much, on recorded calls."""
_FACTORS = (0.25, 8.0)
"""No tokenizer is further than this from the estimate; a report beyond it is no calibration."""
_AGREEING = 3
"""So many reports in a row below the least factor are believed if each follows from the former."""
_TOLERANCE = 0.15
"""How far a report may be from what the former one predicts. A server that reports only what was
not in its cache passes if an addition is seven times as large as the one before, twice in a row."""
_DROP = 0.9
"""A request that holds the former one and is reported smaller than this share of it was cut."""


@attrs.define(eq=False)
class ContextMeter:
    """Measures one conversation. Sizes in tokens.

    >>> from agentic.tokens import approx_token_counter
    >>> question = Message("user", "What is in the file?")
    >>> reply = Message("assistant", "A parser, and its tests.")
    >>> meter = ContextMeter(approx_token_counter)
    >>> meter.measure([question])
    9
    >>> meter.report([question], reply, Usage(input=1_000, output=20))
    >>> meter.measure([question, reply])
    1020
    """

    counter: Counter
    factor: float = attrs.field(default=1.0, init=False)
    """Reported tokens for each estimated one, in what the conversation grew by, or in all of it
    where even that was reported smaller than estimated."""
    _token_cache: TokenCache = attrs.field(init=False)
    _reported: list[Message] = attrs.field(factory=list, init=False)
    """What the last report was about: the view that was sent, and the reply."""
    _reported_tokens: int = attrs.field(default=0, init=False)
    _reported_input: int = attrs.field(default=0, init=False)
    _server_cut: bool = attrs.field(default=False, init=False)
    """Whether the server cut the view of the last report: its size says nothing of the whole."""
    _doubtful: "_Doubtful | None" = attrs.field(default=None, init=False)
    """The last report, if it was of too few tokens."""
    _reasoning_tokens: int = attrs.field(default=0, init=False)
    """The part of that which the reply took to think."""
    _reasoning_returns: bool = attrs.field(default=True, init=False)
    """Whether the thinking of a reply is part of the next request; providers differ."""
    _hidden_tokens: int | None = attrs.field(default=None, init=False)
    """What is sent beside the messages, as far as the reports tell."""
    _growth: tuple[int, int] = attrs.field(default=(0, 0), init=False)
    """What the conversation grew by between reports, replies aside: as reported, as estimated."""
    _smallest: tuple[int, int] | None = attrs.field(default=None, init=False)
    """The smallest request: as reported, as estimated. It tells best what is hidden."""
    _whole_factor: float = attrs.field(default=1.0, init=False)
    """What `factor` is, replies included: what is added to them counts in a view that was cut."""

    def __attrs_post_init__(self) -> None:
        self._token_cache = TokenCache(self.counter)

    def measure(self, view: list[Message], *, overhead_tokens: int = 0) -> int:
        """Measure what is about to be sent.

        `overhead_tokens` is an estimate of what is sent besides the messages (the system prompt,
        the tools' schemas). It counts until the first report, which knows better.
        """
        sums = self._token_cache.sizes(view).sums
        if self._still_starts(view):
            came_after = sums[-1] - sums[len(self._reported)]
            return self._carried_tokens + round(self.factor * came_after)
        if self._hidden_tokens is None:
            return sums[-1] + overhead_tokens
        return self._hidden_tokens + round(self._whole_factor * sums[-1])

    def estimate_within(self, tokens: int, *, overhead_tokens: int = 0) -> int:
        """Return the size, by the counter, that a newly cut view may have to measure `tokens`."""
        hidden = overhead_tokens if self._hidden_tokens is None else self._hidden_tokens
        return math.floor((tokens - hidden) / self._whole_factor)

    def report(self, sent: list[Message], reply: Message, usage: Usage) -> None:
        """Take in what the provider said of a call: the view that was sent, and the reply to it.

        A usage without input tokens says nothing and is ignored. One of so few that it cannot be
        about all that was sent is believed from the third in a row on, if each grew by what the
        conversation grew by: then the server cut the context. Other servers report only what they
        did not find in their cache, which does not add up.
        """
        # Some servers answer a stream without a usage, or with one of zeros.
        if not usage.input:
            return
        if usage.input >= _FACTORS[0] * self._token_cache.sizes(sent).total:
            self._doubtful = None
            self._calibrate(sent, usage.input)
        else:
            self._doubtful = self._doubt([*sent, reply], usage)
            if self._doubtful.agreeing < _AGREEING:
                if self._server_cut:  # what was believed of it does not hold any more
                    self._reported = []
                return
            self._server_cut = True
        self._reported = [*sent, reply]
        self._reported_tokens = usage.input + usage.output
        self._reported_input = usage.input
        self._reasoning_tokens = usage.reasoning

    def _doubt(self, messages: list[Message], usage: Usage) -> "_Doubtful":
        """Return a report of too few tokens, and how many in a row it agrees with."""
        former = self._doubtful
        if former is None or not continues(messages[:-1], former.messages):
            return _Doubtful(messages, usage, 1)
        sums = self._token_cache.sizes(messages).sums
        came_after = self.factor * (sums[-2] - sums[len(former.messages)])
        most = former.usage.input + former.usage.output + came_after
        least = most - former.usage.reasoning  # where it is not sent back
        slack = _TOLERANCE * usage.input
        agrees = least - slack <= usage.input <= most + slack
        return _Doubtful(messages, usage, former.agreeing + 1 if agrees else 1)

    def to_plain(self, digest: Callable[[list[Message]], str]) -> dict[str, Any]:
        """Return the calibration as plain JSON, with a `digest` of what the last report was on."""
        return {
            "factor": self.factor,
            "whole_factor": self._whole_factor,
            "hidden_tokens": self._hidden_tokens,
            "growth": self._growth,
            "smallest": self._smallest,
            "reported_messages": len(self._reported),
            "reported_digest": digest(self._reported) if self._reported else "",
            "reported_tokens": self._reported_tokens,
            "reported_input": self._reported_input,
            "server_cut": self._server_cut,
            "reasoning_tokens": self._reasoning_tokens,
            "reasoning_returns": self._reasoning_returns,
        }

    def read_plain(
        self,
        plain: Mapping[str, Any],
        view: list[Message],
        digest: Callable[[list[Message]], str],
    ) -> None:
        """Take a calibration over; its last report holds if the view begins with what it was on."""
        self.factor, self._whole_factor = plain["factor"], plain["whole_factor"]
        self._hidden_tokens = plain["hidden_tokens"]
        reported, estimated = plain["growth"]
        self._growth = reported, estimated
        self._smallest = None if plain["smallest"] is None else tuple(plain["smallest"])
        # The messages themselves are not in the state: a digest of them tells whether these are the
        # same.
        count = plain["reported_messages"]
        start = view[:count]
        if count and len(start) == count and digest(start) == plain["reported_digest"]:
            self._reported = start
            self._reported_tokens = plain["reported_tokens"]
            self._reported_input = plain["reported_input"]
            self._server_cut = plain["server_cut"]
            self._reasoning_tokens = plain["reasoning_tokens"]
            self._reasoning_returns = plain["reasoning_returns"]

    @property
    def _carried_tokens(self) -> int:
        """What the last report says of the next request."""
        dropped = 0 if self._reasoning_returns else self._reasoning_tokens
        return self._reported_tokens - dropped

    def _still_starts(self, view: list[Message]) -> bool:
        """Whether the last report is about the start of this view: after a compaction it is not."""
        return bool(self._reported) and continues(view, self._reported)

    def _calibrate(self, sent: list[Message], input_tokens: int) -> None:
        sums = self._token_cache.sizes(sent).sums
        if not self._still_starts(sent):
            self._server_cut = False
        elif input_tokens < _DROP * self._reported_input:
            self._server_cut = True
        else:
            came_after = sums[-1] - sums[len(self._reported)]
            if self._reasoning_tokens:
                # Whichever is nearer to what was reported: with the reasoning, or without.
                whole = self._reported_tokens + self.factor * came_after
                self._reasoning_returns = input_tokens >= whole - self._reasoning_tokens / 2
            reported, estimated = self._growth
            reported += max(0, input_tokens - self._carried_tokens)
            estimated += came_after
            self._growth = (reported, estimated)
            self.factor = _ratio(reported, estimated, otherwise=self.factor)
        if not self._server_cut:
            self._find_hidden(input_tokens, sums[-1])

    def _find_hidden(self, reported: int, estimated: int) -> None:
        if self._smallest is None or estimated <= self._smallest[1]:
            self._smallest = (reported, estimated)
        least_reported, least = self._smallest
        grown = max(0, reported - least_reported)
        self._whole_factor = _ratio(grown, estimated - least, otherwise=self.factor)
        hidden = least_reported - round(self._whole_factor * least)
        self._hidden_tokens = max(0, hidden)
        if hidden < 0:
            self._whole_factor = reported / estimated
        if self.factor * least > least_reported:
            self.factor = reported / estimated


@attrs.frozen
class _Doubtful:
    """A report of fewer tokens than what was sent can be."""

    messages: list[Message]
    """What was sent, and the reply."""
    usage: Usage
    agreeing: int
    """How many in a row agree, this one included."""


def _ratio(reported: int, estimated: int, *, otherwise: float) -> float:
    """Return a ratio as far as it is to be believed: one near to 1 may be chance."""
    if estimated < _ENOUGH_TOKENS:
        return otherwise
    least, most = _FACTORS
    ratio = min(max(reported / estimated, least), most)
    distance = math.log(ratio)
    trust = distance * distance * estimated / _NOISE_TOKENS
    return ratio if trust >= 1 else math.exp(trust * distance)
