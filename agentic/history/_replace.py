"""What a replace removes from a history and what it keeps, even if others write meanwhile.

A position identifies an entry: an index, an offset or a sequence number. Later entries have higher
positions. All messages of an entry share its position.
"""

import inspect
import json
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from agentic._base._validate import is_whole
from agentic.errors import ConfigError, HistoryChanged, HistoryConflict
from agentic.messages import Message, close_open_rounds, split_rounds, to_plain
from agentic.messages._rounds import reopen_rounds
from agentic.messages._timeline import continues
from agentic.protocols import Rewriter

Placed: TypeAlias = Sequence[tuple[int, Message]]
"""The stored history, unrepaired: the position of each message's entry, and the message."""
_OUTDATED = -1
"""A position that no entry can have, whatever the store uses as positions."""
_REPLACED = "was compacted or restored since it was loaded: load again"


async def replace_known(
    store: Rewriter, known: Sequence[Message], messages: Sequence[Message]
) -> list[Message]:
    """Replace the history that a caller knows, and return the resulting history.

    Everything that was appended to the store since, by anybody, follows the new messages. If the
    history no longer begins with `known`, another summary was stored first, and nothing is changed.

    A store with a plain `replace(messages)` is loaded, compared and replaced. A message that
    arrives between the last two steps is missing from the history, but not from the archive.

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
    # Compared before the replace: if another summary was stored first, this one stands for a
    # history that is gone.
    late = await _load_after(store, known)
    try:
        if counts_replaced(store):
            await store.replace(messages, replaces=len(known))
        else:
            await store.replace(reopen_rounds([*messages, *late]))
    except HistoryConflict:
        # Somebody wrote between the load and the replace. If they summarized, this load says so; if
        # not, the conflict is the caller's to see.
        await _load_after(store, known)
        raise
    # As load() returns it. Without the made-up results, calls may be in other rounds.
    return close_open_rounds(reopen_rounds([*messages, *late]))


def begins_with(history: Sequence[Message], known: Sequence[Message]) -> bool:
    """Return whether a history begins with messages that are the same to a model.

    Other fields are not compared: a store may lose some of them, and NaN equals nothing.

    >>> begins_with([Message("user", "Why?"), Message("user", "How?")], [Message("user", "Why?")])
    True
    """
    return continues(history, known, "meaning")


def counts_replaced(store: Rewriter) -> bool:
    """Return whether `store.replace` accepts `replaces`."""
    parameters = inspect.signature(store.replace).parameters.values()
    # By the signature, since to try it would replace something.
    return any(each.name == "replaces" or each.kind is each.VAR_KEYWORD for each in parameters)


async def _load_after(store: Rewriter, earlier: Sequence[Message]) -> list[Message]:
    """Return the messages of the history that follow `earlier`."""
    # This load comes last before the replace: another task may have loaded meanwhile, and
    # `replaces` counts in what was loaded last.
    history = await store.load()
    if not begins_with(history, earlier):
        raise HistoryChanged
    return history[len(earlier) :]


@attrs.frozen
class StoredView:
    """A history as it was read: unrepaired, with its open rounds."""

    messages: list[Message]
    end: int
    """Its entries come before this position."""
    seen: object
    """The point in the session up to which it goes, in the store's own terms."""
    session: int | None = None
    """The number of the session in its database; None if there is none."""
    sound: int = 0
    """How many of the first messages are known to need no repair, as `count_sound` says."""


@attrs.define(eq=False)
class LoadedList:
    """The list that `replaces` counts in: what `load` last returned, then what was appended since.

    It is kept small: which entry a loaded message came from is worked out only when needed.
    """

    end: int = 0
    """The loaded messages come before this position."""
    loaded: int = 0
    """How many messages `load` returned."""
    appended: list[int] = attrs.field(factory=list)
    """The positions of the entries that this store has appended since."""
    session: int | None = None
    """The number of the session in its database; None if nothing was loaded."""

    @property
    def length(self) -> int:
        """The number of messages in the list."""
        return self.loaded + len(self.appended)

    def note(self, position: int) -> None:
        """Add an appended entry, unless the loaded list already contains it."""
        # A load may finish after an append that it has already read.
        if position >= self.end:
            self.appended.append(position)


