"""Fact: the characters of a text that stand in lines which nobody cut."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import attrs

from benchmarks.retention.facts.transcript import Raw, source_lines

__all__ = ["Sources", "is_clipped", "whole_characters"]

QUOTATION = 5
"""So many words of a source line in a row are a quotation of it, in a line that says more."""
SHORTEST = 3
"""A line of fewer words is a name or a label, wherever else it stands."""
_MARKER = re.compile(r"\s*(?:(?:[-*+>\u2022]|[0-9]+[.)])\s+(?:\[[ xX]\]\s+)?)?")
_MARK = r"(?:\.\.\.|\u2026|\[(?:\.\.\.|\u2026)[^\]]*\])"
_BEGINS = re.compile(rf"[\"'`(*]*{_MARK}")
_ENDS = re.compile(rf"(.*?)\s*{_MARK}[\"'`)*.:,]*$", re.DOTALL)
_SENTENCE_END = "[.!?\u3002\uff01\uff1f][\"'`)*\u201d]*"
_COUNT = re.compile(r"\W*(?:and )?[0-9,]+ (?:more|other|line|char)")
_BEFORE = re.compile(
    rf"(?:^[^\w]*(?:[\w./-]*:?[0-9]+[:\t -]+)?|.*?(?:{_SENTENCE_END}|[:;|&\"'`])\s*)$", re.DOTALL
)
_AFTER = re.compile("^(?:[^\\w]*$|\\s*[.!?\u3002\uff01\uff1f;|&\"'`]|:\\s)", re.DOTALL)
_ENDS_SENTENCE = re.compile(rf".*{_SENTENCE_END}$", re.DOTALL)
_COMMENT = re.compile(r"\s*<!--.*-->\s*$")


@attrs.define(slots=False)
class Sources:
    """The lines of a transcript, with single spaces, for finding a quotation in them."""

    lines: list[str]

    @classmethod
    def of(cls, messages: Sequence[Raw]) -> "Sources":
        """Return the lines of some messages."""
        return cls([" ".join(line.split()) for line in source_lines(messages)])

    @cached_property
    def whole(self) -> frozenset[str]:
        """The lines, for finding one that is quoted whole."""
        return frozenset(self.lines)

    @cached_property
    def text(self) -> str:
        """The lines one below the other, each once, for finding a part of one."""
        return "\n" + "\n".join(dict.fromkeys(self.lines)) + "\n"

    def breaks_off(self, piece: str) -> bool:
        """Return whether a piece stands in source lines, and in none of them as a whole.

        It is whole where it begins with the line or after the end of a sentence, clause, command
        or quotation, and where it ends with one.
        """
        at = self.text.find(piece)
        found = at >= 0
        for _ in range(_MANY):
            if at < 0:
                break
            start = self.text.rfind("\n", 0, at + 1) + 1
            end = self.text.find("\n", at + len(piece))
            before, after = self.text[start:at], self.text[at + len(piece) : end]
            if _BEFORE.match(before) and (_AFTER.match(after) or _ENDS_SENTENCE.match(piece)):
                return False
            at = self.text.find(piece, at + 1)
        return found

    def quotations(self, text: str) -> Iterator[str]:
        """Yield the longest pieces of a text, in whole words, that stand in a source line."""
        words = text.split()
        start = 0
        while start + QUOTATION <= len(words):
            end = start + QUOTATION
            if " ".join(words[start:end]) not in self.text:
                start += 1
                continue
            while end < len(words) and " ".join(words[start : end + 1]) in self.text:
                end += 1
            yield " ".join(words[start:end])
            start = end


_MANY = 50
"""Places of one piece that are looked at: a piece that is cut at fifty of them is cut."""


def whole_characters(sources: Sources, view: str) -> tuple[int, int]:
    """Count the characters of a view in lines that are not clipped, and in all lines.

    A line is clipped if, without its list marker, it begins or ends with a mark of a cut, or if it
    quotes a source line and breaks off inside of it, with a mark or without. It is not clipped if
    it is a source line; if its mark of a cut follows the end of a sentence, since then it is whole
    sentences; or if it counts what was left out. One or two words are a name, and never clipped.
    Empty lines and comments do not count.
    """
    lines = [line.rstrip() for line in view.split("\n") if line.strip()]
    lines = [line for line in lines if not _COMMENT.match(line)]
    whole = sum(len(line) for line in lines if not is_clipped(line, sources))
    return whole, sum(map(len, lines))


def is_clipped(line: str, sources: Sources) -> bool:
    """Return whether a line of a text breaks off inside of what it quotes; see above."""
    plain = " ".join(line.split())
    text = _MARKER.sub("", plain, count=1)
    bare = text.strip("`")
    if {plain, text, bare} & sources.whole or _COUNT.match(text) or line.startswith("#"):
        return False
    if _BEGINS.match(text):
        return True
    ends = _ENDS.fullmatch(text)
    if ends and not _ENDS_SENTENCE.match(ends[1]):
        return True
    bare = (ends[1] if ends else bare).strip("`")
    if bare in sources.text:
        return len(bare.split()) >= SHORTEST and sources.breaks_off(bare)
    pieces = (piece for span in bare.split("`") for piece in sources.quotations(span))
    return any(sources.breaks_off(piece) for piece in pieces)
