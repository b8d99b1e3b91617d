"""The sections of a digest, in the order in which a successor reads them.

To add one, write a class with the four methods of `Section`, and a line here.
"""

from collections.abc import Callable

import attrs

from agentic.context.digest._quotes import FormerSummaries, Notices
from agentic.context.digest._requests import Requests
from agentic.context.digest._section import Section
from agentic.context.digest._statements import Statements
from agentic.context.digest._status import Status
from agentic.context.digest._tools import ToolTable

__all__ = ["SECTIONS", "Place"]


@attrs.frozen
class Place:
    """Where a section stands, and what room it has."""

    key: str
    """What its data are called in the notes for the next generation. Never change one."""
    heading: str
    noun: str
    share: float
    """Of the room. What all of them leave is the least that the index has."""
    make: Callable[[ToolTable], Section]


SECTIONS = (
    Place("requests", "What the user asked", "requests", 0.34, lambda _: Requests()),
    Place("notices", "Said by the application, or pinned", "messages", 0.05, lambda _: Notices()),
    Place("former", "Former summary", "summaries", 0.1, lambda _: FormerSummaries()),
    Place("status", "Where things stand", "items", 0.12, lambda _: Status()),
    Place("statements", "Decided and found", "statements", 0.06, lambda _: Statements()),
)
