"""From the messages that a View sends to the owner's items, and to items of our own between them.

An item none of whose messages was changed is sent as the owner's own object. What was edited,
made up or summarized is encoded by the wire's adapter, with the messages that it belongs to.
"""

import copy
import operator
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import attrs

from agentic.bridges.dicts._items import ItemReader, SystemSummary, Unit, hash_text
from agentic.messages import Message

__all__ = ["ItemWriter", "Written"]

_GO_ON = "Continue."
_UNDERSTOOD = "Understood."
_SUMMARIES = 8
"""As many as a View remembers generations."""
_SAID = 3
"""The summary, and what is said for either side."""

_Placed = tuple[Any, int | None]
"""An item, and where it stands in the owner's list; None for one of ours."""


@attrs.frozen
class Written:
    """What to send."""

    items: list[Any]
    system_summary: str | None
    """The summary, if it goes into the system prompt of the request."""


@attrs.define(eq=False)
class ItemWriter:
    """Writes the requests of one conversation."""

    wire: ModuleType
    has_system_role: bool
    """Whether a system message may stand among the items."""
    parts_users: bool
    """Whether two items of the user's may not follow each other. Two of the model's never may,
    where there is no system role."""
    _before: dict[tuple[int, ...], tuple[list[Message], list[_Placed]]] = attrs.field(
        factory=dict, init=False
    )
    """What was encoded for the latest request, by the ids of its messages."""
    _said: dict[tuple[str, str], Any] = attrs.field(factory=dict, init=False)
    """The latest few texts that were said in an item of ours."""
    _is_request: bool = attrs.field(default=False, init=False)

    def write(self, sent: list[Message], reader: ItemReader, *, is_request: bool) -> Written:
        """Return the items for the messages of a request.

        In a whole request, a summary at the start goes into the system prompt where the wire has no
        system role.
        """
        self._is_request = is_request
        end, start = _untouched_end(sent, reader)
        # The first item that goes on as it is shows how the others have to lead up to it.
        shown = slice(start, start + 1)
        placed = [
            *self._place(sent[:end], reader),
            *zip(reader.items[shown], range(start, start + 1), strict=False),
        ]
        summary = next((item.text for item, _ in placed if type(item) is SystemSummary), None)
        if summary is not None:
            placed = [each for each in placed if type(each[0]) is not SystemSummary]
        if not self.has_system_role:
            placed = list(self._alternating(placed))
        return Written([*(item for item, _ in placed), *reader.items[start + 1 :]], summary)

    def _place(self, sent: list[Message], reader: ItemReader) -> list[_Placed]:
        placed: list[_Placed] = []
        before, self._before = self._before, {}
        is_start = True
        for stretch in _stretches(sent):
            units = _whole_units(stretch, reader)
            if units is not None:
                placed += [(reader.items[at], at) for unit in units for at in unit.positions]
            elif stretch[0].summary is not None:
                placed += self._summary(stretch[0], reader, is_start=is_start)
            else:
                key = tuple(map(id, stretch))
                written = before.get(key) or (stretch, self._encode(stretch, reader))
                self._before[key] = written
                placed += [
                    (copy.deepcopy(item), None) if at is None else (reader.items[at], at)
                    for item, at in written[1]
                ]
            is_start = is_start and stretch[0].role == "system"
        return placed

    def _summary(self, message: Message, reader: ItemReader, *, is_start: bool) -> list[_Placed]:
        """Place a summary: where the owner's list has it, else where the wire expects it."""
        text = message.content
        unit = reader.find_system(text)
        if unit is not None:
            return [(reader.items[unit.start], unit.start)]
        if self.has_system_role:
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
        """Encode messages that belong together, some of them new; find the owner's items again."""
        if stretch[0].role == "system" and not self.has_system_role:
            stretch = [Message("user", message.content) for message in stretch]
        encoded = self.wire.encode(stretch)
        own = list(self._owners(stretch, reader))
        placed: list[_Placed] = []
        for item in encoded:
            match = next((n for n, (alone, _) in enumerate(own) if alone == item), None)
            placed.append((item, None if match is None else own[match][1]))
            if match is not None:
                del own[: match + 1]
        return placed

    def _owners(self, stretch: list[Message], reader: ItemReader) -> Iterator[_Placed]:
        """Yield what the adapter would write for the owner's items alone, and where those stand."""
        for unit in dict.fromkeys(filter(None, map(reader.find, stretch))):
            alone = self.wire.encode(list(unit.messages))
            if len(alone) == unit.items:
                yield from zip(alone, unit.positions, strict=True)

    def _alternating(self, placed: list[_Placed]) -> Iterator[_Placed]:
        """Part what may not follow each other, where something between the two was left out."""
        before: int | None = -1
        last = "assistant"  # a list of the owner's may begin with a reply, one of ours may not
        for item, at in placed:
            role = _role_of(item)
            is_seam = at is None or before is None or at != before + 1
            if is_seam and role == last and (role == "assistant" or self.parts_users):
                yield (
                    (self._say("user", _GO_ON), None)
                    if role == "assistant"
                    else (self._say("assistant", _UNDERSTOOD), None)
                )
            yield item, at
            before, last = at, role


def _untouched_end(sent: list[Message], reader: ItemReader) -> tuple[int, int]:
    """Return where a view goes on with the newest messages as they are, and with which items."""
    messages = reader.messages
    same = [*map(operator.is_, reversed(sent), reversed(messages)), False]
    length = same.index(False)
    offset = len(sent) - len(messages)
    for position in range(len(messages) - length, len(messages)):
        unit = reader.find(messages[position])
        starts_unit = unit is not None and unit.first == position
        if starts_unit and (not position or _begins(messages[position], messages[position - 1])):
            return position + offset, reader.items_before(position)
    return len(sent), len(reader.items)


def _stretches(sent: list[Message]) -> Iterator[list[Message]]:
    """Split a view into what is encoded together: rounds, which stand unbroken in a view."""
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
    joins = message.native is not None and message.native.joins_previous
    return not (joins and before.role == "tool")


def _whole_units(stretch: list[Message], reader: ItemReader) -> list[Unit] | None:
    """Return the units that a stretch consists of; None if anything in it is not the owner's."""
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
