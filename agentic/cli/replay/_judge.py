"""The judge of a cut: the identifiers that the agent really went on to use.

A term is a path or an identifier in the tool calls of the next messages that the past contained.
It is *known* if the kept text has it anywhere; it is *evident* if a line of the kept text holds a
whole line of the past with the term in it, or 40 characters or more of one around the term.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import attrs

from agentic.cli.replay._text import argument_texts, text_of
from agentic.messages import Message, split_rounds

__all__ = ["POINTS", "Judgement", "Point", "points_of", "speaks_in_text", "terms_in"]

POINTS = 12
"""Places in a session at which cuts are judged."""
_FUTURE, _WINDOW, _REQUEST = 40, 40, 400
_WORD = re.compile(r"[\w./~-]+")
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9]|[^\W0-9][0-9]|[0-9]{4}")
_FENCED = re.compile(r"```\w*\n(.*?)(?:```|\Z)", re.DOTALL)


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
    terms: list[str]
    """What the future uses of the past; at least one."""
    in_text: bool = False
    """Whether actions stand in the replies: then only the first user message is the user's."""

    @cached_property
    def text(self) -> str:
        """The past as a text."""
        return text_of(self.past)

    def judge(self, kept: str) -> Judgement:
        """Say what a text keeps of what will be needed.

        >>> task = Message("user", "Mend src/parser.py.")
        >>> Point([task], ["src/parser.py"]).judge("It was about src/parser.py")
        Judgement(evidence=0.0, known=1.0, requests=0.0)
        """
        lines = kept.split("\n")
        known = [term for term in self.terms if term in kept]
        evident = [term for term in known if self._is_evident(term, lines)]
        asked = self._requests
        words = sum(map(len, asked))
        return Judgement(
            len(evident) / len(self.terms),
            len(known) / len(self.terms),
            sum(len(text) for text in asked if text in kept) / words if words else None,
        )

    def _is_evident(self, term: str, lines: list[str]) -> bool:
        with_term = [line.strip() for line in lines if term in line]
        return any(line in self._lines for line in with_term) or any(
            self._holds_short_line(term, line) or self._holds_window(term, line)
            for line in with_term
        )

    def _holds_short_line(self, term: str, line: str) -> bool:
        return any(short in line for short in self._short_lines(term))

    def _short_lines(self, term: str) -> list[str]:
        if term not in self._short_lines_by_term:
            found = [line for line in self._lines if len(line) < _WINDOW and term in line]
            self._short_lines_by_term[term] = found
        return self._short_lines_by_term[term]

    def _holds_window(self, term: str, line: str) -> bool:
        size = max(_WINDOW, len(term))
        for found in re.finditer(re.escape(term), line):
            first, last = max(found.end() - size, 0), min(found.start(), len(line) - size)
            if any(line[at : at + size] in self.text for at in range(first, last + 1)):
                return True
        return False

    @cached_property
    def _lines(self) -> set[str]:
        return {line.strip() for line in self.text.split("\n")}

    @cached_property
    def _short_lines_by_term(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _requests(self) -> list[str]:
        """The user's own words: where actions stand in the replies, the rest is outputs."""
        asked = [message.content.strip() for message in self.past if message.role == "user"]
        asked = asked[:1] if self.in_text else asked
        return [text[:_REQUEST].strip() for text in asked if text]


def speaks_in_text(messages: Sequence[Message]) -> bool:
    """Tell whether actions stand in the replies, and outputs come back as user messages.

    >>> speaks_in_text([Message("assistant", "I run it: `ls`")])
    True
    """
    return not any(message.tool_calls for message in messages)


def points_of(messages: Sequence[Message], number: int = POINTS) -> Iterator[Point]:
    """Give places spread evenly over a session, each before a reply, that have a future.

    >>> from agentic.messages import ToolCall
    >>> look = Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}')])
    >>> [point.terms for point in points_of([Message("user", "Mend a.py."), look], 1)]
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
        used = {term: None for text in _calls(messages, at, in_text) for term in terms_in(text)}
        terms = [term for term in used if term in text]
        if terms:
            yield Point(past, terms, in_text)


def _calls(messages: Sequence[Message], at: int, in_text: bool) -> Iterator[str]:
    for message in messages[at : at + _FUTURE]:
        for call in message.tool_calls:
            yield from argument_texts(call)
        if in_text and message.role == "assistant":
            yield from _FENCED.findall(message.content)


def terms_in(text: str) -> Iterator[str]:
    """Give the paths and identifiers in a text.

    >>> list(terms_in("Mend ./src/a.py, not B."))
    ['./src/a.py']
    """
    for word in _WORD.findall(text):
        term = word.strip("./~-") if not word.startswith(("/", "~", ".")) else word.rstrip("./~-")
        if 4 <= len(term) <= 120 and _NAMED.search(term):  # noqa: PLR2004  a short or huge word names little
            yield term
