"""A crude index of lines: the last line of each identifier, and the newest messages.

What a digest must beat: an afternoon's work, without sections, outcomes, or an eye on what a line
costs. Identifiers rank by how often they were mentioned, half as much after 200 messages, three
times as much where they were said or called as in what a tool put out.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import attrs

from agentic.cli.replay import terms_in
from agentic.messages import Message
from benchmarks.retention.shown import newest, size_of

__all__ = ["line_index"]

_NEWEST = 0.5
"""The share of the newest messages."""
_HALF_LIFE, _SAID, _PUT_OUT = 200, 3, 1
_WIDTH = 80
"""So much of a line is shown, in characters."""


def line_index(past: list[Message], budget: int) -> str:
    """Keep the newest messages in half of the budget, and an index of those before in the rest."""
    kept, before = newest(past, int(budget * _NEWEST))
    room = (budget - size_of(kept) - 1) * 4
    index = _Index.of(before)
    chosen: list[str] = []
    shown: set[str] = set()
    for term in sorted(index.scores, key=index.scores.__getitem__, reverse=True):
        line = _around(term, index.lines[term])
        if term not in shown and len(line) < room:
            room -= len(line) + 1
            chosen.append(line)
            shown.update(terms_in(line))
    return "\n".join([*chosen, kept])


@attrs.define
class _Index:
    scores: defaultdict[str, float] = attrs.field(factory=lambda: defaultdict(float))
    lines: dict[str, str] = attrs.field(factory=dict)
    """The last line of each identifier."""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "_Index":
        index = cls()
        for age, message in zip(range(len(messages), 0, -1), messages, strict=True):
            for text, weight in _texts(message):
                index.add(text, weight * 2 ** (-age / _HALF_LIFE))
        return index

    def add(self, text: str, weight: float) -> None:
        for line in text.split("\n"):
            for term in terms_in(line):
                self.scores[term] += weight
                self.lines[term] = line.strip()


def _texts(message: Message) -> Iterator[tuple[str, float]]:
    yield message.content, _SAID
    for call in message.tool_calls:
        yield call.arguments, _SAID
    for result in message.tool_results:
        yield result.text, _PUT_OUT


def _around(term: str, line: str) -> str:
    if len(line) <= _WIDTH:
        return line
    start = max(line.find(term) - (_WIDTH - len(term)) // 2, 0)
    return line[start : start + max(_WIDTH, len(term))]
