"""What a session amounts to after each of its entries: for stores that keep entries as rows.

A row carries its state, so that nothing before it needs to be read to go on from there: where its
view begins, which replace still stands, how many messages there are. Sequence numbers count the
entries of one session from 1; 0 stands for none.
"""

from collections.abc import Iterable, Sequence

import attrs

from agentic.errors import HistoryCorrupt
from agentic.history._entries import REDACTION, Entry, decode
from agentic.history._lines import Line
from agentic.messages import Message

__all__ = ["NEW", "State", "read_placed", "read_rows"]


@attrs.frozen
class State:
    """A session after the entry `seq`, that one included."""

    seq: int
    view: int
    """The newest entry that holds a complete view: the history is this one and what follows."""
    standing: int
    """The latest replace that nothing has taken back."""
    messages: int
    """How many the archive holds."""
    summarized: int
    """How many of them the summary in the history stands for."""

    def follow(self, entry: Entry | None, before: "State | None" = None) -> "State":
        """Return the state after one more entry; None is one that says nothing.

        `before` is needed for a restore: the state right before the replace that it takes back.

        >>> NEW.follow(Entry("message", (Message("user"),))).messages
        1
        """
        seq = self.seq + 1
        if entry is None:
            return State(seq, self.view, self.standing, self.messages, self.summarized)
        if entry.kind == "message":
            summary = entry.messages[0].summary
            summarized = summary.messages_summarized if summary else self.summarized
            return State(seq, self.view, self.standing, self.messages + 1, summarized)
        undone = before.standing if before else 0
        standing = seq if entry.kind == "replace" else undone
        return State(seq, seq, standing, self.messages, count_summarized(entry.messages) or 0)


NEW = State(0, 0, 0, 0, 0)
"""A session that nobody has written."""


def read_placed(rows: Iterable[tuple[int, bytes]], name: str) -> list[tuple[int, Message]]:
    """Return the messages of rows, each with the sequence number of its row.

    A row is a sequence number and a line without its newline.

    Raises:
        HistoryCorrupt: one of them cannot be read.
    """
    found: list[tuple[int, Message]] = []
    for seq, text in rows:
        try:
            entry = decode(Line(0, text), name)
        except HistoryCorrupt as damage:
            raise type(damage)(f"entry {seq} of {name}", 0, damage.problem) from damage
        if text.startswith(REDACTION):  # to who loaded before it, all of this is unknown
            found = [(seq, message) for _, message in found]
        found += [(seq, message) for message in (entry.messages if entry else ())]
    return found


def read_rows(rows: Iterable[tuple[int, bytes]], name: str) -> list[Message]:
    """Return the messages of rows alone. Raises what `read_placed` raises."""
    return [message for _, message in read_placed(rows, name)]


def count_summarized(messages: Sequence[Message]) -> int | None:
    """Return how many messages the newest summary among these stands for; None without one.

    >>> count_summarized([Message("user", "hello")]) is None
    True
    """
    counts = (one.summary.messages_summarized for one in reversed(messages) if one.summary)
    return next(counts, None)
