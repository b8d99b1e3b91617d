"""A growing list of a wire's items, and the messages that they are read as.

Only new items are read. Items before the cut of a compaction are compared by identity. Items after
it, and all items if the objects are different ones, are compared by value with copies of what was
read. A *unit* is a group of items that are read together: one item may become two messages, and
several items one message.
"""

import copy
import hashlib
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from types import ModuleType, NoneType
from typing import Any, Protocol

import attrs

from agentic._waiting import LONG
from agentic.bridges.dicts._wires import check_wire
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message
from agentic.providers.kit import Decoded, items_at, plain, text_at

_NO_ITEMS = (str, bytes, int, float, list, tuple, NoneType)
"""An object of any other class may belong to an SDK."""


@attrs.frozen(eq=False)
class Unit:
    """Items that are read together."""

    start: int
    """The position of the first item in the owner's list."""
    items: int
    """The number of items."""
    first: int
    """The position of their first message among all messages."""
    messages: tuple[Message, ...]
    is_open: bool
    """Whether the next item may change how these items are read."""

    @property
    def positions(self) -> range:
        """The positions of its items in the owner's list."""
        return range(self.start, self.end)

    @property
    def end(self) -> int:
        """The position after the last item."""
        return self.start + self.items


class _Decoder(Protocol):
    def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Decoded]: ...