@attrs.define(eq=False)
class CallerView:
    """How much of its session the caller of a store knows: what it loaded and wrote since.

    A replace hides what was there before, so it must not hide what the caller has never seen.
    Points in the session are in the store's own terms: an offset or a sequence number.
    """

    seen: object = None
    """The point up to which the caller knows what is stored; None before the first load."""
    loaded_list: LoadedList | None = attrs.field(factory=LoadedList)
    """The list that `replaces` counts in; None from a replace or restore until the next load."""
    history: list[Message] | None = None
    """The stored history up to `seen`, unrepaired, so that it need not be read again; None if the
    caller does not know all of it."""
    sound: int = 0
    """How many of its first messages need no repair."""

    def load(self, view: StoredView, loaded: int) -> None:
        """Record that the caller knows a view, of which it was given so many messages."""
        self.seen = view.seen
        self.loaded_list = LoadedList(view.end, loaded, session=view.session)
        # A copy: the caller may have been given the list itself, and may change it.
        self.history, self.sound = view.messages.copy(), view.sound

    def append(self, position: int, before: object, after: object, message: Message) -> None:
        """Record that the caller knows what it appended; it knows all if it knew all before."""
        if self.loaded_list:
            self.loaded_list.note(position)
        if self.seen == before:
            self.seen = after
            if self.history is not None:
                self.history.append(message)
        else:  # somebody else has written in between, and the caller does not know that
            self.history = None

    def repeat(self, position: int) -> None:
        """Record that the caller knows an entry that it has just appended a second time."""
        if self.loaded_list and position not in self.loaded_list.appended:
            self.loaded_list.note(position)

    def replace(self, after: object) -> None:
        """Record that the caller knows the new history, but has not loaded it."""
        self.seen, self.loaded_list, self.history = after, None, None

    def restore(self, before: object, after: object) -> None:
        """Record that the caller knows what it restored, unless it did not know what was before."""
        if self.seen in {None, before}:
            self.seen = after
        self.loaded_list = self.history = None

    def redact(self) -> None:
        """Record that the caller knows nothing: what it loaded still contains what was removed."""
        self.seen, self.loaded_list, self.history = _OUTDATED, None, None

    def check_seen(self, here: object, session: str) -> None:
        """Raise if the caller has not seen all of the history that it replaces.

        Raises:
            HistoryConflict: another store wrote after the latest load, or a message was redacted.
        """
        if self.seen == _OUTDATED:
            raise HistoryConflict(session, "was redacted since it was loaded: load again")
        if self.seen is not None and self.seen != here:
            problem = "has been changed by another writer since it was loaded: load again"
            raise HistoryConflict(session, problem)

    def find(self, replaces: int, session: str) -> LoadedList:
        """Return the list that `replaces` counts in.

        Raises:
            ConfigError: `replaces` is not a whole number, or is more than the list has.
            HistoryConflict: a replace, restore or redaction came after the latest load.
        """
        is_whole(0, replaces, "replaces", "count the messages that the new ones stand for")
        if self.loaded_list is None:
            self.check_seen(self.seen, session)  # says so if a message was redacted
            raise HistoryConflict(session, _REPLACED)
        if replaces > self.loaded_list.length:
            limit = (
                f"at most {self.loaded_list.length}, as many as were loaded last and appended since"
            )
            raise ConfigError("replaces", replaces, limit, "load again")
        return self.loaded_list

    def covers(self, here: object, loaded_list: LoadedList, replaces: int) -> bool:
        """Return whether a replace covers all that is stored, so that nothing remains."""
        return (
            self.seen == here and loaded_list is self.loaded_list and replaces == loaded_list.length
        )


