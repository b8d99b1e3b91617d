"""Texts that are quoted as they stand: summaries by others, system messages, pinned messages."""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._cut import cut, one_line
from agentic.context.digest._references import message_ref
from agentic.context.digest._section import Line
from agentic.context.digest._turns import Noted, Summarized, Turn

__all__ = ["FormerSummaries", "Notices"]

_SUMMARY, _NOTICE, _STORED = 600, 300, 6000
"""Characters that a summary and a notice have at least, and that the next generation gets."""


@attrs.define
class _Quotes:
    _texts: dict[str, tuple[str, bool]] = attrs.field(factory=dict)
    """The texts with their reference, and whether each is pinned."""

    def to_plain(self) -> Any:
        """Return the texts."""
        return [[cut(text, _STORED), ref, pinned] for text, (ref, pinned) in self._texts.items()]

    def restore(self, plain: Any) -> None:
        """Go on from the texts of a former generation."""
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case [str(text), str(ref), bool(pinned)]:
                    self._texts[text] = ref, pinned

    def _lines(self, least: int) -> Iterator[Line]:
        for age, (text, (ref, pinned)) in enumerate(self._texts.items()):
            rank = age + pinned * len(self._texts)
            yield Line(text, cut(one_line(text), least), rank, ref)


@attrs.define
class FormerSummaries(_Quotes):
    """Summaries that somebody else wrote, or an older version: the best there is of what was."""

    def take(self, turn: Turn) -> None:
        """Take in a summary."""
        if isinstance(turn, Summarized) and turn.text.strip():
            self._texts[turn.text.strip()] = "", False

    def lines(self) -> Iterator[Line]:
        """Yield the summaries, the newest last."""
        yield from self._lines(_SUMMARY)


@attrs.define
class Notices(_Quotes):
    """What the application said in between, and what is pinned."""

    def take(self, turn: Turn) -> None:
        """Take in a system message, or a pinned one."""
        if isinstance(turn, Noted) and turn.text.strip():
            self._texts[turn.text.strip()] = message_ref(turn.message), turn.message.pinned

    def lines(self) -> Iterator[Line]:
        """Yield them in the order in which they came."""
        yield from self._lines(_NOTICE)
