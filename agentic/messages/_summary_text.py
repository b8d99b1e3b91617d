"""What a compactor says, and the data that its next generation needs beside the text."""

import json
from collections.abc import Mapping
from typing import Any, Self

from agentic.errors import ConfigError

__all__ = ["SummaryText", "copy_notes"]


class SummaryText(str):
    """The text of a summary, with notes for the compactor that folds it into the next one.

    A compactor that has none returns a plain str. The notes are never sent to a model, and count
    for nothing in tokens. They are stored with the summary and in a View's state, so they should
    stay a few kilobytes. Like any str it is compared by its text alone, and `strip()` and all other
    methods return a plain str, without the notes.

    >>> text = SummaryText("The build is green.", {"example": {"v": 1, "files": ["a.py"]}})
    >>> text, text.notes
    ('The build is green.', {'example': {'v': 1, 'files': ['a.py']}})
    >>> SummaryText(text).notes == text.notes, SummaryText("from anybody").notes
    (True, {})

    Raises:
        ConfigError: a text that is no str, or notes that are not plain JSON data.
    """

    __slots__ = ("_notes",)
    _notes: Mapping[str, Any]

    def __new__(cls, text: str, notes: Mapping[str, Any] | None = None) -> Self:
        """Make one; without `notes`, it has those of `text`, if that is a SummaryText."""
        if not isinstance(text, str):
            raise ConfigError("text", text, "a str", "pass the text of the summary")
        if notes is None and isinstance(text, SummaryText):
            notes = text.notes
        made = super().__new__(cls, text)
        made._notes = copy_notes({} if notes is None else notes, "SummaryText.notes")
        return made

    @property
    def notes(self) -> Mapping[str, Any]:
        """Plain JSON data. Treat it as read-only."""
        return self._notes

    def __reduce__(self) -> tuple[Any, ...]:
        """Have a copy, also one that was pickled, keep the notes."""
        return type(self), (str(self), self._notes)


def copy_notes(given: object, name: str) -> dict[str, Any]:
    """Return a copy of notes that shares nothing with them.

    >>> copy_notes({"files": ["a.py"]}, "notes")
    {'files': ['a.py']}

    Raises:
        ConfigError: they would not be the same after a store wrote them as JSON and read them.
    """
    if isinstance(given, Mapping):
        notes = dict(given)
        try:
            if not notes:
                return {}
            # Not escaped: two surrogates that stand next to each other would be read as one.
            copy = json.loads(json.dumps(notes, ensure_ascii=False, allow_nan=False))
            if copy == notes:
                return dict(copy)
        except (TypeError, ValueError, RecursionError):  # no JSON, NaN or a cycle, too deep
            pass
    raise ConfigError(
        name,
        given,
        "a mapping of plain JSON data",
        "use str for keys; dicts, lists (no tuples), texts, finite numbers, bools and None",
    )
