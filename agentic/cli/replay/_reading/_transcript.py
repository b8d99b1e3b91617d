"""What is read from a file: the conversation, who wrote it down, and what was odd about it."""

import attrs

from agentic.errors import AgenticError
from agentic.messages import Message, close_open_rounds, split_rounds

__all__ = ["UNDERSTOOD", "Damage", "Transcript", "TranscriptUnreadable"]

UNDERSTOOD = (
    "sessions of agentic (JsonlStore, to_plain), chat completions, Anthropic messages, "
    "Claude Code sessions, pi sessions; one JSON object a line, or one JSON array or object"
)
"""In words, for whoever brought something else."""


@attrs.define
class TranscriptUnreadable(AgenticError):
    """A file that holds no conversation that can be read."""

    name: str
    """The file, as it was given."""
    line: int | None
    """Counted from 1; None if it is about the whole."""
    found: str
    """What is there."""

    def __str__(self) -> str:
        where = self.name if self.line is None else f"{self.name}, line {self.line}"
        return f"{where}: {self.found}. What is understood: {UNDERSTOOD}"


@attrs.define
class Damage(Exception):
    """What is wrong in one place of a file, until somebody adds the file's name."""

    line: int | None
    found: str


@attrs.frozen
class Transcript:
    """One recorded conversation."""

    name: str
    """What it is called in a report."""
    format: str
    """In whose form it was written."""
    messages: tuple[Message, ...]
    notes: tuple[str, ...] = ()
    """What was left out or mended, a sentence each."""

    def mended(self) -> "Transcript":
        """Close what was left open, as a store does when it loads: every call has its result.

        >>> from agentic.messages import ToolCall
        >>> cut_off = Message("assistant", tool_calls=[ToolCall("c1", "run")])
        >>> Transcript("a", "chat", (cut_off,)).mended().notes
        ('1 call was never answered: it has a result that says so',)
        """
        closed = close_open_rounds(list(self.messages))
        if len(closed) == len(self.messages) and closed == list(self.messages):
            return self
        rounds = split_rounds(self.messages)
        unanswered = sum(len(found.open_calls) for found in rounds)
        orphans = sum(found.orphaned for found in rounds)
        told = [
            _count(
                unanswered,
                "call was never answered: it has a result that says so",
                "calls were never answered: they have results that say so",
            ),
            _count(
                orphans,
                "result answers no call: it is left out",
                "results answer no call: they are left out",
            ),
        ]
        told = [each for each in told if each] or ["results are moved right behind their calls"]
        return attrs.evolve(self, messages=tuple(closed), notes=(*self.notes, *told))


def _count(number: int, one: str, many: str) -> str:
    """Begin a sentence with a number; nothing for none.

    >>> _count(2, "call is open", "calls are open")
    '2 calls are open'
    """
    return f"{number} {one if number == 1 else many}" if number > 0 else ""
