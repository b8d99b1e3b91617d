"""Texts that are quoted verbatim: the user's requests, notices, and other tools' summaries."""

from collections.abc import Iterator

from agentic.context.digest._section import Line, Section
from agentic.context.digest._text import PARAGRAPH, cut, one_line
from agentic.context.digest._turns import Words, message_ref

__all__ = ["FormerSummaries", "Notices", "Requests"]

_OPENING = 52
"""The length of the short form of an older request in characters, about eight words. For other
texts it is a paragraph."""


class _Quotes(Section):
    def take(self, turn: Words) -> None:
        """Add a text and the reference of its message."""
        if text := turn.text.strip():
            # A summary is not in the history, so the recall tool cannot read it.
            self.add(text, "" if turn.kind == "summary" else message_ref(turn.message))

    def lines(self) -> Iterator[Line]:
        """Yield the texts, oldest first. The newest ranks highest, followed by the first."""
        newest = len(self.known) - 1
        for at, (text, ref) in enumerate(self.known.items()):
            least = _OPENING if self.is_complete and 0 < at < newest else PARAGRAPH
            yield Line(text, cut(one_line(text), least), 2 * at or 2 * newest - 1, ref)


class Requests(_Quotes):
    """What the user asked; the first request and the newest get most of the room."""

    heading = "What the user asked"
    noun = "requests"
    takes = ("request",)
    is_complete = True


class Notices(_Quotes):
    """Messages that the application inserted, and pinned outputs."""

    heading = "Said by the application, or pinned"
    noun = "messages"
    takes = ("notice",)


class FormerSummaries(_Quotes):
    """Summaries from other tools or an older version; nothing else is left of what they cover."""

    heading = "Former summary"
    noun = "summaries"
    takes = ("summary",)
