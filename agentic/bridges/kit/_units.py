"""The units of a list, and the messages that those of an earlier reading held.

A *unit* is what is read together: nearly always one item, which may hold several messages. In some
formats several items make up one message.
"""

import json
from collections import deque
from typing import Any

import attrs

from agentic.messages import Message, to_plain
from agentic.messages._timeline import same

_FEW = 4
"""So many messages are compared one by one, which is faster than to index them."""
_Place = tuple[int, int]
"""A position among the messages, and the object id of the item."""


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
    original: tuple[Message, ...]
    """What the items say; other than `messages` if an output in them is truncated."""

    @property
    def positions(self) -> range:
        """The positions of its items in the owner's list."""
        return range(self.start, self.end)

    @property
    def end(self) -> int:
        """The position after the last item."""
        return self.start + self.items


@attrs.define(eq=False)
class _Equals:
    """Former messages of the same role, ids and text, by their places, in order.

    A conversation may hold thousands of them, so that none is looked for one by one.
    """

    pairs: dict[_Place, tuple[Message, Message]] = attrs.field(factory=dict, init=False)
    """What an item says, and what was shown of it."""
    _by_position: dict[int, list[_Place]] = attrs.field(factory=dict, init=False)
    _alike: dict[tuple[str, int | None], deque[_Place]] | None = attrs.field(
        default=None, init=False
    )
    """The places of what says the same in every field, by object and in all; made when needed."""

    def add(self, place: _Place, pair: tuple[Message, Message]) -> None:
        """Add a message and what was shown of it."""
        self.pairs[place] = pair
        self._by_position.setdefault(place[0], []).append(place)

    def at_position(self, position: int, item: int, fresh: frozenset[int]) -> list[_Place]:
        """Return the places at a position, those of this object first, without other new ones."""
        here = [each for each in self._by_position.get(position, ()) if each in self.pairs]
        own = [each for each in here if each[1] == item]
        return [*own, *(each for each in here if each[1] not in fresh)]

    def like(self, message: Message, item: int, fresh: frozenset[int]) -> _Place | None:
        """Return the first place of what says the same: of this object, or of none that is new."""
        if len(self.pairs) <= _FEW:
            own = [place for place in self.pairs if place[1] == item]
            free = [place for place in self.pairs if place[1] not in fresh]
            every = (*own, *free)
            return next((p for p in every if same(self.pairs[p][0], message, "wire")), None)
        if self._alike is None:
            self._alike = {}
            for place, (original, _) in self.pairs.items():
                text = _text_of(original)
                for owner in (place[1], None):
                    if owner is not None or place[1] not in fresh:
                        self._alike.setdefault((text, owner), deque()).append(place)
        text = _text_of(message)
        for owner in (item, None):
            waiting = self._alike.get((text, owner), deque())
            while waiting and waiting[0] not in self.pairs:
                waiting.popleft()
            if waiting and same(self.pairs[waiting[0]][0], message, "wire"):
                return waiting[0]
        return None


@attrs.define(eq=False)
class Former:
    """The messages of a list before it was read anew, to be used again where they say the same."""

    _fresh: frozenset[int]
    """The object ids of the items that are read now. All of them are alive."""
    _by_key: dict[tuple[Any, ...], _Equals] = attrs.field(factory=dict, init=False)
    """By role, ids and text."""

    def add_unit(self, unit: Unit, item: Any) -> None:
        """Add the messages of a unit whose first item is this object."""
        pairs = zip(unit.original, unit.messages, strict=True)
        for position, (original, visible) in enumerate(pairs, unit.first):
            equals = self._by_key.setdefault(_content_key(original), _Equals())
            equals.add((position, id(item)), (original, visible))

    def take(self, position: int, item: int, message: Message) -> tuple[Message, Message] | None:
        """Return the message that says the same, and what was shown of it; None if none does.

        What was read of an object is that object's, wherever it is now. Of the others, one at the
        same position may differ in its payload, for example in a cache mark. One that was moved may
        not: a payload may tell of its neighbors.
        """
        waiting = self._by_key.get(_content_key(message)) if self._by_key else None
        if waiting is None or not waiting.pairs:
            return None
        for place in waiting.at_position(position, item, self._fresh):
            if _differs_in_payload(waiting.pairs[place][0], message):
                return waiting.pairs.pop(place)
        elsewhere = waiting.like(message, item, self._fresh)
        return None if elsewhere is None else waiting.pairs.pop(elsewhere)


def _text_of(message: Message) -> str:
    """Return a text that is the same for messages that are the same in every field."""
    try:
        return json.dumps(
            to_plain(message), sort_keys=True, default=lambda each: type(each).__name__
        )
    except (TypeError, ValueError):
        return ""  # keys of several types; then what says the same is not found elsewhere


def _content_key(message: Message) -> tuple[Any, ...]:
    return *key_of(message), message.content


def _differs_in_payload(one: Message, other: Message) -> bool:
    """Return whether messages differ at most in the payload that both have."""
    has_same = (one.native is None) == (other.native is None)
    return has_same and same(one, attrs.evolve(other, native=one.native), "wire")


def key_of(message: Message) -> tuple[Any, ...]:
    """Return what no edit of a message changes, unless it leaves a call or a result out."""
    calls = tuple([call.id for call in message.tool_calls])
    return message.role, message.id, calls, tuple([each.call_id for each in message.tool_results])
