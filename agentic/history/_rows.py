"""What the rows of a session mean, in any database that keeps its entries as rows.

Each row carries the state of the session after it, so nothing before it needs to be read to go on
from there: where its view begins, which replace is in force, how many messages there are. Sequence
numbers count the entries of a session from 1; 0 means none.

A question is a generator: it yields queries, is sent the rows of each, and returns the answer. So
it neither waits nor connects, and both databases can use it: SQLite answers synchronously,
PostgreSQL asynchronously.
"""

import abc
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import attrs

from agentic.errors import HistoryConflict, HistoryCorrupt, NothingToRestore
from agentic.history._entries import REDACTION, Entry, count_summarized, decode, hash_key
from agentic.history._redaction import RedactionRequest, redact_lines
from agentic.history._replace import (
    CallerView,
    Diff,
    LoadedList,
    Placed,
    StoredView,
    compare,
    merge,
)
from agentic.history._stores import Addition, BaseStore
from agentic.messages import Message

T = TypeVar("T")
NOWHERE = (0, 0)
"""What a caller knows of a session that has no entries."""
_STATES = "SELECT seq, view, standing, messages, summarized FROM entries WHERE session = ?"
_LATER = "SELECT kind, text FROM entries WHERE session = ? AND seq > ? AND kind <> 'message'"
_TEXTS = "SELECT seq, text FROM entries WHERE session = ?"
# Without the inner query, SQLite 3.40 reads every entry of the session instead of the index.
_KEYED = "AND seq IN (SELECT seq FROM entries WHERE session = ? AND key IN (%s)) ORDER BY seq"
_MOST_KEYS = 1_000
"""Of one question: a database limits the values of a statement."""
_APPENDED = "kind NOT IN ('replace', 'restore')"
"""Not `= 'message'`: an entry of an unknown kind must be refused, not left out."""


@attrs.frozen
class Query:
    """One statement. Its tables have no schema, and its placeholders are question marks."""

    sql: str
    values: tuple[object, ...]
    is_long: bool = attrs.field(default=False, kw_only=True)
    """Processing its rows takes long, so it should not be done in an event loop."""


Question: TypeAlias = Generator[Query, Iterable[Any], T]
"""A generator that yields queries, is sent their rows, and returns the answer."""


@attrs.frozen
class State:
    """The state of a session after the entry `seq`."""

    seq: int
    view: int
    """The newest entry that holds a complete view: the history is that view and what follows."""
    standing: int
    """The latest replace that was not undone."""
    messages: int
    """The number of messages in the archive."""
    summarized: int
    """How many of them the summary in the history covers."""

    def follow(self, entry: Entry | None, before: "State | None" = None) -> "State":
        """Return the state after one more entry; None is an entry that is skipped.

        `before` is needed for a restore: the state right before the replace that it undoes.

        >>> NEW.follow(Entry("message", (Message("user"),))).messages
        1
        """
        seq = self.seq + 1
        if entry is None:
            return State(seq, self.view, self.standing, self.messages, self.summarized)
        if entry.kind == "message":
            summary = entry.messages[0].summary
            number = summary.messages_summarized if summary else self.summarized
            return State(seq, self.view, self.standing, self.messages + 1, number)
        undone = before.standing if before else 0
        standing = seq if entry.kind == "replace" else undone
        return State(seq, seq, standing, self.messages, count_summarized(entry.messages) or 0)


NEW = State(0, 0, 0, 0, 0)
"""A session without entries."""


