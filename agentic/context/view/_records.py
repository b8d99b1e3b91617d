"""What a View reports: a prepared request, notes about it, and what was removed on the way."""

from typing import Literal

import attrs

from agentic.context.budget import Compaction
from agentic.messages import Message

__all__ = ["Check", "Note", "Prepared", "Removal"]


@attrs.frozen
class Note:
    """Something that whoever sends a request should know about it."""

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
    """The same as a sentence."""


@attrs.frozen(kw_only=True)
class Prepared:
    """What to send, and what became of the history on the way. Sizes in tokens."""

    messages: list[Message]
    """What to send; the system prompt is not among them unless the history begins with it."""
    history: list[Message]
    """The history from now on: the same list that was given, unless it was compacted. An owner who
    can rewrite the history stores it; one who only appends may ignore it."""
    compaction: Compaction | None = None
    """What a trigger did; None where nothing was due."""
    tokens: int = 0
    """The size of the request, with system prompt and tools, as far as anything measures it."""
    fits: bool = True
    """Whether that is within the window less the reserve."""
    notes: tuple[Note, ...] = ()


@attrs.frozen(kw_only=True)
class Removal:
    """Something of the history that the latest request did not contain, or contained in part."""

    part: str
    """What removed it: `compaction`, `repair` (an orphaned result), a strategy's name,
    `summary share`, or `window`."""
    reason: str
    """Why, as a sentence."""
    positions: tuple[int, ...]
    """Where the messages are in the list that was given to `prepare`."""
    shortened: bool = False
    """Whether the messages are still there with shorter texts, rather than left out."""
    tokens: int = 0
    """How much the request is shorter for it, by the counter."""
    where: str = ""
    """Where the whole can be found."""


@attrs.frozen(kw_only=True)
class Check:
    """How near a history is to its next compaction. Sizes in tokens."""

    tokens: int
    """The size of the next request."""
    overhead_tokens: int
    """The part of it that is sent beside the messages."""
    due: str | None
    """The trigger that compacts before it: window, tokens or messages; None if none does."""
