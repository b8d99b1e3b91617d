"""From the messages of a View to the items of a request: the owner's, and new ones between them.

If none of an item's messages was changed, it is sent as the owner's own object. What was edited,
made up or summarized is encoded by the wire's adapter, together with the messages that it belongs
to.
"""

import copy
import operator
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import attrs

from agentic.bridges.dicts._items import ItemReader, Unit, hash_text
from agentic.bridges.dicts._requests import RequestForm
from agentic.messages import Message
from agentic.providers.kit import RecordRole, at, items_at, move_record, plain

_GO_ON = Message("user", "Continue.")
_UNDERSTOOD = Message("assistant", "Understood.")
_SYSTEM = {"system", "developer"}
_SUMMARIES = 8
"""The same as the number of generations that a View remembers."""
_SAID = 3
"""The texts of a summary message and of a filler for either role."""

_Placed = tuple[Any, int | None]
"""An item, and its position in the owner's list; None for an item of ours."""


@attrs.frozen(eq=False)
class _Encoded:
    """What was encoded for some messages of a request.

    Which of the items are the owner's is kept by message: the owner's list may gain or lose items
    before them, so that a position holds for a single request.
    """

    messages: list[Message]
    owned: tuple[bool, ...]
    """Whether each message, or a result in it, was one of the owner's items."""
    items: list[tuple[Any, tuple[Message, int] | None]]
    """Each item; if it is the owner's, with a message of its unit and its place in the unit."""

    def place(self, reader: ItemReader) -> Iterator[_Placed]:
        """Yield the items with their positions in the owner's list as it is now."""
        for item, source in self.items:
            unit = None if source is None else reader.find_source(source[0])
            if source is None or unit is None:
                # The caller may change what it sends, and the same encoded item is sent again.
                yield copy.deepcopy(item), None
            else:
                position = unit.start + source[1]
                yield reader.sent_item(position), position


