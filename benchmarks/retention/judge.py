"""The judge of a cut, which `agentic replay` uses too: `agentic.cli.replay` has it.

Here a point also knows the session that it belongs to.
"""

from collections.abc import Iterator
from functools import cached_property

import attrs

from agentic.cli import replay
from agentic.cli.replay import POINTS, Judgement
from agentic.messages import Message
from benchmarks.retention.sessions import Session
from benchmarks.retention.shown import size_of

__all__ = ["POINTS", "Judgement", "Point", "points_of"]


@attrs.define(slots=False)
class Point:
    """A place in a session."""

    session: Session
    place: replay.Point

    @property
    def past(self) -> list[Message]:
        """What came before it."""
        return self.place.past

    @cached_property
    def size(self) -> float:
        """The size of the past, in tokens."""
        return size_of(self.place.text)

    def judge(self, kept: str) -> Judgement:
        """Say what a text keeps of what will be needed."""
        return self.place.judge(kept)


def points_of(session: Session, number: int = POINTS) -> Iterator[Point]:
    """Give places spread evenly over a session, each before a reply, that have a future."""
    return (Point(session, place) for place in replay.points_of(session.messages, number))
