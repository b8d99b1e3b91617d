"""Which stored messages the caller of a store knows, so that a replace keeps all others.

A position says where an entry stands: an index, an offset or a sequence number. Later entries have
higher ones. All messages of an entry share its position.
"""

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from agentic._validate import is_whole
from agentic.errors import ConfigError, HistoryConflict
from agentic.messages import Message, close_open_rounds, split_rounds

__all__ = ["Known", "Placed", "check_replaces", "merge"]

Placed: TypeAlias = Sequence[tuple[int, Message]]
"""The stored history, raw: the position of each message's entry, and the message."""
_REPLACED = "was compacted or restored since it was loaded: load again"


@attrs.define(eq=False)
class Known:
    """The list that `replaces` counts in: what `load` returned last, then what was appended.

    It stays small: which entries a loaded message came from is found out when somebody asks.
    """

    end: int = 0
    """What was loaded stands before this position."""
    loaded: int = 0
    """How many messages `load` returned."""
    appended: list[int] = attrs.field(factory=list)
    """The entries that this store has appended since."""
    session: int | None = None
    """The number of the session in its database; None where nothing was loaded."""

    @property
    def length(self) -> int:
        """How many messages it has."""
        return self.loaded + len(self.appended)

    def note(self, position: int) -> None:
        """Count an entry that was appended, unless the list that was loaded has it already."""
        if position >= self.end:
            self.appended.append(position)


def check_replaces(replaces: int, known: Known | None, session: str) -> Known:
    """Return the list that `replaces` counts in.

    Raises:
        ConfigError: no whole number, or more than the list has.
        HistoryConflict: a replace or restore came after the latest load.
    """
    is_whole(0, replaces, "replaces", "count the messages that the new ones stand for")
    if known is None:
        raise HistoryConflict(session, _REPLACED)
    if replaces > known.length:
        allowed = f"at most {known.length}, as many as were loaded last and appended since"
        raise ConfigError("replaces", replaces, allowed, "load again")
    return known


def merge(
    messages: Sequence[Message], known: Known, replaces: int, stored: Placed, session: str
) -> list[Message]:
    """Return the history after a replace: these messages, then all that they do not stand for.

    A result that came for a call which was replaced brings the whole round with it.

    >>> stored = list(enumerate([Message("user", "one"), Message("user", "two")]))
    >>> known = Known(end=1, loaded=1)
    >>> [m.content for m in merge([Message("system", "1")], known, 1, stored, "session")]
    ['1', 'two']

    Raises:
        HistoryConflict: another replace came first.
    """
    raw = [message for _, message in stored]
    replaced = _find_replaced(known, replaces, stored, session)
    kept = [at for at in range(len(raw)) if at not in replaced]
    kept = sorted({*kept, *_find_torn(messages, kept, raw)})
    return [*messages, *[raw[at] for at in kept]]


def _find_replaced(known: Known, replaces: int, stored: Placed, session: str) -> set[int]:
    """Find the stored messages that the first ones of the list came from."""
    before = [message for position, message in stored if position < known.end]
    sources = _trace(before)
    places = {position: at for at, (position, _) in enumerate(stored)}
    appended = [places.get(each) for each in known.appended[: max(0, replaces - known.loaded)]]
    if len(sources) != known.loaded or None in appended:
        raise HistoryConflict(session, _REPLACED)
    orphans = set(range(len(before))) - {at for at in sources if at is not None}
    return {at for at in (*sources[:replaces], *appended, *orphans) if at is not None}


def _trace(raw: list[Message]) -> list[int | None]:
    """Return where each message of the closed history comes from; None for one that is made up.

    The ids lead there: whatever `close_open_rounds` does to a message, it leaves them.
    """
    closed = close_open_rounds(raw)
    if closed is raw:
        return list(range(len(raw)))
    numbered = [message.replace(id=str(at)) for at, message in enumerate(raw)]
    ids = [message.id for message in close_open_rounds(numbered)]
    return [None if each is None else int(each) for each in ids]


def _find_torn(messages: Sequence[Message], kept: list[int], raw: list[Message]) -> set[int]:
    """Find the rounds of which results are kept that would be orphans without their calls."""
    if all(raw[at].role != "tool" for at in kept):
        return set()
    before = _find_answers(raw)
    orphans = before - _find_answers([*messages, *[raw[at] for at in kept]])
    torn = {at for at in kept if any(id(each) in orphans for each in raw[at].tool_results)}
    return {
        at
        for found in split_rounds(raw)
        if not torn.isdisjoint(found.positions)
        for at in found.positions
    }


def _find_answers(raw: list[Message]) -> set[int]:
    """Return the identities of the results that answer a call."""
    closed = close_open_rounds(raw)
    return {id(result) for message in closed for result in message.tool_results}