@attrs.frozen
class SessionRows:
    """The questions about one session. They raise HistoryCorrupt at an entry that cannot be read.

    `text` is an entry in the form of a session file's line, without the newline. Because each row
    carries its state, each question reads only the rows of its answer.
    """

    session: int
    """The session's number, which is not reused for a later session with the same id."""
    name: str
    """The session's name in error messages."""

    def locate(self, seq: int) -> tuple[int, int]:
        """Return the point in the session up to which a caller knows it, given an entry."""
        # With the number: a session that was deleted and begun anew counts from 1 again.
        return (self.session, seq) if seq else NOWHERE

    def state(self) -> Question[State]:
        """Return the present state."""
        return (yield from self._find_state("ORDER BY seq DESC LIMIT 1"))

    def point(self) -> Question[tuple[int, int]]:
        """Return the point in the session at which it stands now."""
        return self.locate((yield from self.state()).seq)

    def is_rewritten(self, since: tuple[int, int]) -> Question[bool]:
        """Return whether the history before a point is another one by now."""
        session, seq = since
        if session not in {NOWHERE[0], self.session}:
            return True
        later = yield Query(_LATER, (self.session, seq))
        return any(kind != "optional" or text.startswith(REDACTION) for kind, text in later)

    def before_replace(self, state: State) -> Question[State]:
        """Return the state before the replace that is in force in this state.

        Raises:
            NothingToRestore: no replace is in force.
        """
        if not state.standing:
            raise NothingToRestore(self.name)
        # Sequence numbers have no gaps, so the row before a replace has the state that it found.
        return (yield from self._find_state("AND seq = ?", state.standing - 1))

    def placed(self, state: State) -> Question[Placed]:
        """Return the history in this state, each message with the number of its entry."""
        condition = "AND seq BETWEEN ? AND ? ORDER BY seq"
        return (yield from self._read(condition, state.view, state.seq))

    def view(self, state: State) -> Question[list[Message]]:
        """Return the history in this state, unrepaired."""
        rows = yield from self.placed(state)
        return [message for _, message in rows]

    def load(self) -> Question[StoredView]:
        """Return the present history."""
        state = yield from self.state()
        view = yield from self.view(state)
        session = self.session if state.seq else None
        return StoredView(view, state.seq + 1, self.locate(state.seq), session)

    def full(self) -> Question[list[Message]]:
        """Return every message ever appended."""
        return (yield from self._read_appended(0))

    def restored(self, state: State) -> Question[tuple[list[Message], State]]:
        """Return the history without the latest replace in force, and the state before that.

        Raises:
            NothingToRestore: no replace is in force.
        """
        before = yield from self.before_replace(state)
        view = yield from self.view(before)
        later = yield from self._read_appended(state.standing)
        return view + later, before

    def merged(
        self, state: State, view: list[Message], loaded_list: LoadedList, replaces: int
    ) -> Question[list[Message]]:
        """Return the history after a view has replaced the first of the loaded messages.

        Raises:
            HistoryConflict: another replace was stored first.
        """
        # A session that was deleted and made again under the same id holds nothing that was loaded.
        is_same = loaded_list.session in {None, self.session}
        rows = (yield from self.placed(state)) if is_same else []
        return merge(view, loaded_list, replaces, rows, self.name)

    def diff(self) -> Question[Diff]:
        """Return what the latest replace in force removed and added.

        Raises:
            NothingToRestore: no replace is in force.
        """
        state = yield from self.state()
        before = yield from self.before_replace(state)
        view = yield from self.view(before)
        rows = yield from self._read("AND seq = ?", state.standing)
        return compare(view, [message for _, message in rows])

    def keyed(self, *keys: str) -> Question[dict[str, tuple[int, Entry]]]:
        """Return the entries that were appended with these keys, by key, each with its number."""
        entries: dict[str, tuple[int, Entry]] = {}
        wanted = set(keys)
        for start in range(0, len(keys), _MOST_KEYS):
            hashes = [hash_key(key) for key in keys[start : start + _MOST_KEYS]]
            find = f"{_TEXTS} {_KEYED % ', '.join('?' * len(hashes))}"
            for seq, text in (yield Query(find, (self.session, self.session, *hashes))):
                entry = _decode(seq, text, self.name)
                # Two keys may have the same hash.
                if entry and entry.key in wanted:
                    entries[entry.key] = seq, entry
        return entries

    def fresh(self, batch: Sequence[Addition], caller_view: CallerView) -> Question[list[Addition]]:
        """Return what was not appended with its key before; the caller then knows the rest.

        Raises:
            HistoryConflict: the message with a key says something else.
        """
        keys = [each.key for each in batch if each.key is not None]
        former = yield from self.keyed(*keys)
        for each in batch:
            if each.key in former:
                seq, entry = former[each.key]
                entry.check_repeated(each.message, self.name)
                caller_view.repeat(seq)
        return [each for each in batch if each.key not in former]

    def output(self, ref: str) -> Question[bytes | None]:
        """Return an encoded output; None if it was never stored here."""
        find = "SELECT content FROM outputs WHERE session = ? AND ref = ?"
        rows = yield Query(find, (self.session, ref))
        return next((content for (content,) in rows), None)

    def refs(self) -> Question[list[str]]:
        """Return the references of the stored outputs."""
        rows = yield Query("SELECT ref FROM outputs WHERE session = ?", (self.session,))
        return sorted(ref for (ref,) in rows)

    def title(self) -> Question[str]:
        """Return the title of the session."""
        rows = yield Query("SELECT title FROM sessions WHERE number = ?", (self.session,))
        return next((str(title) for (title,) in rows), "")

    def set_title(self, title: str) -> Question[None]:
        """Set the title of the session."""
        yield Query("UPDATE sessions SET title = ? WHERE number = ?", (title, self.session))

    def delete(self) -> Question[None]:
        """Remove the session and all that belongs to it."""
        yield Query("DELETE FROM sessions WHERE number = ?", (self.session,))

    def redact(self, request: RedactionRequest) -> Question[bytes]:
        """Change the entries that hold a message, and return the entry that records it.

        Raises:
            MessageNotFound: there is no such message.
        """
        rows = yield Query(f"{_TEXTS} ORDER BY seq", (self.session,), is_long=True)
        # Whole in memory: what a summary quotes of a message is known only when all is read.
        entries = dict(rows)
        redaction = redact_lines([*entries.values()], request, self.name)
        update = "UPDATE entries SET text = ? WHERE session = ? AND seq = ?"
        for (seq, before), after in zip(entries.items(), redaction.lines, strict=True):
            # Entries that say nothing of it keep their bytes.
            if after is not before:
                yield Query(update, (after, self.session, seq))
        refs: list[str] = []
        remove = "DELETE FROM outputs WHERE session = ? AND ref = ?"
        # One output at a time: any of them may be as large as the database allows.
        for ref in (yield from self.refs()):
            content = yield from self.output(ref)
            if redaction.must_go(ref, content or b""):
                yield Query(remove, (self.session, ref))
                refs.append(ref)
        title = yield from self.title()
        yield from self.set_title(request.hide_in_title(title))
        return request.record(refs)

    def _find_state(self, condition: str, *values: int) -> Question[State]:
        rows = yield Query(f"{_STATES} {condition}", (self.session, *values))
        return next((State(*row) for row in rows), NEW)

    def _read_appended(self, after: int) -> Question[list[Message]]:
        rows = yield from self._read(f"AND seq > ? AND {_APPENDED} ORDER BY seq", after)
        return [message for _, message in rows]

    def _read(self, condition: str, *values: int) -> Question[Placed]:
        rows = yield Query(f"{_TEXTS} {condition}", (self.session, *values), is_long=True)
        return _decode_rows(rows, self.name)


