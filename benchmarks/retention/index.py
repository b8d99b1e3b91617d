"""A crude index of lines: the last line of each identifier, and the newest messages.

What a digest must beat: an afternoon's work, without sections, outcomes, or an eye on what a line
costs. Identifiers rank by how often they were mentioned, half as much after 200 messages, three
times as much where they were said or called as in what a tool put out.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import attrs

from agentic.messages import Message
from benchmarks.retention.evidence import names_in
from benchmarks.retention.shown import CHARS_PER_TOKEN, newest, size_of, text_of

__all__ = ["line_index", "newest_lines"]

_HALF_LIFE, _SAID, _PUT_OUT = 200, 3, 1
_WIDTH = 80
"""So much of a line is shown, in characters."""


def line_index(past: list[Message], budget: int, percent: int = 50) -> str:
    """Keep an index in a part of the budget, and the newest messages in the rest.

    What the index does not need goes to the newest messages.
    """
    kept, before = newest(past, budget * (100 - percent) // 100)
    room = (budget - size_of(kept) - 1) * 4
    index = _Index.of(before)
    chosen: list[str] = []
    shown: set[str] = set()
    for term in sorted(index.scores, key=index.scores.__getitem__, reverse=True):
        line = _around(term, index.lines[term])
        if term not in shown and len(line) < room:
            room -= len(line) + 1
            chosen.append(line)
            shown.update(names_in(line))
    text = "\n".join(chosen)
    kept, _ = newest(past, budget - size_of(text) - 1)
    return "\n".join(part for part in (text, kept) if part)


def newest_lines(past: Sequence[Message], budget: int) -> str:
    """Keep the newest whole lines that each have a name which no later line has, oldest first."""
    room = budget * CHARS_PER_TOKEN
    seen: set[str] = set()
    kept: list[str] = []
    for message in reversed(past):
        for line in reversed(text_of([message]).split("\n")):
            names = set(names_in(line)) - seen
            if names and len(line) < room:
                room -= len(line) + 1
                seen |= names
                kept.append(line)
    return "\n".join(reversed(kept))


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
            for term in names_in(line):
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
