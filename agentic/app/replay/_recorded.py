"""What the record says: the requests that the agent really made, and how large they were.

A program that compacts by itself keeps the originals in its file, and what stood in their place.
`RecordedView` makes the requests as the program did. Where the file also has the usage of requests,
`calibrate` fits two numbers to it: the hidden part of every request, which is the system prompt and
the tools' schemas, and how many of the provider's tokens one counted token is.
"""

import statistics
from collections.abc import Callable, Sequence
from itertools import accumulate, combinations

import attrs

from agentic.app.replay._reading import RecordedCompaction
from agentic.context.budget import Compaction
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.view import Prepared
from agentic.messages import ContextSummary, Message, close_open_rounds, split_rounds

_FEWEST = 8
"""With fewer recorded requests, a fit says little."""
_SLOPES = 60
"""The most requests, spread evenly, whose pairs are compared."""
_LEAST, _MOST = 0.5, 2.0
"""A factor outside of these is no tokenizer's: the record is about something else."""


@attrs.define(eq=False)
class RecordedView:
    """Makes the requests of a recorded session as its program did."""

    compactions: Sequence[RecordedCompaction]
    _made: int = attrs.field(default=0, init=False)
    """How many of the compactions lie before the latest request."""

    async def prepare(
        self, history: list[Message], *, target: CompactionTarget | None = None
    ) -> Prepared:
        """Return the request for a history, which stays whole: nothing goes to the `target`."""
        before = self._made
        while self._made < len(self.compactions):
            if self.compactions[self._made].position > len(history):
                break
            self._made += 1
        if not self._made:
            return Prepared(messages=history, history=history)
        latest = self.compactions[self._made - 1]
        messages = close_open_rounds([*latest.view, *history[latest.resumes :]])
        if self._made == before:
            return Prepared(messages=messages, history=history)
        ids = {id(message) for message in history}
        text = "\n\n".join(each.content for each in latest.view if id(each) not in ids)
        summary = ContextSummary(text, latest.position)
        compaction = Compaction(messages=messages, summary=summary, changed=True)
        return Prepared(messages=messages, history=history, compaction=compaction)


@attrs.frozen(kw_only=True)
class Calibration:
    """How the counted size of a request becomes the provider's. Sizes are in tokens."""

    hidden: int = 0
    """What every request holds beside the messages."""
    factor: float = 1.0
    """How many of the provider's tokens one counted token is."""
    requests: int = 0
    """How many recorded requests it was fitted to and tested on; 0 if there was no record."""
    error: float = 0.0
    """The median error on requests that were not fitted, as a share of the recorded size."""
    uncalibrated_error: float = 0.0
    """The same for the counted size alone."""

    def tokens(self, count: float) -> int:
        """Return the size of a request whose messages were counted."""
        return round(self.factor * count) + self.hidden

    @property
    def sentence(self) -> str:
        """What was fitted, and how far the sizes are from the record."""
        if not self.hidden and self.factor == 1:
            return (
                f"sizes are as counted, since no fit to {self.requests:,} recorded requests is "
                f"closer: median error {self.error:.1%}"
            )
        return (
            f"sizes are fitted to the usage of {self.requests:,} recorded requests: "
            f"{self.hidden:,} hidden tokens (system prompt, tools) and a factor of "
            f"{self.factor:.2f}; median error {self.error:.1%}, without the fit "
            f"{self.uncalibrated_error:.1%}"
        )


@attrs.frozen
class _Sample:
    counted: int
    recorded: int


def calibrate(
    messages: Sequence[Message],
    compactions: Sequence[RecordedCompaction],
    size: Callable[[Message], int],
) -> Calibration:
    """Fit the hidden part and the factor to the recorded usage of a session's requests.

    Every other request is fitted, and the others say how good the fit is.
    """
    samples = _samples(messages, compactions, size)
    if len(samples) < _FEWEST:
        return Calibration()
    even, odd = samples[::2], samples[1::2]
    factor = _slope(even)
    if not _LEAST <= factor <= _MOST:
        return Calibration()
    overhead = max(0, round(statistics.median(s.recorded - factor * s.counted for s in even)))
    fit = Calibration(hidden=overhead, factor=factor, requests=len(samples))
    error, counted_error = _error(odd, fit), _error(odd, Calibration())
    if error >= counted_error:
        # Such as a session in which tools came and went: no two numbers describe it.
        fit, error = Calibration(requests=len(samples)), counted_error
    return attrs.evolve(fit, error=error, uncalibrated_error=counted_error)


def _samples(
    messages: Sequence[Message],
    compactions: Sequence[RecordedCompaction],
    size: Callable[[Message], int],
) -> list[_Sample]:
    """Return the counted and the recorded size of each request with a record."""
    sums = [0, *accumulate(map(size, messages))]
    starts = {each.positions[0] for each in split_rounds(messages)}
    samples = []
    count = 0
    base = 0
    for position, message in enumerate(messages):
        while count < len(compactions) and compactions[count].position <= position:
            latest = compactions[count]
            base = sum(map(size, latest.view)) - sums[latest.resumes]
            count += 1
        usage = message.request_usage
        # Replies that follow one another belong to one request: see `replay`.
        if usage is not None and usage.input and position in starts and position:
            samples.append(_Sample(base + sums[position], usage.input))
    return samples


def _slope(samples: Sequence[_Sample]) -> float:
    """Return the median slope between pairs, which a few requests of other kinds do not move."""
    step = max(1, len(samples) // _SLOPES)
    slopes = [
        (other.recorded - one.recorded) / (other.counted - one.counted)
        for one, other in combinations(samples[::step], 2)
        if other.counted != one.counted
    ]
    return statistics.median(slopes) if slopes else 1.0


def _error(samples: Sequence[_Sample], calibration: Calibration) -> float:
    return statistics.median(
        abs(calibration.tokens(each.counted) - each.recorded) / each.recorded for each in samples
    )