class _Writer(Protocol):
    """The writer's side of a session in a database."""

    @property
    def name(self) -> str: ...

    @property
    def seq(self) -> int | None: ...

    @property
    def point(self) -> tuple[int, int] | None: ...


class RowStore(BaseStore):
    """A store whose entries are rows: it reads by the questions of `SessionRows`."""

    __slots__ = ()

    _writer: _Writer

    async def revision(self) -> int:
        """Return the number of the latest entry, from memory if this store is the writer.

        Raises what `load` raises.
        """
        if (seq := self._writer.seq) is not None:
            return seq
        return (await self._answer(SessionRows.state, NEW)).seq

    async def point(self) -> tuple[int, int]:
        """Return the point in the session at which it stands now, for `is_rewritten`.

        Raises what `load` raises.
        """
        if (point := self._writer.point) is not None:
            return point
        return await self._answer(SessionRows.point, NOWHERE)

    async def is_rewritten(self, since: tuple[int, int]) -> bool:
        """Return whether the history before a point was replaced, restored or redacted since.

        So was that of a session that was deleted. Costs little: it reads what was written since.
        Raises what `load` raises.
        """
        is_gone = since != NOWHERE
        return await self._answer(lambda rows: rows.is_rewritten(since), is_gone)

    @property
    def _name(self) -> str:
        return self._writer.name

    async def _has_key(self, key: str) -> bool:
        nothing: dict[str, tuple[int, Entry]] = {}
        return key in await self._answer(lambda rows: rows.keyed(key), nothing)

    async def _full(self) -> list[Message]:
        nothing: list[Message] = []
        return await self._answer(SessionRows.full, nothing)

    async def _load(self) -> StoredView:
        return await self._answer(SessionRows.load, StoredView([], 1, NOWHERE))

    async def _recall(self) -> StoredView | None:
        caller_view = self._caller_view
        if caller_view.history is None:
            return None
        number, seq = point = await self.point()
        # Meanwhile another task may have appended, replaced or loaded.
        history = caller_view.history if caller_view.seen == point else None
        if history is None:
            return None
        return StoredView(history.copy(), seq + 1, point, number or None, caller_view.sound)

    async def _diff(self) -> Diff | None:
        return await self._answer(SessionRows.diff, None)

    async def _get(self, ref: str) -> bytes | None:
        return await self._answer(lambda rows: rows.output(ref), None)

    @abc.abstractmethod
    async def _answer(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
        """Ask a question about one moment of the session; `nothing` if there is no session."""


def is_leased(name: str, owner: str) -> HistoryConflict:
    """Return the error for a session that another owner has leased."""
    problem = f"is leased by {owner!r}: wait until it is released or has expired"
    return HistoryConflict(name, problem)


def _decode_rows(rows: Iterable[tuple[int, bytes]], name: str) -> Placed:
    entries: list[tuple[int, Message]] = []
    for seq, text in rows:
        entry = _decode(seq, text, name)
        if text.startswith(REDACTION):  # a caller that loaded before it knows none of this
            entries = [(seq, message) for _, message in entries]
        entries += [(seq, message) for message in (entry.messages if entry else ())]
    return entries


def _decode(seq: int, text: bytes, name: str) -> Entry | None:
    try:
        return decode(text, name)
    except HistoryCorrupt as damage:
        # type(): an entry that is only too new must not be reported as damaged.
        raise type(damage)(f"entry {seq} of {name}", 0, damage.problem) from damage
