"""What a replace takes out of a history and what it keeps, whoever else writes meanwhile.

A position says where an entry stands: an index, an offset or a sequence number. Later entries have
higher ones. All messages of an entry share its position.
"""

import inspect
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from agentic._protocols import Rewriter
from agentic._validate import is_whole
from agentic.errors import ConfigError, HistoryChanged, HistoryConflict
from agentic.messages import Message, close_open_rounds, reopen_rounds, split_rounds, to_plain

__all__ = [
    "Diff",
    "Knowledge",
    "Known",
    "Placed",
    "begins_with",
    "check_replaces",
    "compare",
    "counts_replaced",
    "merge",
    "replace_known",
]
Placed: TypeAlias = Sequence[tuple[int, Message]]
"""The stored history, raw: the position of each message's entry, and the message."""
_OUTDATED = -1
"""Where nobody can be, in any store's terms."""
_REPLACED = "was compacted or restored since it was loaded: load again"


async def replace_known(
    store: Rewriter, known: Sequence[Message], messages: Sequence[Message]
) -> list[Message]:
    """Put messages in the place of the history that somebody knows, and return all of it.

    Whatever was appended to the store since, by anybody, follows the messages. Where the history
    does not begin with `known` any more, another summary came first, and nothing is changed.

    A store with a plain `replace(messages)` is loaded, compared and replaced: a message that
    arrives between the last two of these leaves the history, though not the archive.

    >>> import asyncio
    >>> from agentic.history import MemoryStore
    >>> async def summarize() -> list[str]:
    ...     store = MemoryStore()
    ...     await store.append(Message("user", "Why is the build red?"))
    ...     known = await store.load()
    ...     await store.append(Message("user", "And who broke it?"))
    ...     history = await replace_known(store, known, [Message("system", "It is red.")])
    ...     return [message.content for message in history]
    >>> asyncio.run(summarize())
    ['It is red.', 'And who broke it?']

    Raises:
        HistoryChanged: the history does not begin with `known`.
        HistoryError: the store cannot be read or written.
    """
    late = await _load_after(store, known)
    try:
        if counts_replaced(store):
            await store.replace(messages, replaces=len(known))
        else:
            await store.replace(reopen_rounds([*messages, *late]))
    except HistoryConflict:
        await _load_after(store, known)
        raise
    # As load() would return it: without what was made up, calls may be in other rounds.
    return close_open_rounds(reopen_rounds([*messages, *late]))


def begins_with(history: Sequence[Message], known: Sequence[Message]) -> bool:
    """Return whether a history begins with messages that say the same to a model.

    Other fields are not compared: a store may lose some, and NaN equals nothing.

    >>> begins_with([Message("user", "Why?"), Message("user", "How?")], [Message("user", "Why?")])
    True
    """
    return len(history) >= len(known) and all(map(_say_the_same, known, history))


def counts_replaced(store: Rewriter) -> bool:
    """Return whether `store.replace` accepts `replaces`."""
    parameters = inspect.signature(store.replace).parameters.values()
    # By the signature, since to try it would replace something.
    return any(each.name == "replaces" or each.kind is each.VAR_KEYWORD for each in parameters)


async def _load_after(store: Rewriter, known: Sequence[Message]) -> list[Message]:
    """Return what the history holds after the messages that it should begin with."""
    # The load comes last before a replace: by then another task may have loaded, and `replaces`
    # counts in what was loaded last.
    history = await store.load()
    if not begins_with(history, known):
        raise HistoryChanged
    return history[len(known) :]


def _say_the_same(one: Message, other: Message) -> bool:
    return one is other or _get_said(one) == _get_said(other)


def _get_said(message: Message) -> tuple[object, ...]:
    calls = [(each.id, each.name, each.arguments) for each in message.tool_calls]
    results = [(each.call_id, each.output, each.error) for each in message.tool_results]
    return message.role, message.content, calls, results


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


@attrs.define(eq=False)
class Knowledge:
    """How far the caller of a store knows its session: what it loaded, and what it wrote since.

    A replace hides what stood there before, so it must not hide what the caller has never seen.
    How far is said in the store's own terms, an offset or a sequence number.
    """

    seen: object = None
    """Up to where the caller knows what is stored; None before the first load."""
    known: Known | None = attrs.field(factory=Known)
    """What `replaces` counts in; None from a replace or restore on until the next load."""

    def load(self, seen: object, known: Known) -> None:
        """Have the caller know all that it was given."""
        self.seen, self.known = seen, known

    def append(self, position: int, before: object, after: object) -> None:
        """Have the caller know what it appended, and so all of it if it knew all before."""
        if self.known:
            self.known.note(position)
        if self.seen == before:
            self.seen = after

    def replace(self, after: object) -> None:
        """Have the caller know a history that it made, and count in it only once it is loaded."""
        self.seen, self.known = after, None

    def redact(self) -> None:
        """Have the caller know nothing: what it loaded still says what was removed."""
        self.seen, self.known = _OUTDATED, None

    def check_seen(self, here: object, session: str) -> None:
        """Refuse to replace a history of which the caller has not seen everything.

        Raises:
            HistoryConflict: somebody else wrote after the latest load.
        """
        if self.seen is not None and self.seen != here:
            problem = "has been written by somebody else since it was loaded: load again"
            raise HistoryConflict(session, problem)

    def covers(self, here: object, known: Known, replaces: int) -> bool:
        """Return whether a replace stands for all that is stored, so that there is no rest."""
        return self.seen == here and known is self.known and replaces == known.length


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
    # Numbered anew, since ids of providers are neither there in every message nor unique.
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


@attrs.frozen
class Diff:
    """Two histories compared as multisets of equal messages. What came later is in neither."""

    dropped: tuple[Message, ...]
    """What stood in the history before and not after, in order, raw."""
    added: tuple[Message, ...]
    """What stands in it after and did not before, in order: the summary, edited messages."""


def compare(before: Sequence[Message], after: Sequence[Message]) -> Diff:
    """Return what a replace changed. Of equal messages the newest count as kept.

    >>> hello, again = Message("user", "hello"), Message("user", "again")
    >>> diff = compare([hello, hello, again], [Message("system", "a greeting"), hello, again])
    >>> [message.content for message in diff.dropped], [message.content for message in diff.added]
    (['hello'], ['a greeting'])
    """
    return Diff(tuple(_missing(before, after)), tuple(_missing(after, before)))


def _missing(these: Sequence[Message], others: Sequence[Message]) -> Sequence[Message]:
    return [*_newest_missing(these, Counter(map(_key, others)))][::-1]


def _newest_missing(these: Sequence[Message], left: Counter[str]) -> Iterator[Message]:
    for message in reversed(these):
        key = _key(message)
        if left[key]:
            left[key] -= 1
        else:
            yield message


def _key(message: Message) -> str:
    # as text, since a payload cannot be hashed, and NaN equals nothing
    return json.dumps(to_plain(message), sort_keys=True, ensure_ascii=False)
