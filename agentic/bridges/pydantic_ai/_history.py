"""A growing list of the framework's messages, the messages that they are read as, and back.

Only new messages are read. A message that is sent as it was read is the framework's own object.
"""

import operator
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import attrs
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    UserPromptPart,
)

from agentic.bridges._lists import are_same
from agentic.bridges.pydantic_ai._read import Reading, ours, read
from agentic.bridges.pydantic_ai._write import edit_parts, write
from agentic.messages import Message


def _go_on() -> ModelRequest:
    return ModelRequest([UserPromptPart("Continue.")])


@attrs.frozen(eq=False)
class _KnownMessage:
    """One of the framework's messages as it was read."""

    given: ModelMessage
    parts: tuple[Any, ...]
    """Its parts at that time: the framework adds to the list of its latest request."""
    fields: tuple[dict[str, Any], ...]
    """What was in each part at that time."""
    readings: tuple[Reading, ...]
    place: int
    """Its position in the list."""
    first: int
    """The position of its first message among all messages."""

    @property
    def messages(self) -> list[Message]:
        return [reading.message for reading in self.readings]

    def holds(self, given: ModelMessage, *, deeply: bool) -> bool:
        """Return whether a message is this one, and is unchanged."""
        if given is not self.given:
            return False
        if not are_same(given.parts, self.parts):
            return False
        return not deeply or all(map(operator.eq, map(vars, given.parts), self.fields))


