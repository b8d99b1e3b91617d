"""Probes: their kinds, the cut that they are taken from, and how a text answers them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import attrs

from benchmarks.retention.facts.requests import requests_of
from benchmarks.retention.facts.transcript import (
    Call,
    Raw,
    calls_of,
    content_of,
    source_lines,
    speaks_in_text,
)

__all__ = ["KINDS", "MOST", "Cut", "Kind", "Probe", "newest", "sentences_of", "spaced"]

Kind: TypeAlias = Literal["recall", "artifact", "continuation", "decision"]
KINDS: dict[str, tuple[Kind, str]] = {
    "task": ("recall", "the newest request"),
    "request": ("recall", "the first request and the ten before the newest"),
    "value": ("recall", "a version, port, colour, amount or id that is used next"),
    "name": ("recall", "an identifier that is used next"),
    "changed": ("artifact", "a file that was changed and not put back"),
    "edited": ("artifact", "a file of the past that is edited next"),
    "created": ("artifact", "a file that was created, and is used next"),
    "read": ("artifact", "a file of the past that is read next"),
    "command": ("continuation", "a command that is run again next"),
    "failure": ("continuation", "a command that still fails, by its error"),
    "step": ("continuation", "the newest statement that says something"),
    "todo": ("continuation", "a to-do that is open"),
    "rule": ("decision", "a rule of the user"),
    "choice": ("decision", "a sentence that gives a reason, about a thing that is used next"),
    "finding": ("decision", "a sentence that names a cause, about a thing that is used next"),
    "verdict": ("decision", "what the user answered, or why a call was refused"),
}
"""The sixteen kinds: the class of each, and what it asks for."""

NEXT = 40
"""So many messages after a cut are what came next."""
MOST = 10
"""The most probes of a kind at a cut, the newest or the first needed, so that no kind floods."""
LONGEST, SHORTEST_WORDS = 160, 4
"""The longest answer that is asked for in full, in characters: of a longer one, its whole words up
to there. A sentence has four words at least."""
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'`)*\u201d]*\s+|(?<=[\u3002\uff01\uff1f])|\n")
_FENCED = re.compile(r"```.*?(?:```|\Z)|<command>.*?(?:</command>|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*+>\u2022#]+|[0-9]{1,3}[.)])\s+")


def spaced(text: str) -> str:
    r"""Return a text with single spaces.

    >>> spaced("  a\n b ")
    'a b'
    """
    return " ".join(text.split())


def sentences_of(text: str) -> Iterator[str]:
    r"""Yield the sentences of prose, without list markers and blocks of code.

    >>> list(sentences_of("- It fails. Why?\n```\nx = 1\n```"))
    ['It fails.', 'Why?']
    """
    for line in _FENCED.sub("\n", text).split("\n"):
        for sentence in _SENTENCE_END.split(_BULLET.sub("", line)):
            if sentence.strip():
                yield spaced(sentence)


def newest(texts: Iterable[str], most: int = MOST) -> list[str]:
    """Return the newest different texts, the newest last."""
    return list(dict.fromkeys(reversed([*texts])))[:most][::-1]


@attrs.frozen
class Probe:
    """A question with its answers, of which a text must contain one."""

    kind: str
    answers: tuple[tuple[str, ...], ...]
    """The ways to answer: of one of them, every part must stand in one and the same line."""

    @classmethod
    def saying(cls, kind: str, *texts: str, most: int = LONGEST) -> "Probe":
        """Return a probe that any of the texts answers; a long one by its first words."""
        return cls(kind, tuple((_clip(spaced(text), most),) for text in texts))

    @property
    def of(self) -> Kind:
        """The class of the probe."""
        return KINDS[self.kind][0]

    def lines_in(self, lines: Sequence[str]) -> list[str]:
        """Return the lines of a text, each with single spaces, that answer the probe."""
        return [line for line in lines if self._answers(line)]

    def is_answered(self, lines: Sequence[str]) -> bool:
        """Return whether a text answers, within a line or by a sentence that goes over several.

        >>> Probe.saying("command", "make test").is_answered(["- `make test` (ok)"])
        True
        >>> Probe.saying("command", "make test").is_answered(["- `make tests`"])
        False
        """
        return any(map(self._answers, lines)) or self._answers(" ".join(lines))

    def may_stand_in(self, text: str) -> bool:
        """Return whether all parts of an answer stand anywhere in a text with single spaces."""
        return any(all(part in text for part in parts) for parts in self.answers)

    def _answers(self, line: str) -> bool:
        return any(all(_stands(part, line) for part in parts) for parts in self.answers)


def _clip(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0] or text[:most]


def _stands(part: str, line: str) -> bool:
    """Return whether a part stands in a line and is no piece of a longer word there."""
    at = line.find(part)
    while at >= 0:
        end = at + len(part)
        begins = at == 0 or not (part[0].isalnum() and _joins(line[at - 1]))
        ends = end == len(line) or not (part[-1].isalnum() and _joins(line[end]))
        if begins and ends:
            return True
        at = line.find(part, at + 1)
    return False


def _joins(letter: str) -> bool:
    # Scripts without blanks have letters on both sides of every word.
    return letter.isascii() and (letter.isalnum() or letter == "_")


@attrs.define(slots=False)
class Cut:
    """A transcript that is cut at a position: what came before, and what came next."""

    messages: Sequence[Raw]
    at: int

    @cached_property
    def past(self) -> list[Raw]:
        """The messages before the cut."""
        return list(self.messages[: self.at])

    @cached_property
    def future(self) -> list[Raw]:
        """The messages that came next."""
        return list(self.messages[self.at : self.at + NEXT])

    @cached_property
    def in_text(self) -> bool:
        """Whether actions stand in the replies, and outputs come back as user messages."""
        return speaks_in_text(self.messages)

    @cached_property
    def past_calls(self) -> list[Call]:
        """The calls before the cut."""
        return calls_of(self.past)

    @cached_property
    def future_calls(self) -> list[Call]:
        """The calls that came next."""
        return calls_of(self.future)

    @cached_property
    def requests(self) -> list[str]:
        """What the user wrote before the cut, a text a message."""
        return requests_of(self.past)

    @cached_property
    def text(self) -> str:
        """All that was said, called and put out before the cut, a line each with single spaces."""
        return "\n".join(map(spaced, source_lines(self.past)))

    @cached_property
    def replies(self) -> list[str]:
        """What the assistant said before the cut."""
        texts = [content_of(each) for each in self.past if each.get("role") == "assistant"]
        return [text for text in texts if text.strip()]

    @cached_property
    def needs(self) -> str:
        """What the future calls say: the texts in their arguments."""
        return "\n".join(
            str(value) for call in self.future_calls for value in call.arguments.values()
        )