@attrs.define(eq=False)
class RequestWriter:
    """Writes the requests of one conversation."""

    wire: ModuleType
    form: RequestForm
    record_role: RecordRole = "user"
    _before: dict[tuple[int, ...], _Encoded] = attrs.field(factory=dict, init=False)
    """What was encoded for the latest request, by the object ids of its messages."""
    _said: dict[tuple[Any, ...], Any] = attrs.field(factory=dict, init=False)
    """The latest few items of ours, by what they say."""
    _parting: dict[int, Message] = attrs.field(factory=dict, init=False)
    """What was put before the items of the latest request, by their positions in it.

    The owner's list may gain or lose an item that is not sent: then two items are neighbors no
    more, or only now. A request that extends the last one must not differ from it for that."""
    _length: int = attrs.field(default=0, init=False)
    """The number of items in the latest request, without those that part others."""
    _sent_record: Any = attrs.field(default=None, init=False)
    """The item of the record in the latest request, unless it is the owner's."""

    def write(
        self,
        sent: list[Message],
        reader: ItemReader,
        *,
        strict_roles: bool = False,
        extends: bool = False,
    ) -> list[Any]:
        """Return the items for the messages of a request.

        With `strict_roles`, roles alternate wherever something was left out. If the request
        `extends` the last one, what was put between the items of that one stays where it was.
        """
        sent = move_record(sent)
        end, start = _untouched_end(sent, reader)
        before = self._place(sent[:end], reader)
        self._keep_parting(extends=extends)
        # The first unchanged item determines how the items before it must lead up to it. One more
        # than to the last place of `_parting`, because a record may be merged into an item.
        last = start + max(1, max(self._parting, default=-1) - len(before) + 2)
        own = range(len(reader.items))[start:last]
        placed = [*before, *((reader.sent_item(each), each) for each in own)]
        form = self.form
        if strict_roles:
            form = attrs.evolve(form, parts_replies=True, parts_users=True)
        if form.has_turns and form.parts_users and form.text_block is not None:
            placed = self._merge_record(placed, form.text_block)
        rest = reader.sent_items(start + len(own))
        length = len(placed) + len(rest)
        if form.has_turns:
            placed = list(self._in_turns(placed, form))
        self._length = length
        return [*(item for item, _ in placed), *rest]

    def write_all(self, reader: ItemReader, *, extends: bool) -> list[Any]:
        """Return the items of a request from which nothing is missing."""
        self._keep_parting(extends=extends)
        if self._parting:
            return self.write(reader.messages, reader, extends=extends)
        self._length = len(reader.items)
        return reader.sent_items(0)

    def _keep_parting(self, *, extends: bool) -> None:
        if not extends:
            self._parting, self._length = {}, 0

    def _place(self, sent: list[Message], reader: ItemReader) -> list[_Placed]:
        placed: list[_Placed] = []
        before, self._before = self._before, {}
        self._sent_record = None
        for stretch in _stretches(sent):
            units = _whole_units(stretch, reader)
            if units is not None:
                placed += [
                    (reader.sent_item(each), each) for unit in units for each in unit.positions
                ]
            elif stretch[0].summary is not None:
                placed.append(self._record(stretch[0], reader))
            else:
                key = tuple(map(id, stretch))
                owned = tuple(reader.find_source(each) is not None for each in stretch)
                encoded = before.get(key)
                if encoded is None or encoded.owned != owned:
                    # With the messages, so that no other object gets one of these ids.
                    encoded = _Encoded(stretch, owned, self._encode(stretch, reader))
                self._before[key] = encoded
                placed += encoded.place(reader)
        return placed

    def _record(self, message: Message, reader: ItemReader) -> _Placed:
        """Return the record of earlier conversation as an item."""
        text = message.content
        if self.record_role == "system":
            unit = reader.find_system(text)
            if unit is not None:
                return reader.items[unit.start], unit.start
            return self._say(Message("system", text, media=message.media)), None
        if message.summary is not None:
            reader.summaries[hash_text(text)] = message.summary
            for old in list(reader.summaries)[:-_SUMMARIES]:
                del reader.summaries[old]
        self._sent_record = self._say(attrs.evolve(message, role="user", native=None))
        return self._sent_record, None

    def _say(self, message: Message) -> Any:
        """Return a new item for a message of ours."""
        key = (message.role, message.content, message.media)
        if key not in self._said:
            for old in list(self._said)[:-_SAID]:
                del self._said[old]
            self._said[key] = self.wire.encode([message])[0]
        return copy.deepcopy(self._said[key])

    def _encode(
        self, stretch: list[Message], reader: ItemReader
    ) -> list[tuple[Any, tuple[Message, int] | None]]:
        """Encode messages that belong together, some of them new; reuse the owner's items."""
        if stretch[0].role == "system" and not self.form.has_system_role:
            stretch = [Message("user", message.content) for message in stretch]
        own = list(self._owners(stretch, reader))
        encoded: list[tuple[Any, tuple[Message, int] | None]] = []
        for item in self.wire.encode(stretch):
            match = next((n for n, (alone, _) in enumerate(own) if alone == item), None)
            encoded.append((item, None if match is None else own[match][1]))
            if match is not None:
                # Both are in the same order, so whatever was passed over has no match any more.
                del own[: match + 1]
        return encoded

    def _owners(
        self, stretch: list[Message], reader: ItemReader
    ) -> Iterator[tuple[Any, tuple[Message, int]]]:
        """Yield what the adapter would write for the owner's items alone, with their places."""
        for unit in dict.fromkeys(filter(None, map(reader.find_source, stretch))):
            alone = self.wire.encode(list(unit.messages))
            # Otherwise nothing tells which item is which of the owner's.
            if len(alone) == unit.items:
                first = next(each for each in stretch if reader.find_source(each) is unit)
                yield from ((item, (first, place)) for place, item in enumerate(alone))

    def _merge_record(self, placed: list[_Placed], text_block: Mapping[str, str]) -> list[_Placed]:
        """Make the record the first block of a user's message that may not follow it."""
        own = (n for n, (item, _) in enumerate(placed) if item is self._sent_record)
        place = next(own, len(placed))
        if place + 1 >= len(placed):
            return placed
        (record, _), (item, position) = placed[place : place + 2]
        if _role_of(item) != "user" or _has_results(item):
            return placed
        blocks: list[Any] = []
        for content in (at(record, "content"), at(plain(item), "content")):
            is_text = isinstance(content, str)
            blocks += [{**text_block, "text": content}] if is_text else content or []
        merged = {**plain(item), "content": blocks}
        return [*placed[:place], (merged, position), *placed[place + 2 :]]

    def _in_turns(self, placed: list[_Placed], form: RequestForm) -> Iterator[_Placed]:
        """Separate items that may not follow each other, if something between them was left out."""
        before: int | None = -1
        last = "assistant"  # the owner's list may begin with a reply, but ours may not
        is_start = True
        for number, (item, position) in enumerate(placed):
            role = _role_of(item)
            # Neighbors in the owner's list may follow each other: they have been sent so before.
            is_seam = position is None or before is None or position != before + 1
            if number >= self._length:
                if is_seam and role == last == "assistant" and (form.parts_replies or is_start):
                    self._parting[number] = _GO_ON
                elif is_seam and role == last == "user" and form.parts_users:
                    self._parting[number] = _UNDERSTOOD
            if number in self._parting:
                yield self._say(self._parting[number]), None
            yield item, position
            before = position
            # The turns begin behind the system messages at the start.
            is_start = is_start and role in _SYSTEM
            last = last if is_start else role