def merge(
    messages: Sequence[Message], loaded: LoadedList, replaces: int, current: Placed, session: str
) -> list[Message]:
    """Return the history after a replace: these messages, then all those that they do not replace.

    If a result arrived for a call that was replaced, the whole round is kept with it.

    >>> stored = list(enumerate([Message("user", "one"), Message("user", "two")]))
    >>> loaded_list = LoadedList(end=1, loaded=1)
    >>> [m.content for m in merge([Message("system", "1")], loaded_list, 1, stored, "session")]
    ['1', 'two']

    Raises:
        HistoryConflict: another replace was stored first.
    """
    raw = [message for _, message in current]
    positions = _find_replaced(loaded, replaces, current, session)
    rest = [at for at in range(len(raw)) if at not in positions]
    rest = sorted({*rest, *_find_torn(messages, rest, raw)})
    return [*messages, *[raw[at] for at in rest]]


def _find_replaced(loaded: LoadedList, replaces: int, current: Placed, session: str) -> set[int]:
    """Return the ids of the stored messages that the replaced ones came from."""
    before = [message for position, message in current if position < loaded.end]
    sources = _trace(before)
    places = {position: at for at, (position, _) in enumerate(current)}
    # What was appended counts after what was loaded.
    additions = [places.get(each) for each in loaded.appended[: max(0, replaces - loaded.loaded)]]
    # The same repair gives as many messages as were loaded, unless the history was replaced.
    if len(sources) != loaded.loaded or None in additions:
        raise HistoryConflict(session, _REPLACED)
    # Results without a call were in no loaded history, so nobody would keep them on purpose.
    orphans = set(range(len(before))) - {at for at in sources if at is not None}
    return {at for at in (*sources[:replaces], *additions, *orphans) if at is not None}


def _trace(raw: list[Message]) -> list[int | None]:
    """Return which raw message each message of the repaired history came from; None if made up.

    Messages are matched by their ids, which `close_open_rounds` never changes.
    """
    history = close_open_rounds(raw)
    if history is raw:
        return list(range(len(raw)))
    # Numbered anew, since ids of providers are neither there in every message nor unique.
    copies = [message.replace(id=str(at)) for at, message in enumerate(raw)]
    ids = [message.id for message in close_open_rounds(copies)]
    return [None if each is None else int(each) for each in ids]


def _find_torn(messages: Sequence[Message], rest: list[int], raw: list[Message]) -> set[int]:
    """Return the rounds with kept results that would be orphans without their calls."""
    # The usual case, and the rest splits the whole history into rounds.
    if all(raw[at].role != "tool" for at in rest):
        return set()
    before = _find_answers(raw)
    orphans = before - _find_answers([*messages, *[raw[at] for at in rest]])
    incomplete = {at for at in rest if any(id(each) in orphans for each in raw[at].tool_results)}
    rounds = (group.positions for group in split_rounds(raw))
    return {at for group in rounds if not incomplete.isdisjoint(group) for at in group}


def _find_answers(raw: list[Message]) -> set[int]:
    """Return the object ids of the results that answer a call."""
    history = close_open_rounds(raw)
    # By identity: the ids of calls may recur in a conversation.
    return {id(result) for message in history for result in message.tool_results}


@attrs.frozen
class Diff:
    """Two histories compared as multisets of equal messages. Later messages are in neither."""

    dropped: tuple[Message, ...]
    """What was in the history before but not after, in order, unrepaired."""
    added: tuple[Message, ...]
    """What is in it after but was not before, in order: the summary, edited messages."""


def compare(before: Sequence[Message], after: Sequence[Message]) -> Diff:
    """Return what a replace changed. Among equal messages, the newest count as kept.

    >>> hello, again = Message("user", "hello"), Message("user", "again")
    >>> diff = compare([hello, hello, again], [Message("system", "a greeting"), hello, again])
    >>> [message.content for message in diff.dropped], [message.content for message in diff.added]
    (['hello'], ['a greeting'])
    """
    return Diff(tuple(_missing(before, after)), tuple(_missing(after, before)))


def _missing(these: Sequence[Message], others: Sequence[Message]) -> Sequence[Message]:
    rest = Counter(map(as_key, others))
    missing = []
    for message in reversed(these):
        key = as_key(message)
        if rest[key]:
            rest[key] -= 1
        else:
            missing.append(message)
    return missing[::-1]


def as_key(message: Message) -> str:
    """Return a text that only equal messages have."""
    # as text, because a payload may not be hashable, and NaN equals nothing
    return json.dumps(to_plain(message), sort_keys=True, ensure_ascii=False)