@attrs.define(eq=False)
class ItemReader:
    """One owner's list as it was last read."""

    _wire: ModuleType
    _takes_texts: bool = False
    """Whether an item may be a plain str."""
    items: list[Any] = attrs.field(factory=list, init=False)
    """The owner's own objects."""
    messages: list[Message] = attrs.field(factory=list, init=False)
    """The messages that the items were read as; always the same list."""
    summaries: dict[str, ContextSummary] = attrs.field(factory=dict, init=False)
    """The records that were sent, by the hash of their text, the latest last."""
    _copies: list[Any] = attrs.field(factory=list, init=False)
    """Copies of the items as they were read."""
    _units: list[Unit] = attrs.field(factory=list, init=False)
    _by_message: dict[int, Unit] = attrs.field(factory=dict, init=False)
    _by_result: dict[int, Unit] = attrs.field(factory=dict, init=False)
    """The unit of each tool result, by its object id."""
    _decoder: _Decoder = attrs.field(init=False)
    _filled: dict[int, Any] = attrs.field(factory=dict, init=False)
    """What is sent in the place of the owner's items that hold a call without arguments."""

    def __attrs_post_init__(self) -> None:
        self._decoder = self._wire.IncrementalDecoder()

    def sent_item(self, position: int) -> Any:
        """Return what is sent for the owner's item at a position: nearly always the item itself."""
        filled = self._filled.get(position)
        # A copy: the caller may change what it sends, and the same item is sent again.
        return self.items[position] if filled is None else copy.deepcopy(filled)

    def sent_items(self, start: int) -> list[Any]:
        """Return what is sent for the owner's items from a position on."""
        sent = self.items[start:]
        for position in self._filled:
            if position >= start:
                sent[position - start] = self.sent_item(position)
        return sent

    def read(self, items: Sequence[Any], covered: int) -> None:
        """Read the new items of a list; its first `covered` items are only compared by identity.

        Raises:
            ConfigError: a new object is not an item.
        """
        known = min(len(items), len(self.items))
        identical = self._count_identical(items, min(covered, known))
        same = self._count_equal(items, identical, known)
        # Before anything is changed: a list that is refused leaves what was read as it was.
        for position, item in enumerate(islice(items, same, None), same):
            self._check(position, item)
        keep = len(self._units)
        is_open = bool(self._units) and self._units[-1].is_open
        # An open unit is read again only if an item follows it.
        if same < len(self.items) or (is_open and same < len(items)):
            keep = self._count_kept(same)
        start = self._units[keep - 1].end if keep else 0
        # Copies, so that an edit in place is noticed, and never reaches the payload of a message.
        copies = list(map(_copy, items[start:]))
        former = self._forget(keep)
        # Equal items as well: what is sent are the objects that the owner has now.
        self.items[identical:] = items[identical:]
        self._copies[start:] = copies
        if start < len(items):
            self._decode(start, former)

    def count_new(self, items: Sequence[Any]) -> int:
        """Return how many items have to be read, or compared by value."""
        length = len(self.items)
        extends = 0 < length <= len(items) and items[length - 1] is self.items[-1]
        return len(items) - length if extends and length < LONG else len(items)

    def _check(self, position: int, item: Any) -> None:
        """Raise for an item that the decoder would read as something else, or as nothing."""
        if isinstance(item, _NO_ITEMS) and not (self._takes_texts and isinstance(item, str)):
            raise ConfigError(
                f"messages[{position}]",
                item,
                "a dict, or an object of the provider's SDK",
                'pass {"role": "user", ...} as the provider documents it',
            )
        check_wire(position, item, self._wire.NAME)

    def find(self, message: Message) -> Unit | None:
        """Return the unit that a message belongs to; None if it was not read from an item."""
        return self._by_message.get(id(message))

    def find_source(self, message: Message) -> Unit | None:
        """Return the unit of a message, or of the results that an edited one still has."""
        units = (self._by_result.get(id(each)) for each in message.tool_results)
        return self.find(message) or next(filter(None, units), None)

    def find_system(self, text: str) -> Unit | None:
        """Return the system message with this text among those at the start of the list."""
        for unit in self._units:
            if unit.messages[0].role != "system":
                break
            if len(unit.messages) == 1 and unit.messages[0].content == text:
                return unit
        return None

    def items_before(self, position: int) -> int:
        """Return how many items come before the message at a position."""
        at = bisect_left(self._units, position, key=operator.attrgetter("first"))
        return self._units[at].start if at < len(self._units) else len(self.items)

    def items_of(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return where in the owner's list the items of some messages are, in ascending order."""
        found: set[int] = set()
        for position in positions:
            at = bisect_right(self._units, position, key=operator.attrgetter("first")) - 1
            found.update(self._units[at].positions)
        return tuple(sorted(found))

    def _count_identical(self, items: Sequence[Any], covered: int) -> int:
        """Return how many items need no comparison by value: all covered ones, or none."""
        # Equal items may have been rebuilt or reloaded; then all of them are different objects.
        return covered if all(map(operator.is_, islice(items, covered), self.items)) else 0

    def _count_equal(self, items: Sequence[Any], start: int, known: int) -> int:
        """Return how many items at the start are unchanged; those before `start` are assumed."""
        # Two lists are compared in C. Only if they differ, the first difference is looked for here.
        if items[start:known] == self._copies[start:known]:
            return known
        pairs = zip(items[start:known], self._copies[start:known], strict=True)
        return next((at for at, (new, old) in enumerate(pairs, start) if new != old), known)

    def _count_kept(self, same: int) -> int:
        """Return how many units stay if only the first `same` items are unchanged.

        The last unit of these items is not kept: what followed may have affected its reading.
        """
        return max(0, bisect_right(self._units, same, key=operator.attrgetter("end")) - 1)

    def _forget(self, keep: int) -> dict[int, Unit]:
        """Forget all but the first units; return what was forgotten."""
        gone = self._units[keep:]
        for unit in gone:
            for message in unit.messages:
                # While the message is alive: its id may be another object's afterwards.
                del self._by_message[id(message)]
                for result in message.tool_results:
                    del self._by_result[id(result)]
            for position in unit.positions:
                self._filled.pop(position, None)
        if gone:
            del self._units[-len(gone) :]
            del self.messages[gone[0].first :]
        return {unit.start: unit for unit in gone}

    def _decode(self, start: int, former: dict[int, Unit]) -> None:
        for found in self._decoder.decode(self._copies, start):
            messages = self._with_record(found.messages, start)
            self._add(found.items, messages, is_open=found.is_open, former=former)
            start += found.items

    def _add(
        self,
        items: int,
        messages: tuple[Message, ...],
        *,
        is_open: bool,
        former: dict[int, Unit],
    ) -> None:
        start = self._units[-1].end if self._units else 0
        before = former.get(start)
        if before is not None and before.items == items and _say_same(before.messages, messages):
            messages = before.messages  # others compare these objects by identity
        unit = Unit(start, items, len(self.messages), messages, is_open)
        self._units.append(unit)
        self.messages += messages
        for message in messages:
            self._by_message[id(message)] = unit
            self._by_result.update((id(result), unit) for result in message.tool_results)
        if any(map(_may_lack_arguments, messages)):
            self._fill(unit)

    def _fill(self, unit: Unit) -> None:
        """Note what to send for items with a call whose arguments are blank or missing."""
        encoded = self._wire.encode(list(unit.messages))
        if len(encoded) != unit.items:
            return
        for position, item in zip(unit.positions, encoded, strict=True):
            if item != plain(self._copies[position]):
                self._filled[position] = item

    def _with_record(self, messages: tuple[Message, ...], start: int) -> tuple[Message, ...]:
        """Return the messages with our record at the start of the conversation as a summary.

        It is recognized by its hash: its form alone could be forged by anybody.
        """
        first = messages[0]
        # Only where it was put: anywhere else, these are the user's own words.
        is_start = all(message.role == "system" for message in self.messages)
        if first.role != "user" or not self.summaries or not is_start:
            return messages
        summary = self.summaries.get(hash_text(first.content))
        if summary is not None and len(messages) == 1:
            return (attrs.evolve(first, role="system", summary=summary),)
        return self._parted(plain(self._copies[start])) or messages

    def _parted(self, item: Any) -> tuple[Message, ...]:
        """Return our record and the user's message, if the record is its first block."""
        key = next((key for key in ("content", "parts") if items_at(item, key)), "")
        first, *rest = items_at(item, key) or [None]
        text = text_at(first, "text")
        summary = self.summaries.get(hash_text(text)) if text and rest else None
        if summary is None:
            return ()
        record = Message("system", text, summary=summary)
        return (record, *self._wire.decode([{**item, key: rest}]))


def _may_lack_arguments(message: Message) -> bool:
    # Wires with an object have none where it is missing, and it is read as an empty one.
    return any(call.arguments.strip() in {"", "{}"} for call in message.tool_calls)


def _say_same(some: tuple[Message, ...], others: tuple[Message, ...]) -> bool:
    """Return whether messages differ at most in their payload, for example in a cache mark."""
    return len(some) == len(others) and all(
        (one.native is None) == (other.native is None)
        and one == attrs.evolve(other, native=one.native)
        for one, other in zip(some, others, strict=True)
    )


def hash_text(text: str) -> str:
    """Return a hash of a text: SHA-256, the first 128 bits in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _copy(item: Any) -> Any:
    """Return a copy that shares no container with the item."""
    kind = type(item)
    if kind is str or item is None or kind in {int, float, bool, bytes}:
        return item
    if kind is dict:
        return {key: _copy(value) for key, value in item.items()}
    if kind is list:
        return [_copy(value) for value in item]
    # For an SDK's objects. It takes more than twice as long, so JSON data is copied above.
    return copy.deepcopy(item)