def _has_results(item: Any) -> bool:
    return any(at(block, "toolResult") for block in items_at(plain(item), "content"))


def _untouched_end(sent: list[Message], reader: ItemReader) -> tuple[int, int]:
    """Return where the unchanged newest messages of a view begin, and where their items begin."""
    messages = reader.messages
    same = [*map(operator.is_, reversed(sent), reversed(messages)), False]
    length = same.index(False)
    offset = len(sent) - len(messages)
    for position in range(len(messages) - length, len(messages)):
        unit = reader.find(messages[position])
        # Neither an item nor a stretch that is encoded together may be cut in two here.
        starts_unit = unit is not None and unit.first == position
        if starts_unit and (not position or _begins(messages[position], messages[position - 1])):
            return position + offset, reader.items_before(position)
    return len(sent), len(reader.items)


def _stretches(sent: list[Message]) -> Iterator[list[Message]]:
    """Split a view into stretches that are encoded together: rounds, which a view never breaks."""
    stretch: list[Message] = []
    for message in sent:
        if stretch and _begins(message, stretch[-1]):
            yield stretch
            stretch = []
        stretch.append(message)
    if stretch:
        yield stretch


def _begins(message: Message, before: Message) -> bool:
    if message.role == "assistant":
        return before.role != "assistant"
    if message.role == "tool":
        return before.role not in {"assistant", "tool"}
    # The words next to results are of the same item.
    joins = message.native is not None and message.native.joins_previous
    return not (joins and before.role == "tool")


def _whole_units(stretch: list[Message], reader: ItemReader) -> list[Unit] | None:
    """Return the units that a stretch consists of; None if a message in it is not the owner's."""
    units: list[Unit] = []
    position = 0
    while position < len(stretch):
        unit = reader.find(stretch[position])
        if unit is None:
            return None
        for message in unit.messages:
            if position >= len(stretch) or stretch[position] is not message:
                return None
            position += 1
        units.append(unit)
    return units


def _role_of(item: Any) -> str:
    """Return `assistant` or another role of an item, whatever its wire and its form."""
    role = item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
    return "assistant" if role in {"assistant", "model"} else str(role or "user")
