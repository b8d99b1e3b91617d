"""Texts that are read again after a compaction, and shown behind its summary.

They are among the notes of the summary: the history and the archive do not have them, the next
compaction drops them, and a redaction, which removes all notes, removes them, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from agentic.messages._message import ContextSummary, Message
from agentic.messages._plain import from_plain, to_plain

_NOTES, _VERSION = "restored", 1
"""The key and the format of restored texts among the notes of a summary."""


@attrs.frozen
class Restoration:
    """What a view shows behind a summary, in the order in which it is shown."""

    messages: tuple[Message, ...]
    """User messages, which a provider accepts everywhere. None of them is a request."""

    def to_notes(self) -> dict[str, Any]:
        """Return it as notes of a summary, in plain JSON data; empty if there is nothing in it."""
        plain = [to_plain(message) for message in self.messages]
        return {_NOTES: {"v": _VERSION, "messages": plain}} if plain else {}

    @classmethod
    def of_summary(cls, summary: ContextSummary) -> "Restoration":
        """Return that of a summary; an empty one if it has none, or one of an unknown format."""
        plain = summary.notes.get(_NOTES)
        if not isinstance(plain, Mapping) or plain.get("v") != _VERSION:
            return cls(())
        messages = plain.get("messages")
        try:
            return cls(tuple(map(from_plain, messages if isinstance(messages, Sequence) else ())))
        # What somebody else wrote under this key is left out.
        except (KeyError, TypeError, ValueError):
            return cls(())
