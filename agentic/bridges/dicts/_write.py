"""From the messages of a View to the items of a request: the owner's, and new ones between them.

If none of an item's messages was changed, it is sent as the owner's own object. What was edited,
made up or summarized is encoded by the wire's adapter, together with the messages that it belongs
to.
"""

import copy
import operator
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import attrs

from agentic.bridges.dicts._items import ItemReader, SystemSummary, Unit, hash_text
from agentic.bridges.dicts._requests import RequestForm
from agentic.messages import Message

_GO_ON = "Continue."
_UNDERSTOOD = "Understood."
_SUMMARIES = 8
"""The same as the number of generations that a View remembers."""
_SAID = 3
"""The texts of a summary message and of a filler for either role."""

_Placed = tuple[Any, int | None]
"""An item, and its position in the owner's list; None for an item of ours."""


@attrs.frozen
class WrittenItems:
    """The items to send."""

    items: list[Any]
    system_summary: str | None
    """The summary, if it is put into the system prompt of the request."""


@attrs.define(eq=False)
class RequestWriter:
    """Writes the requests of one conversation."""

    wire: ModuleType
    form: RequestForm
    _before: dict[tuple[int, ...], tuple[list[Message], list[_Placed]]] = attrs.field(
        factory=dict, init=False
    )
    """What was encoded for the latest request, by the object ids of its messages."""
    _said: dict[tuple[str, str], Any] = attrs.field(factory=dict, init=False)
    """The latest few texts that were sent in an item of ours."""
    _is_request: bool = attrs.field(default=False, init=False)

    def write(self, sent: list[Message], reader: ItemReader, *, is_request: bool) -> WrittenItems:
        """Return the items for the messages of a request.

        In a complete request, a summary at the start goes into the system prompt if the wire has no
        system role.
        """
        self._is_request = is_request
        end, start = _untouched_end(sent, reader)
        # The first unchanged item determines how the items before it must lead up to it.
        shown = slice(start, start + 1)
        placed = [
            *self._place(sent[:end], reader),
            *((reader.sent_item(at), at) for at in range(len(reader.items))[shown]),
        ]
        summary = next((item.text for item, _ in placed if type(item) is SystemSummary), None)
        if summary is not None:
            placed = [each for each in placed if type(each[0]) is not SystemSummary]
        if not self.form.has_system_role:
            placed = list(self._alternating(placed))
        rest = reader.sent_items(start + 1)
        return WrittenItems([*(item for item, _ in placed), *rest], summary)

    def _place(self, sent: list[Message], reader: ItemReader) -> list[_Placed]:
        placed: list[_Placed] = []
        before, self._before = self._before, {}
        is_start = True
        for stretch in _stretches(sent):
            units = _whole_units(stretch, reader)
            if units is not None:
                placed += [(reader.sent_item(at), at) for unit in units for at in unit.positions]
            elif stretch[0].summary is not None:
                placed += self._summary(stretch[0], reader, is_start=is_start)
            else:
                key = tuple(map(id, stretch))
                # The messages are kept as well, so that no other object gets one of these ids.
                written = before.get(key) or (stretch, self._encode(stretch, reader))
                self._before[key] = written
                placed += [
                    # The caller may change what it sends, and the same encoded item is sent again.
                    (copy.deepcopy(item), None) if at is None else (reader.sent_item(at), at)
                    for item, at in written[1]
                ]
            is_start = is_start and stretch[0].role == "system"
        return placed

    def _summary(self, message: Message, reader: ItemReader, *, is_start: bool) -> list[_Placed]:
        """Place a summary: where the owner's list has it, otherwise where the wire expects it."""
        text = message.content
        unit = reader.find_system(text)
        if unit is not None:
            return [(reader.items[unit.start], unit.start)]
        if self.form.has_system_role:
            return [(self._say("system", text), None)]
        if self._is_request and is_start:
            return [(SystemSummary(text), None)]
        if message.summary is not None:
            reader.summaries[hash_text(text)] = message.summary
            for old in list(reader.summaries)[:-_SUMMARIES]:
                del reader.summaries[old]
        return [(self._say("user", text), None)]

    def _say(self, role: Any, text: str) -> Any:
        """Return a new item with this text."""
        if (role, text) not in self._said:
            for old in list(self._said)[:-_SAID]:
                del self._said[old]
            self._said[role, text] = self.wire.encode([Message(role, text)])[0]
        return copy.deepcopy(self._said[role, text])

    def _encode(self, stretch: list[Message], reader: ItemReader) -> list[_Placed]:
        """Encode messages that belong together, some of them new; reuse the owner's items."""
        if stretch[0].role == "system" and not self.form.has_system_role:
            stretch = [Message("user", message.content) for message in stretch]
        encoded = self.wire.encode(stretch)
        own = list(self._owners(stretch, reader))
        placed: list[_Placed] = []
        for item in encoded:
            match = next((n for n, (alone, _) in enumerate(own) if alone == item), None)
            placed.append((item, None if match is None else own[match][1]))
            if match is not None:
                # Both are in the same order, so whatever was passed over has no match any more.
                del own[: match + 1]
        return placed

    def _owners(self, stretch: list[Message], reader: ItemReader) -> Iterator[_Placed]:
        """Yield what the adapter would write for the owner's items alone, with their positions."""
        for unit in dict.fromkeys(filter(None, map(reader.find, stretch))):
            alone = self.wire.encode(list(unit.messages))
            # Otherwise nothing tells which item is which of the owner's.
            if len(alone) == unit.items:
                yield from zip(alone, unit.positions, strict=True)

    def _alternating(self, placed: list[_Placed]) -> Iterator[_Placed]:
        """Separate items that may not follow each other, if something between them was left out."""
        before: int | None = -1
        last = "assistant"  # the owner's list may begin with a reply, but ours may not
        for item, at in placed:
            role = _role_of(item)
            # Neighbors in the owner's list may follow each other: they have been sent so before.
            is_seam = at is None or before is None or at != before + 1
            if is_seam and role == last and (role == "assistant" or self.form.parts_users):
                yield (
                    (self._say("user", _GO_ON), None)
                    if role == "assistant"
                    else (self._say("assistant", _UNDERSTOOD), None)
                )
            yield item, at
            before, last = at, role


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
