"""The sections of a digest, in the order in which a successor reads them.

To add one, write a class with the four methods of `Section`, and add a line to `make_sections`.
"""

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._files import ChangedFiles, FileRecord, ReadFiles
from agentic.context.digest._quotes import FormerSummaries, Notices
from agentic.context.digest._requests import Requests
from agentic.context.digest._section import Section
from agentic.context.digest._statements import Statements
from agentic.context.digest._status import Status
from agentic.context.digest._tools import ToolTable

__all__ = ["Place", "make_sections"]


@attrs.frozen
class Place:
    """Where a section stands, and what room it has."""

    key: str
    """What its data are called in the notes for the next generation. Never change one."""
    heading: str
    noun: str
    share: float
    """Of the room. What all of them leave is the least that the index has."""
    section: Section


def make_sections(tools: ToolTable) -> list[Place]:
    """Return the sections of a new digest."""
    files, commands = FileRecord(tools), Commands(tools)
    return [
        Place("requests", "What the user asked", "requests", 0.28, Requests()),
        Place("notices", "Said by the application, or pinned", "messages", 0.03, Notices()),
        Place("former", "Former summary", "summaries", 0.06, FormerSummaries()),
        Place("status", "Where things stand", "items", 0.15, Status(commands)),
        Place("statements", "Decided and found", "statements", 0.03, Statements()),
        Place("changed", "Files changed", "folders", 0.12, ChangedFiles(files)),
        Place("read", "Files read", "folders", 0.02, ReadFiles(files)),
        Place("commands", "Commands", "commands", 0.04, commands),
    ]
