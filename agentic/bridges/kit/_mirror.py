"""A list of somebody else's objects, and the messages that they are read as.

The same object is the same Message for as long as neither it nor anything before it is changed; an
object that was only moved, loaded anew or merged with its neighbor is, too, if it says the same.
Objects are compared by identity where a compaction covers them, and everywhere else by value with
private copies, so that an edit in place is noticed.
"""

import hashlib
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

import attrs

from agentic import truncate
from agentic._base._waiting import LONG
from agentic.bridges.kit._forms import (
    ComparesItems,
    CopiesItems,
    EditsItems,
    ItemForm,
    ReadsGroups,
    copy_of,
)
from agentic.bridges.kit._lists import are_same
from agentic.bridges.kit._runs import PartedRuns, answer_each_call
from agentic.bridges.kit._units import Former, Unit, key_of
from agentic.loop import truncate_result
from agentic.messages import ContextSummary, Message, leading_system_count
from agentic.messages._rounds import reopen_rounds
from agentic.providers.kit._messages import Decoded
from agentic.providers.kit._record import move_record

_GO_ON = Message("user", "Continue.")
_SUMMARIES = 8
"""The same as the number of generations that a View remembers."""


@attrs.define(eq=False)
class Mirror:
    """One owner's list as it was last read; it is never changed.

    >>> class Lines:
    ...     def read(self, item):
    ...         return [Message("user", item)]
    ...     def write(self, message):
    ...         return [message.content]
    >>> mirror = Mirror(Lines())
    >>> first = mirror.read(["Why?"])[0]
    >>> mirror.read(["Why?", "How?"])[0] is first
    True
    """

    form: Any = attrs.field()
    """An `ItemForm`; what else it can do is looked up once."""
    truncation: truncate.Options | None = attrs.field(default=None, kw_only=True)
    """Limits for the outputs of tools, which are cut before they are sent for the first time."""
    items: list[Any] = attrs.field(factory=list, init=False)
    """The owner's own objects."""
    messages: list[Message] = attrs.field(factory=list, init=False)
    """The messages that the items were read as; always the same list."""
    fresh_from: int = attrs.field(default=0, init=False)
    """The position of the first item that the latest `read` did not know."""
    summaries: dict[str, ContextSummary] = attrs.field(factory=dict, init=False)
    """The records that were sent, by the hash of their text, the latest last."""
    _copies: list[Any] = attrs.field(factory=list, init=False)
    """Copies of the items, or of what tells them apart, as they were read."""
    _units: list[Unit] = attrs.field(factory=list, init=False)
    _records: dict[int, tuple[Any, Message]] = attrs.field(factory=dict, init=False)
    """The latest summaries as items of ours, by their object ids, and as messages."""
    _by_message: dict[int, Unit] = attrs.field(factory=dict, init=False)
    _by_result: dict[int, Unit] = attrs.field(factory=dict, init=False)
    """The unit of each tool result, by its object id."""
    _written: dict[tuple[int, ...], "_WrittenUnit"] = attrs.field(factory=dict, init=False)
    """What was made for the latest request, by the object ids of its messages."""
    _words: dict[tuple[str, int], Sequence[Any]] = attrs.field(factory=dict, init=False)
    """Our words between two messages, by their text, and how many of them precede in a request."""
    _ours: dict[int, tuple[Any, Any]] = attrs.field(factory=dict, init=False)
    """Each of these items with a copy of it, by its object id."""
    _own_words: list[Unit] = attrs.field(factory=list, init=False)
    _parted_runs: PartedRuns = attrs.field(factory=PartedRuns, init=False)
    _fillers: tuple[int, set[int]] = attrs.field(factory=lambda: (0, set()), init=False)
    """The length of the latest request, and before which of its messages a filler stands."""
    _copy: Callable[[Any], Any] = attrs.field(init=False)
    _facts: Callable[[Any], Any] | None = attrs.field(init=False)
    _groups: ReadsGroups | None = attrs.field(init=False)
    _editor: EditsItems | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        form = self.form
        self._copy = form.copy if isinstance(form, CopiesItems) else copy_of
        self._facts = form.facts if isinstance(form, ComparesItems) else None
        self._groups = form if isinstance(form, ReadsGroups) else None
        self._editor = form if isinstance(form, EditsItems) else None

    def read(
        self, items: Sequence[Any], covered: int = 0, *, like: Sequence[Unit] | None = None
    ) -> list[Message]:
        """Read the new items of a list; return all messages, in the same list as ever.

        The first `covered` items are only compared by identity. `like` are the units of an earlier
        reading of this list, whose messages are used again though another list was read meanwhile.

        Raises:
            ConfigError: a new object is not an item. What was read before stays as it was.
        """
        limit = min(len(items), len(self.items))
        identical = self._count_identical(items, min(covered, limit))
        same_to = self._count_equal(items, identical, limit)
        if self._groups is not None:
            for position, item in enumerate(items[same_to:], same_to):
                self._groups.check(position, item)
        keep = len(self._units)
        is_open = bool(self._units) and self._units[-1].is_open
        # An open unit is read again only if an item follows it.
        if same_to < len(self.items) or (is_open and same_to < len(items)):
            keep = self._count_kept(same_to)
        if like is not None and not are_same(like, self._units[:keep]):
            common = sum(1 for _ in takewhile(bool, map(operator.is_, like, self._units[:keep])))
            keep = common if self._groups is None else max(0, common - 1)
        start = self._units[keep - 1].end if keep else 0
        fresh = list(items[start:])
        # Copies, so that an edit in place is noticed, and never reaches the payload of a message.
        copies = list(map(self._copy, fresh if self._facts is None else map(self._facts, fresh)))
        readings = self._readings(fresh, copies, start)
        former, self.fresh_from = self._forget(keep, fresh), start
        for unit in (like or ())[keep:]:
            former.add_unit(unit, items[unit.start])
        # Equal items as well: what is sent are the objects that the owner has now.
        self.items[:] = items
        for reading in readings:
            self._add(reading, former)
        return self.messages

    def write(self, sent: Sequence[Message], *, extends: bool = False) -> list[Any]:
        """Return the items to send for a view of the messages.

        What is sent as it was read is the owner's own object. Where another reply stands between a
        call and its result, the result is put behind the call. A summary that the owner does not
        keep is an item of its own, behind the system messages at the start. A reply that no longer
        follows what it answers is preceded by a word of the user's; in a request that `extends` the
        last one, such words stay where they were.
        """
        is_plain = self.truncation is None and not self._parted_runs.end
        if sent is self.messages and is_plain and not (extends and self._fillers[1]):
            self._written, self._fillers = {}, (len(sent), set())
            return self.items.copy()
        messages = self._with_record_in_place(sent)
        length, before_these = self._fillers if extends else (0, set())
        fillers = {each for each in before_these if each < length}
        # One unit of the untouched end as well: it says how what is before it must lead up to it.
        end, rest = self._untouched(messages, max(fillers, default=-1) + 1)
        head, places, ends = answer_each_call(messages[:end], self.places_of(messages[:end]))
        former, self._written = self._written, {}
        items: list[Any] = []
        firsts = {unit.first for unit in self._own_words}
        last, after_reply, at, count = -1, True, 0, 0
        waiting: set[str] = set()  # calls whose results come behind this reply; nothing parts them
        for stretch, unit, order in self._stretches(head, places):
            is_seam = places[at] != last + 1 or places[at] in firsts
            # What the calls before it wait for now stands before it. Google refuses a call there.
            is_seam = is_seam or (bool(stretch[0].tool_calls) and self._parted_runs.has(places[at]))
            follows_reply = after_reply and stretch[0].role == "assistant" and not waiting
            if at >= length and is_seam and follows_reply:
                fillers.add(at)
            # The owner's own list may begin with a reply; ours may not.
            if at in fillers or at in ends:
                items += self.say(_GO_ON, count, self.form.write)
                count += 1
            items += self._write_unit(stretch, unit, order, former)
            at += len(stretch)
            for message, place in zip(stretch, places[at - len(stretch) : at], strict=True):
                last = last if place is None else place
                waiting.update(call.id for call in message.tool_calls)
                waiting.difference_update(result.call_id for result in message.tool_results)
                if message.role != "system" or message.summary is not None:
                    after_reply = message.role == "assistant"
        if at in ends:
            items += self.say(_GO_ON, count, self.form.write)
        self._fillers = at + len(messages) - end, fillers
        return [*items, *self.items[rest:]]

    def say(
        self, message: Message, number: int, write: Callable[[Message], Sequence[Any]]
    ) -> Sequence[Any]:
        """Return the items of our words for the `number`-th place where a request needs them.

        They are the same objects each time, unless somebody has changed them.
        """
        key = message.content, number
        items = self._words.get(key, ())
        if not items or not all(map(self.is_ours, items)):
            for each in items:
                self._ours.pop(id(each), None)
            self._words[key] = items = list(write(message))
            self._ours.update(
                (id(each), (each, self._copy(self._value_of(each)))) for each in items
            )
        return items

    def is_ours(self, item: Any) -> bool:
        """Return whether an item is our words between two messages that may not follow each other.

        An owner who keeps what is sent has them in the list. They say nothing: where they are still
        needed, they are put in again.
        """
        entry = self._ours.get(id(item))
        return entry is not None and bool(self._value_of(item) == entry[1])

    @property
    def words(self) -> Sequence[Unit]:
        """The units of our words in the owner's list, in order: they hold no message."""
        return self._own_words

    def _value_of(self, item: Any) -> Any:
        return item if self._facts is None else self._facts(item)

    def write_aside(self, sent: Sequence[Message]) -> list[Any]:
        """Return the items of a request that extends the latest one, and is forgotten."""
        state = self._written, self._fillers
        try:
            return self.write(sent, extends=True)
        finally:
            self._written, self._fillers = state

    def rewrite(self, history: Sequence[Message]) -> list[Any]:
        """Replace the list by a compacted history, and return it as items."""
        self._written = {}
        stretches = self._stretches(history, self.places_of(history))
        items = [item for each in stretches for item in self._write_unit(*each, {})]
        self.read(items)
        return items

    def _with_record_in_place(self, sent: Sequence[Message]) -> list[Message]:
        """Return a view whose summary stands behind the system messages, if it is one of ours."""
        leading = sent[: leading_system_count(sent)]
        # One that the owner keeps stands where the owner put it.
        own = any(each.summary is not None and self.find(each) for each in leading)
        return list(sent) if own else move_record(sent)

    def _untouched(self, messages: list[Message], least: int) -> tuple[int, int]:
        """Return behind which message, and which item, everything is sent as it was read."""
        if self.truncation is not None:
            return len(messages), len(self.items)
        pairs = map(operator.is_, reversed(messages), reversed(self.messages))
        length = sum(1 for _ in takewhile(bool, pairs))
        first = max(len(self.messages) - length, least + len(self.messages) - len(messages))
        words = (unit.first for unit in self._own_words[-1:])
        first = max(first, self._parted_runs.end, *words)
        # Behind the first unit that begins there and says something.
        at = bisect_left(self._units, first, key=operator.attrgetter("first"))
        at += 1 + sum(unit.first == first for unit in self._own_words)
        if at >= len(self._units):
            return len(messages), len(self.items)
        unit = self._units[at]
        return unit.first + len(messages) - len(self.messages), unit.start

    def count_new(self, items: Sequence[Any]) -> int:
        """Return how many items have to be read, or compared by value."""
        length = len(self.items)
        extends = 0 < length <= len(items) and items[length - 1] is self.items[-1]
        return len(items) - length if extends and length < LONG else len(items)

    @property
    def units(self) -> Sequence[Unit]:
        """The units of the list, in order."""
        return self._units

    @property
    def copies(self) -> Sequence[Any]:
        """The copies of the items, or of what tells them apart."""
        return self._copies

    def find(self, message: Message) -> Unit | None:
        """Return the unit that a message belongs to; None if it was not read from an item."""
        return self._by_message.get(id(message))

    def find_source(self, message: Message) -> Unit | None:
        """Return the unit of a message, or of the results that an edited one still has."""
        units = (self._by_result.get(id(each)) for each in message.tool_results)
        return self.find(message) or next(filter(None, units), None)

    def items_before(self, position: int) -> int:
        """Return how many items come before the message at a position."""
        at = bisect_left(self._units, position, key=operator.attrgetter("first"))
        return self._units[at].start if at < len(self._units) else len(self.items)

    def items_of(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return where in the owner's list the items of some messages are, in ascending order."""
        places: set[int] = set()
        for position in positions:
            at = bisect_right(self._units, position, key=operator.attrgetter("first")) - 1
            places.update(self._units[at].positions)
        return tuple(sorted(places))

    def remember_record(self, text: str, summary: ContextSummary) -> None:
        """Recognize a record when its text comes back at the start of the owner's list."""
        self.summaries[hash_text(text)] = summary
        for old in list(self.summaries)[:-_SUMMARIES]:
            del self.summaries[old]

    def _readings(self, fresh: list[Any], copies: list[Any], start: int) -> list[Decoded]:
        """Read the items from a position on, and keep their copies.

        What cannot be read leaves everything as it was.
        """
        if self._groups is None:
            readings = [Decoded(1, tuple(self._read_one(item))) for item in fresh]
        elif self._facts is not None:
            readings = list(self._groups.read_group([*self.items[:start], *fresh], start))
        else:
            # In place: to join the two lists would cost each turn a copy of all of them.
            former, self._copies[start:] = self._copies[start:], copies
            try:
                return list(self._groups.read_group(self._copies, start))
            except BaseException:
                self._copies[start:] = former
                raise
        self._copies[start:] = copies
        return readings

    def _read_one(self, item: Any) -> Sequence[Message]:
        # An owner who keeps what was sent gives the record back as the same object.
        form: ItemForm = self.form
        record = self._records.get(id(item))
        return form.read(item) if record is None else (record[1],)

    def _count_identical(self, items: Sequence[Any], covered: int) -> int:
        """Return how many items need no comparison by value: all covered ones, or none."""
        # Equal items may have been rebuilt or reloaded; then all of them are different objects.
        if not covered or items[covered - 1] is not self.items[covered - 1]:
            return 0
        if self._facts is None and isinstance(items, list):
            # `==` tries the identity of two objects first, in a third of the time.
            return covered if items[:covered] == self.items[:covered] else 0
        return covered if all(map(operator.is_, islice(items, covered), self.items)) else 0

    def _count_equal(self, items: Sequence[Any], start: int, limit: int) -> int:
        """Return how many items at the start are unchanged; those before `start` are assumed."""
        part = items[start:limit]
        values = part if self._facts is None else list(map(self._facts, part))
        # Two lists are compared in C. Only if they differ, the first difference is looked for here.
        if values == self._copies[start:limit]:
            return limit
        pairs = zip(values, self._copies[start:limit], strict=True)
        return next((at for at, (new, old) in enumerate(pairs, start) if new != old), limit)

    def _count_kept(self, same_to: int) -> int:
        """Return how many units stay if only the first items are unchanged.

        In a group, the last unit of these items is not kept: what followed may have affected its
        reading.
        """
        count = bisect_right(self._units, same_to, key=operator.attrgetter("end"))
        return count if self._groups is None else max(0, count - 1)

    def _forget(self, keep: int, fresh: Sequence[Any]) -> Former:
        """Forget all but the first units; return the messages of those that are forgotten."""
        units = self._units[keep:]
        former = Former(frozenset(map(id, fresh)))
        for unit in units:
            former.add_unit(unit, self.items[unit.start])
            for message in unit.messages:
                # While the message is alive: its id may be another object's afterwards.
                del self._by_message[id(message)]
                for result in message.tool_results:
                    self._by_result.pop(id(result), None)
        if units:
            del self._units[-len(units) :]
            self._own_words = [each for each in self._own_words if each.end <= units[0].start]
            del self.messages[units[0].first :]
            self._parted_runs.rewind(self.messages)
            self._on_forget(units)
        return former

    def _is_sent_as_read(self, unit: Unit) -> bool:
        """Return whether the owner's items of a unit may be sent, if nothing is changed in it."""
        return True

    def _on_forget(self, units: Sequence[Unit]) -> None:
        """Let a subclass forget what it keeps for some units."""

    def _on_add(self, unit: Unit) -> None:
        """Let a subclass note something for a new unit."""

    def _add(self, reading: Decoded, former: Former) -> None:
        start = self._units[-1].end if self._units else 0
        first, item = len(self.messages), id(self.items[start])
        originals: list[Message] = []
        visibles: list[Message] = []
        is_words = reading.items == 1 and self.is_ours(self.items[start])
        new = () if is_words else self._with_record(reading, start)
        for position, message in enumerate(new, first):
            one, visible = former.take(position, item, message) or (message, self._cut(message))
            # A form may keep what it has read, and an object may be in the list twice.
            if id(visible) in self._by_message or (visibles and id(visible) in map(id, visibles)):
                one, visible = (copy := attrs.evolve(one)), copy if one is visible else visible
            originals.append(one)
            visibles.append(visible)
        messages = tuple(visibles)
        # Nearly always the same tuple: there are as many units as messages.
        original = messages if are_same(originals, visibles) else tuple(originals)
        unit = Unit(start, reading.items, first, messages, reading.is_open, original)
        self._units.append(unit)
        if is_words:
            self._own_words.append(unit)
        self.messages += messages
        for position, message in enumerate(messages, first):
            self._parted_runs.add(position, message)
            self._by_message[id(message)] = unit
            for result in message.tool_results:
                self._by_result[id(result)] = unit
        self._on_add(unit)

    def _cut(self, message: Message) -> Message:
        if self.truncation is None or not message.tool_results:
            return message
        results = [truncate_result(each, self.truncation) for each in message.tool_results]
        if all(map(operator.is_, results, message.tool_results)):
            return message
        return message.replace(tool_results=results)

    def _with_record(self, reading: Decoded, start: int) -> Sequence[Message]:
        """Return the messages of a unit with our record at the start as a summary.

        It is recognized by its hash: its form alone could be forged by anybody.
        """
        messages = reading.messages
        if not self.summaries or not messages or messages[0].role != "user":
            return messages
        # Only where it was put: anywhere else, these are the user's own words.
        if any(message.role != "system" for message in self.messages):
            return messages
        first = messages[0]
        summary = self.summaries.get(hash_text(first.content))
        if summary is not None and len(messages) == 1:
            return (attrs.evolve(first, role="system", summary=summary),)
        return self._parted(start) or messages

    def _parted(self, start: int) -> Sequence[Message]:
        """Return our record and the user's message, if an item holds both; nothing otherwise."""
        return ()

    def places_of(self, sent: Sequence[Message]) -> list[int | None]:
        """Return which message each message of a view is, or is an edited copy of.

        A view keeps the order of the list, so that an edited copy is between its neighbors. Results
        alone move to their calls: those stand before the next reply that calls. A result that was
        made up is a copy of nothing, not even of the real one that came too late.
        """
        units = (self._by_message.get(id(message)) for message in sent)
        places = [
            None if unit is None else unit.first + _index(unit.messages, message)
            for message, unit in zip(sent, units, strict=True)
        ]
        end, results_end, bounds = len(self.messages), len(self.messages), []
        for message, place in zip(reversed(sent), reversed(places), strict=True):
            end = end if place is None else place
            results_end = results_end if place is None or not message.tool_calls else place
            bounds.append(results_end if message.role == "tool" else end)
        bounds.reverse()
        last = -1
        for at, message in enumerate(sent):
            if places[at] is None and message.summary is None and reopen_rounds([message]):
                places[at] = self._place_edited(message, last + 1, bounds[at])
            place = places[at]
            last = last if place is None else place
        return places

    def _place_edited(self, message: Message, start: int, end: int) -> int | None:
        first: int | None = None
        for place in range(start, end):
            original = self.messages[place]
            if not _may_be_of(message, original):
                continue
            if original.content == message.content:
                return place
            first = place if first is None else first
        # The ids of calls and results say it. Without any, it is told by its text, or because
        # nothing else can have been there: a View also makes up messages.
        has_ids = bool(message.id or message.tool_calls or message.tool_results)
        return first if end - start == 1 or has_ids else None

    def _stretches(
        self, messages: Sequence[Message], places: Sequence[int | None]
    ) -> Iterator[tuple[list[Message], Unit | None, list[int]]]:
        """Split a view into stretches of one unit each, with the place of each message in it."""
        unit: Unit | None = None
        stretch: list[Message] = []
        order: list[int] = []
        for message, place in zip(messages, places, strict=True):
            owner = None if place is None else self._unit_at(place)
            inside = place is not None and owner is not None and owner is unit
            index = place - owner.first if place is not None and owner is not None else 0
            if stretch and not (inside and index > order[-1]):
                yield stretch, unit, order
                stretch, order = [], []
            unit = owner
            stretch.append(message)
            order.append(index)
        if stretch:
            yield stretch, unit, order

    def _unit_at(self, position: int) -> Unit:
        return self._by_message[id(self.messages[position])]

    def _write_unit(
        self,
        stretch: list[Message],
        unit: Unit | None,
        order: list[int],
        former: Mapping[tuple[int, ...], "_WrittenUnit"],
    ) -> Sequence[Any]:
        if unit is not None and self._is_sent_as_read(unit) and are_same(stretch, unit.original):
            return self.items[unit.start : unit.end]
        key = tuple(map(id, stretch))
        items = former.get(key)
        if items is None or items.unit is not unit:
            # With the messages, so that no other object gets one of these ids.
            items = _WrittenUnit(stretch, unit, self._make(stretch, unit, order))
        self._written[key] = items
        return items.items

    def _make(self, stretch: list[Message], unit: Unit | None, order: list[int]) -> Sequence[Any]:
        """Return items of ours, or a changed copy of the owner's."""
        is_record = len(stretch) == 1 and stretch[0].summary is not None
        if unit is None or self._editor is None or is_record:
            return [item for message in stretch for item in self._write_new(message)]
        after: list[Message | None] = [None] * len(unit.original)
        for message, index in zip(stretch, order, strict=True):
            after[index] = message
        return self._editor.edit(self.items[unit.start : unit.end], unit.original, after)

    def _write_new(self, message: Message) -> Sequence[Any]:
        form: ItemForm = self.form
        if message.summary is None:
            return form.write(message)
        self.remember_record(message.content, message.summary)
        # Not with the authority of a system message: a model wrote it, or quotes are in it.
        items = form.write(attrs.evolve(message, role="user", native=None))
        if len(items) == 1:
            self._records[id(items[0])] = items[0], message
            for old in list(self._records)[:-_SUMMARIES]:
                del self._records[old]
        return items


@attrs.frozen(eq=False)
class _WrittenUnit:
    messages: list[Message]
    unit: Unit | None
    items: Sequence[Any]


def _may_be_of(message: Message, original: Message) -> bool:
    """Return whether a message may be an edited copy: some calls or results may be left out."""
    if message.role != original.role or message.id != original.id:
        return False
    ids = {id_ for part in key_of(message)[2:] for id_ in part}
    return not ids or any(id_ in ids for part in key_of(original)[2:] for id_ in part)


def _index(messages: Sequence[Message], message: Message) -> int:
    return next(at for at, each in enumerate(messages) if each is message)


def hash_text(text: str) -> str:
    """Return a hash of a text: SHA-256, the first 128 bits in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