@attrs.define(eq=False)
class History:
    """One conversation's list as it was last read."""

    messages: list[Message] = attrs.field(factory=list, init=False)
    """The messages that it was read as; always the same list."""
    reads: int = attrs.field(default=0, init=False)
    """How many of the framework's messages were converted, ever."""
    new_state: dict[str, Any] | None = attrs.field(default=None, init=False)
    """The state of a View in the metadata of what the latest `read` converted; the last one."""
    _units: list[_KnownMessage] = attrs.field(factory=list, init=False)
    _by_object: dict[int, _KnownMessage] = attrs.field(factory=dict, init=False)
    """The unit of each message, by its object id."""
    _by_id: dict[str, tuple[_KnownMessage, Reading]] = attrs.field(factory=dict, init=False)
    """The unit and the original of each message, by its id, which an edited copy keeps."""
    _summaries: dict[int, tuple[ModelMessage, Message]] = attrs.field(factory=dict, init=False)
    """The latest summary that was written, by the object that was written."""
    _written: dict[tuple[int, ...], tuple[list[Message], ModelMessage]] = attrs.field(
        factory=dict, init=False
    )
    """What was made for the latest request, by the object ids of its messages."""

    _filler: ModelRequest = attrs.field(factory=_go_on, init=False)
    """Comes before a reply that no longer follows what it answers, as providers expect."""

    def read(self, given: Sequence[ModelMessage], covered: int = 0) -> None:
        """Read what is new in a list.

        Parts before the message at position `covered` are compared by identity only, later ones
        also by what is in them.

        Raises:
            ConfigError: a new item is no message of the framework.
        """
        self.new_state = None
        same = self._count_same(given, covered)
        former = self._units[same:]
        self._forget(same)
        # A list that was cut or rewritten holds the same objects at other positions.
        known = {id(unit.given): unit for unit in former}
        for position, each in enumerate(given[same:]):
            before = former[position] if position < len(former) else None
            self._add(each, known.get(id(each)), before)

    def unit_of(self, position: int) -> int:
        """Return the position of the framework's message that holds the message at a position."""
        return bisect_right(self._units, position, key=operator.attrgetter("first")) - 1

    def write(self, sent: list[Message]) -> list[ModelMessage]:
        """Return the framework's messages for a view of the messages."""
        # The View returns the very list if nothing is cut, which is most requests.
        if sent is self.messages:
            return [unit.given for unit in self._units]
        before, self._written = self._written, {}
        written: list[ModelMessage] = []
        last: int | None = -1
        for unit, stretch in self._stretches(sent):
            place = None if unit is None else unit.place
            if unit is not None and are_same(stretch, unit.messages):
                made = unit.given
            else:
                key = tuple(map(id, stretch))
                # The messages are kept as well, so that no other object gets one of these ids.
                self._written[key] = before.get(key) or (stretch, self._make(unit, stretch))
                made = self._written[key][1]
            # The caller's own list may begin with a reply, and hold several in a row; ours may not.
            if isinstance(made, ModelResponse) and not (last is not None and place == last + 1):
                written += [] if _asks(written) else [self._filler]
            written.append(made)
            last = place
        return written

    def _count_same(self, given: Sequence[ModelMessage], covered: int) -> int:
        for at, (each, unit) in enumerate(zip(given, self._units, strict=False)):
            if not unit.holds(each, deeply=unit.first >= covered):
                return at
        return min(len(given), len(self._units))

    def _forget(self, same: int) -> None:
        if same == len(self._units):
            return
        del self.messages[self._units[same].first :]
        for unit in self._units[same:]:
            for message in unit.messages:
                self._by_object.pop(id(message), None)
                self._by_id.pop(message.id or "", None)
        del self._units[same:]

    def _add(
        self, given: ModelMessage, moved: _KnownMessage | None, before: _KnownMessage | None
    ) -> None:
        """Read one message; if it says what it said before, its messages are the same objects."""
        written = self._summaries.get(id(given))
        if written is not None:
            readings = [Reading(written[1], (0,))]
        elif moved is not None and moved.holds(given, deeply=True):
            readings = list(moved.readings)
        else:
            self.reads += 1
            readings = read(given, f"p{self.reads}")
            # A deserialized list has new objects at the same places.
            for old in filter(None, (moved, before)):
                readings = _reuse(readings, old.readings)
        fields = tuple(vars(part).copy() for part in given.parts)
        unit = _KnownMessage(
            given,
            tuple(given.parts),
            fields,
            tuple(readings),
            place=len(self._units),
            first=len(self.messages),
        )
        self._units.append(unit)
        for reading in readings:
            self.messages.append(reading.message)
            self._by_object[id(reading.message)] = unit
            if reading.message.id is not None:
                self._by_id[reading.message.id] = unit, reading
        state = ours(given.metadata)
        if isinstance(state, dict):
            self.new_state = state

    def _stretches(
        self, sent: list[Message]
    ) -> Iterator[tuple[_KnownMessage | None, list[Message]]]:
        """Split a view into stretches that become one of the framework's messages each."""
        unit: _KnownMessage | None = None
        stretch: list[Message] = []
        for message in sent:
            found = self._find(message)
            if stretch and (found is None or found is not unit):
                yield unit, stretch
                stretch = []
            unit = found
            stretch.append(message)
        if stretch:
            yield unit, stretch

    def _find(self, message: Message) -> _KnownMessage | None:
        found = self._by_object.get(id(message))
        if found is None and message.id is not None and message.id in self._by_id:
            found = self._by_id[message.id][0]
        return found

    def _make(self, unit: _KnownMessage | None, stretch: list[Message]) -> ModelMessage:
        """Return a message of ours, or a part of the framework's message."""
        if unit is None:
            made = write(stretch[0])
            if stretch[0].summary is not None:
                # With `rewrite`, this object comes back in the list, and is this very summary.
                self._summaries = {id(made): (made, stretch[0])}
            return made
        known = {id(reading.message): reading for reading in unit.readings}
        parts: list[Any] = []
        for message in stretch:
            reading = known.get(id(message))
            if reading is not None:
                parts += [unit.parts[at] for at in reading.parts]
            else:
                parts += edit_parts(message, self._by_id[message.id or ""][1], unit.parts)
        return replace(unit.given, parts=parts)  # type: ignore[arg-type]  # of the same kind


def _reuse(new: list[Reading], old: Sequence[Reading]) -> list[Reading]:
    """Return the old messages for the new ones that say the same: others know these objects."""
    if len(new) != len(old):
        return new
    return [
        attrs.evolve(one, message=other.message)
        if attrs.evolve(one.message, id=other.message.id) == other.message
        else one
        for one, other in zip(new, old, strict=True)
    ]


def _asks(written: list[ModelMessage]) -> bool:
    """Return whether a reply may follow: after anything that is sent as the user's turn."""
    return bool(written) and any(
        not isinstance(part, SystemPromptPart)
        for part in written[-1].parts
        if isinstance(written[-1], ModelRequest)
    )
