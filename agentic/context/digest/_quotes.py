"""What is quoted as it stands: the user's requests, notices by others, summaries by others."""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._cut import PARAGRAPH, cut, one_line
from agentic.context.digest._references import message_ref
from agentic.context.digest._section import Line, Section
from agentic.context.digest._turns import Asked, Noted, Summarized, Turn

__all__ = ["FormerSummaries", "Notices", "Requests"]

_OPENING, _STORED_OPENING = 52, 100
"""Characters that an older request has at least, eight words or so, and that the next generation
gets. Other texts have a paragraph."""


@attrs.define
class _Quote:
    ref: str = ""
    """The message that it is from, if it is a message."""
    times: int = 1


@attrs.define
class _Quotes(Section[_Quote]):
    record = _Quote

    def lines(self) -> Iterator[Line]:
        """Yield the texts from the first to the newest, which is worth most, and the first next."""
        newest = len(self.known) - 1
        for at, (text, quote) in enumerate(self.known.items()):
            times = f" ({quote.times} times)" if quote.times > 1 else ""
            short = cut(one_line(text), self._least(at)) + times
            yield Line(text + times, short, at or newest - 0.5, quote.ref)

    def _least(self, _at: int) -> int:
        return PARAGRAPH

    def _put(self, text: str, ref: str) -> None:
        """Add a text; one that was there before moves to the end."""
        if text.strip():
            former = self.known.pop(text.strip(), None)
            self.known[text.strip()] = _Quote(ref, former.times + 1 if former else 1)


class Requests(_Quotes):
    """What the user asked: the first request and the newest have most of the room."""

    def take(self, turn: Turn) -> None:
        """Take in a request."""
        if isinstance(turn, Asked):
            self._put(turn.text, message_ref(turn.message))

    def to_plain(self) -> list[list[Any]]:
        """Return the requests, of most of them only the opening."""
        plain = super().to_plain()
        for entry in plain[1:-1]:
            entry[0] = cut(entry[0], _STORED_OPENING)
        return plain

    def _least(self, at: int) -> int:
        return _OPENING if 0 < at < len(self.known) - 1 else PARAGRAPH


class Notices(_Quotes):
    """What the application said in between, and what is pinned."""

    def take(self, turn: Turn) -> None:
        """Take in a system message, or a pinned one."""
        if isinstance(turn, Noted):
            self._put(turn.text, message_ref(turn.message))


class FormerSummaries(_Quotes):
    """Summaries that somebody else wrote, or an older version: the best there is of what was."""

    def take(self, turn: Turn) -> None:
        """Take in a summary."""
        if isinstance(turn, Summarized):
            self._put(turn.text, "")
