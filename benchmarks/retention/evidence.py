"""Evidence: whether a text still shows what the agent really went on to use.

A *name* is a path or an identifier in the tool calls of the next messages that stood in the past.
It is *known* if the text has it anywhere. It is *evident* if the text shows it in its context: a
line has it with three more words beside it as they stood in a line of the past, or has the whole
of a line of the past that says no more than that.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import attrs

from agentic.messages import Message, split_rounds
from benchmarks.retention.facts.words import quotes
from benchmarks.retention.shown import argument_texts, size_of, text_of

__all__ = ["POINTS", "Judgement", "Point", "names_in", "points_of", "speaks_in_text"]

POINTS = 12
"""Places in a session at which cuts are judged."""
NEXT = 40
"""So many messages after a place are its future."""
BESIDE = 3
"""So many words must stand beside a name."""
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^\s\"'`()\[\]{}<>,;:=|*!?&%$#@^\\]+")
_JOINED = re.compile(r"\w[./_~-]+\w")
_CODE = re.compile(r"^```.*?\n(.*?)^```|<command>(.*?)</command>", re.DOTALL | re.MULTILINE)


@attrs.frozen
class Judgement:
    """What a cut kept, as shares from 0 to 1; None where there was nothing to keep."""

    evidence: float
    known: float
    requests: float | None


@attrs.define(slots=False)
class Point:
    """A place in a session: what came before it, and what came after."""

    past: list[Message]
    names: list[str]
    """What the future uses of the past; at least one."""
    in_text: bool = False
    """Whether actions stand in the replies: then only the first user message is the user's."""

    @cached_property
    def size(self) -> float:
        """The size of the past, in tokens."""
        return size_of(text_of(self.past))

    def judge(self, kept: str) -> Judgement:
        """Return what a text keeps of what will be needed.

        >>> past = [Message("user", "Mend the parser in src/parser.py first.")]
        >>> Point(past, ["src/parser.py"]).judge("The file src/parser.py was named.")
        Judgement(evidence=0.0, known=1.0, requests=0.0)
        >>> Point(past, ["src/parser.py"]).judge("- Mend the parser in src/parser.py").evidence
        1.0
        """
        lines = [" ".join(line.split()) for line in kept.split("\n")]
        known = [name for name in self.names if name in kept]
        evident = [
            name for name in known if any(self._shows(name, line) for line in lines if name in line)
        ]
        asked = [message.content for message in self.past if message.role == "user"]
        asked = [text for text in (asked[:1] if self.in_text else asked) if text.strip()]
        return Judgement(
            len(evident) / len(self.names),
            len(known) / len(self.names),
            sum(quotes(kept, text) for text in asked) / len(asked) if asked else None,
        )

    def _shows(self, name: str, line: str) -> bool:
        if any(short in line for short in self._short_lines(name)):
            return True
        words = [found.span() for found in _WORD.finditer(line)]
        return any(
            line[start:end] in self._text
            for found in re.finditer(re.escape(name), line)
            for start, end in _windows(words, found.start(), found.end())
        )

    def _short_lines(self, name: str) -> list[str]:
        """Return the lines of the past with a name and fewer than three words beside it."""
        if name not in self._short_by_name:
            self._short_by_name[name] = [
                line
                for line in self._lines
                if name in line and len(_WORD.findall(line.replace(name, " "))) < BESIDE
            ]
        return self._short_by_name[name]

    @cached_property
    def _short_by_name(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _lines(self) -> list[str]:
        lines = text_of(self.past).split("\n")
        return list(dict.fromkeys(" ".join(line.split()) for line in lines))

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._lines)


def _windows(words: list[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces of a line that hold a name and three words beside it."""
    before = [word[0] for word in words if word[1] <= start]
    after = [word[1] for word in words if word[0] >= end]
    for earlier in range(BESIDE + 1):
        later = BESIDE - earlier
        if earlier <= len(before) and later <= len(after):
            yield before[-earlier] if earlier else start, after[later - 1] if later else end


def speaks_in_text(messages: Sequence[Message]) -> bool:
    """Return whether actions stand in the replies, and outputs come back as user messages."""
    return not any(message.tool_calls for message in messages)


def points_of(messages: Sequence[Message], number: int = POINTS) -> Iterator[Point]:
    """Yield places spread evenly over a session, each before a reply, that have a future.

    >>> from agentic.messages import ToolCall
    >>> look = Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}')])
    >>> [point.names for point in points_of([Message("user", "Mend a.py."), look], 1)]
    [['a.py']]
    """
    in_text = speaks_in_text(messages)
    starts = {found.positions[0] for found in split_rounds(messages)}
    for step in range(1, number + 1):
        at = step * len(messages) // (number + 1)
        while at < len(messages) and at not in starts:
            at += 1
        past = list(messages[:at])
        text = text_of(past)
        used = {name: None for text in _future(messages, at, in_text) for name in names_in(text)}
        names = [name for name in used if name in text]
        if names:
            yield Point(past, names, in_text)


def _future(messages: Sequence[Message], at: int, in_text: bool) -> Iterator[str]:
    for message in messages[at : at + NEXT]:
        for call in message.tool_calls:
            yield from argument_texts(call)
        if in_text and message.role == "assistant":
            for fenced, tagged in _CODE.findall(message.content):
                yield fenced or tagged


def names_in(text: str) -> Iterator[str]:
    """Yield the paths and identifiers in a text: what is no word of a language, nor a bare number.

    A name has words joined by a slash, dot, dash or underscore, or letters with digits, or a
    capital behind a small letter; a number has four digits or more.

    >>> list(names_in("Mend ./src/a.py and parseLine, not B or 12."))
    ['./src/a.py', 'parseLine']
    """
    for piece in _PIECE.findall(text):
        name = piece.rstrip("./~-+").lstrip("+-")
        if 3 < len(name) < 100 and (_JOINED.search(name) or _is_mixed(name)):
            yield name


def _is_mixed(name: str) -> bool:
    digits = sum(letter.isdigit() for letter in name)
    if name.isdigit():
        return digits >= 4
    small_then_capital = any(a.islower() and b.isupper() for a, b in pairwise(name))
    return small_then_capital or (digits > 0 and any(map(str.isalpha, name)))
