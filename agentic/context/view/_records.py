"""The records that a View returns: a prepared request, notes about it, and what was removed."""

from typing import Literal

import attrs

from agentic.context.budget import Compaction
from agentic.messages import Message

__all__ = ["Check", "Note", "Prepared", "Removal"]


@attrs.frozen
class Note:
    """Something that the sender of a request should know about it."""

    kind: Literal[
        "summary_ignored",
        "summary_shortened",
        "summary_failed",
        "summary_by_digest",
        "outputs_truncated",
        "messages_left_out",
        "over_window",
    ]
    text: str
    """The note as a sentence."""


@attrs.frozen(kw_only=True)
class Prepared:
    """What to send, and what happened to the history. Sizes are in tokens."""

    messages: list[Message]
    """What to send. It includes the system prompt only if the history begins with it."""
    history: list[Message]
    """The history from now on: the list that was passed, unless it was compacted. An owner who can
    rewrite the history stores it; an owner who only appends may ignore it."""
    compaction: Compaction | None = None
    """What a trigger did; None if no compaction was due."""
    tokens: int = 0
    """The size of the request, with system prompt and tools, if there is a counter."""
    fits: bool = True
    """Whether the size is within the window less the reserve."""
    notes: tuple[Note, ...] = ()


@attrs.frozen(kw_only=True)
class Removal:
    """A part of the history that is missing from the latest request, or shortened in it."""

    part: str
    """What removed it: `compaction`, `repair` (for an orphaned result), a strategy's name, `summary
    share`, or `window`."""
    reason: str
    """The reason, as a sentence."""
    positions: tuple[int, ...]
    """The positions of the messages in the list that was passed to `prepare`."""
    shortened: bool = False
    """Whether the messages were sent with shorter texts, rather than left out."""
    tokens: int = 0
    """How much shorter this makes the request, in tokens by the counter."""
    where: str = ""
    """Where the whole can be read."""


@attrs.frozen(kw_only=True)
class Check:
    """How close a history is to its next compaction. Sizes are in tokens."""

    tokens: int
    """The size of the next request."""
    overhead_tokens: int
    """The part of it that is not messages: system prompt and tools."""
    due: str | None
    """The trigger that would compact first: window, tokens or messages; None if none would."""
