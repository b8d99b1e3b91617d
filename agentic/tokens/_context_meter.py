"""The size of a context as the provider will count it.

What the provider reported for the last call is exact for that call's messages. Only what came after
them is estimated, and the estimate is calibrated against earlier reports. With `EstimateCounter`,
the error of such a size is 0.05 % (the median of 1,884 recorded calls; 0.6 % at the 95th
percentile). For comparison, the error of characters/4 is about 14 %.

No report describes a view that was newly cut. Its size is the scaled estimate, the thinking that is
left in its replies, and the hidden part, which is sent besides the messages and is best known from
the smallest request: the error is 1 %, and 4 % at the 95th percentile. If that matters, ask the
provider: its Decider has `count_tokens` if there is an endpoint for it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from agentic.messages import Message
from agentic.messages._timeline import continues
from agentic.protocols import Counter
from agentic.tokens._count import TokenCache
from agentic.tokens._thinking import ThinkingSizes
from agentic.usage import Usage

_ENOUGH_TOKENS = 200
"""With fewer estimated tokens than this, a ratio says more about the overhead than about the
text."""
_NOISE_TOKENS = 25
"""How far a ratio over n tokens is trusted: fully if its logarithm differs from 0 by more than
sqrt(25 / n), and less the closer it is. The ratios of single tool outputs vary that much in
recorded calls."""
_FACTORS = (0.25, 8.0)
"""No tokenizer differs from the estimate by more than this; a report beyond it is not used."""
_AGREEING = 3
"""Reports below the least factor are believed if this many in a row follow from one another."""
_TOLERANCE = 0.15
"""How far a report may be from the one predicted from the former report. A server that reports only
what was not in its cache would pass if an addition were seven times as large as the one before,
twice in a row."""
_DROP = 0.9
"""If a request contains the former one and its report is below this share of it, it was cut."""


@attrs.define(eq=False)
class ContextMeter:
    """Measures one conversation. Sizes are in tokens.

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
    """Reported tokens per estimated token: of the conversation's growth or, if even the whole was
    reported smaller than estimated, of the whole."""
    _token_cache: TokenCache = attrs.field(kw_only=True)
    """The sizes of the views; passed if somebody else measures them, too."""
    _reported: list[Message] = attrs.field(factory=list, init=False)
    """What the last report was about: the view that was sent, and its reply."""
    _reported_tokens: int = attrs.field(default=0, init=False)
    _reported_input: int = attrs.field(default=0, init=False)
    _server_cut: bool = attrs.field(default=False, init=False)
    """Whether the server cut the view of the last report; its size then says nothing about the
    whole."""
    _doubtful: "_Doubtful | None" = attrs.field(default=None, init=False)
    """The last report, if it was of too few tokens."""
    _reasoning_tokens: int = attrs.field(default=0, init=False)
    """The part of `_reported_tokens` that the reply used for thinking."""
    _reasoning_returns: bool = attrs.field(default=True, init=False)
    """Whether the thinking of a reply is part of the next request; providers differ."""
    _thinking: ThinkingSizes = attrs.field(init=False)
    _reported_thinking: int = attrs.field(default=0, init=False)
    """The size of the thinking in `_reported`, without what is visible of it."""
    _hidden_tokens: int | None = attrs.field(default=None, init=False)
    """The size of what is sent besides the messages, as far as reports show it."""
    _growth: tuple[int, int] = attrs.field(default=(0, 0), init=False)
    """The growth of the conversation between reports, without replies: as reported, as
    estimated."""
    _smallest: tuple[int, int] | None = attrs.field(default=None, init=False)
    """The smallest request: as reported, as estimated. It shows best how much is hidden."""
    _whole_factor: float = attrs.field(default=1.0, init=False)
    """Like `factor`, but including what is added to replies, which counts in a view that was
    cut."""

    @_token_cache.default
    def _make_token_cache(self) -> TokenCache:
        return TokenCache(self.counter)

    @_thinking.default
    def _make_thinking(self) -> ThinkingSizes:
        return ThinkingSizes(self._token_cache)

    def measure(self, view: list[Message], *, overhead_tokens: int = 0) -> int:
        """Return the size of a view that is about to be sent.

        `overhead_tokens` is an estimate of what is sent besides the messages (the system prompt,
        the tools' schemas). It counts until the first report, which knows better.
        """
        sums = self._token_cache.sizes(view).sums
        if self._still_starts(view):
            came_after = sums[-1] - sums[len(self._reported)]
            return self._carried_tokens + round(self.factor * came_after)
        if self._hidden_tokens is None:
            return sums[-1] + overhead_tokens
        thinking = self.thinking_tokens(view)
        return self._hidden_tokens + round(self._whole_factor * sums[-1]) + thinking

    def thinking_tokens(self, view: list[Message]) -> int:
        """Return the size of the thinking that is sent with a view, without what is visible."""
        return self._thinking.total(view) if self._reasoning_returns else 0

    def drop_thinking(self, replies: Iterable[Message]) -> None:
        """Record that the provider drops the thinking of these replies from each request."""
        for reply in replies:
            self._thinking.drop(reply)

    def estimate_within(self, tokens: int, *, overhead_tokens: int = 0) -> int:
        """Return how large, by the counter, a newly cut view may be to measure `tokens`.

        Its thinking is not part of that: see `thinking_tokens`.
        """
        unseen_tokens = overhead_tokens if self._hidden_tokens is None else self._hidden_tokens
        return math.floor((tokens - unseen_tokens) / self._whole_factor)

    def report(self, sent: list[Message], reply: Message, usage: Usage) -> None:
        """Record what the provider reported about a call: the view that was sent, and its reply.

        A usage without input tokens, or that adds up several requests, is ignored. A usage with too
        few input tokens for all that was sent is believed if it is the third in a row and each grew
        as the conversation did: then the server cuts the context. Other servers report only what
        was not in their cache, which does not add up like this.
        """
        # Some servers answer a stream without a usage, or with one of zeros.
        if not usage.input or usage.summed:
            return
        thinking = self._thinking_in(sent)
        if usage.input >= _FACTORS[0] * self._token_cache.sizes(sent).total:
            self._doubtful = None
            self._calibrate(sent, usage.input, thinking)
        else:
            self._doubtful = self._doubt([*sent, reply], usage)
            if self._doubtful.agreeing < _AGREEING:
                if self._server_cut:  # the earlier conclusion no longer holds
                    self._reported = []
                return
            self._server_cut = True
        self._reported = [*sent, reply]
        self._reported_tokens = usage.input + usage.output
        self._reported_input = usage.input
        self._reasoning_tokens = self._thinking.note(reply, usage)
        self._reported_thinking = thinking + self._thinking.size(reply)

    def _doubt(self, messages: list[Message], usage: Usage) -> "_Doubtful":
        """Return a report of too few tokens, and how many in a row are consistent with it."""
        former = self._doubtful
        if former is None or not continues(messages[:-1], former.messages):
            return _Doubtful(messages, usage, 1)
        sums = self._token_cache.sizes(messages).sums
        came_after = self.factor * (sums[-2] - sums[len(former.messages)])
        most = former.usage.input + former.usage.output + came_after
        least = most - former.usage.reasoning  # if the reasoning is not sent back
        slack = _TOLERANCE * usage.input
        agrees = least - slack <= usage.input <= most + slack
        return _Doubtful(messages, usage, former.agreeing + 1 if agrees else 1)

    def to_plain(self, digest: Callable[[list[Message]], str]) -> dict[str, Any]:
        """Return the calibration as plain JSON, with a `digest` of the last reported messages."""
        return {
            "factor": self.factor,
            "whole_factor": self._whole_factor,
            "hidden_tokens": self._hidden_tokens,
            # Lists, as they are after JSON: a checkpointer that stores types would change a tuple.
            "growth": list(self._growth),
            "smallest": None if self._smallest is None else list(self._smallest),
            "reported_messages": len(self._reported),
            "reported_digest": digest(self._reported) if self._reported else "",
            "reported_tokens": self._reported_tokens,
            "reported_input": self._reported_input,
            "server_cut": self._server_cut,
            "reasoning_tokens": self._reasoning_tokens,
            "reasoning_returns": self._reasoning_returns,
            "thinking": [self._thinking.tokens, self._thinking.replies],
        }

    def read_plain(
        self, plain: Mapping[str, Any], view: list[Message], digest: Callable[[list[Message]], str]
    ) -> None:
        """Restore a calibration; its last report counts if the view begins with its messages.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        factor, whole = (_number(plain[name], 0) for name in ("factor", "whole_factor"))
        unseen_tokens, smallest = plain["hidden_tokens"], plain["smallest"]
        unseen_tokens = None if unseen_tokens is None else _count(unseen_tokens)
        smallest = None if smallest is None else _pair(smallest)
        growth = _pair(plain["growth"])
        tokens, inputs = _count(plain["reported_tokens"]), _count(plain["reported_input"])
        server_cut, reasoning = bool(plain["server_cut"]), _count(plain["reasoning_tokens"])
        reasoning_returns = bool(plain["reasoning_returns"])
        # Not in the state of an earlier version.
        thinking, replies = _pair(plain.get("thinking", (0, 0)))
        # The messages themselves are not in the state: a digest of them tells whether these are the
        # same.
        count, expected = _count(plain["reported_messages"]), str(plain["reported_digest"])
        self.factor, self._whole_factor, self._growth = factor, whole, growth
        self._hidden_tokens, self._smallest = unseen_tokens, smallest
        self._thinking.tokens, self._thinking.replies = thinking, replies
        start = view[:count]
        if count and len(start) == count and digest(start) == expected:
            self._reported = start
            self._reported_tokens, self._reported_input = tokens, inputs
            self._server_cut = server_cut
            self._reasoning_tokens, self._reasoning_returns = reasoning, reasoning_returns
            self._reported_thinking = self._thinking.total(start)

    @property
    def _carried_tokens(self) -> int:
        """The part of the next request that the last report covers."""
        reduction = 0 if self._reasoning_returns else self._reasoning_tokens
        return self._reported_tokens - reduction

    def _still_starts(self, view: list[Message]) -> bool:
        """Return whether a view begins with the last reported messages: not after a compaction."""
        return bool(self._reported) and continues(view, self._reported)

    def _thinking_in(self, messages: list[Message]) -> int:
        """Return the size of all thinking in a view, looking only at what is new."""
        if not self._still_starts(messages):
            self._thinking.keep_only(messages)
            return self._thinking.total(messages)
        return self._reported_thinking + self._thinking.total(messages[len(self._reported) :])

    def _calibrate(self, messages: list[Message], input_tokens: int, thinking: int) -> None:
        sums = self._token_cache.sizes(messages).sums
        if not self._still_starts(messages):
            self._server_cut = False
        elif input_tokens < _DROP * self._reported_input:
            self._server_cut = True
        else:
            came_after = sums[-1] - sums[len(self._reported)]
            if self._reasoning_tokens:
                # Decide by what the report is closer to: the size with the reasoning, or without.
                whole = self._reported_tokens + self.factor * came_after
                self._reasoning_returns = input_tokens >= whole - self._reasoning_tokens / 2
            by_usage, by_counter = self._growth
            by_usage += max(0, input_tokens - self._carried_tokens)
            by_counter += came_after
            self._growth = (by_usage, by_counter)
            self.factor = _ratio(by_usage, by_counter, otherwise=self.factor)
        if not self._server_cut:
            returning = thinking if self._reasoning_returns else 0
            # What is visible was in the request in any case, even where so much thinking was not.
            least = math.ceil(_FACTORS[0] * sums[-1])
            self._find_hidden(max(least, input_tokens - returning), sums[-1])

    def _find_hidden(self, by_usage: int, by_counter: int) -> None:
        if self._smallest is None or by_counter <= self._smallest[1]:
            self._smallest = (by_usage, by_counter)
        least_reported, least = self._smallest
        growth = max(0, by_usage - least_reported)
        self._whole_factor = _ratio(growth, by_counter - least, otherwise=self.factor)
        unseen_tokens = least_reported - round(self._whole_factor * least)
        self._hidden_tokens = max(0, unseen_tokens)
        # What is hidden cannot be negative: the text itself takes fewer tokens than estimated.
        if unseen_tokens < 0:
            self._whole_factor = by_usage / by_counter
        if self.factor * least > least_reported:
            self.factor = by_usage / by_counter


@attrs.frozen
class _Doubtful:
    """A report of fewer tokens than can have been sent."""

    messages: list[Message]
    """What was sent, and its reply."""
    usage: Usage
    agreeing: int
    """How many in a row are consistent, including this one."""


def _pair(numbers: Iterable[Any]) -> tuple[int, int]:
    by_usage, by_counter = map(_count, numbers)
    return by_usage, by_counter


def _count(value: Any) -> int:
    return int(_number(value, -1))


def _number(value: Any, above: float) -> float:
    number = float(value)
    # Python's JSON has NaN and Infinity, with which no size can be computed.
    if not above < number < math.inf:
        message = f"{value!r} is not a number that a calibration can have"
        raise ValueError(message)
    return number


def _ratio(by_usage: int, by_counter: int, *, otherwise: float) -> float:
    """Return a ratio as far as it can be trusted: one close to 1 may be chance."""
    if by_counter < _ENOUGH_TOKENS:
        return otherwise
    least, most = _FACTORS
    ratio = min(max(by_usage / by_counter, least), most)
    distance = math.log(ratio)
    trust = distance * distance * by_counter / _NOISE_TOKENS
    return ratio if trust >= 1 else math.exp(trust * distance)
