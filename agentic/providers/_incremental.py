"""What the incremental decoders of the adapters share.

A conversation on a wire grows at its end, and may be rewound. An incremental decoder reads what is
new of it, and gives what the adapter's `decode` gives for the whole list.
"""

import attrs

from agentic.messages import Message

__all__ = ["Decoded", "KnownIds"]


@attrs.frozen
class Decoded:
    """Items of a wire that are read together, and the messages that they are read as."""

    items: int
    """How many there are."""
    messages: tuple[Message, ...]
    is_open: bool = False
    """Whether an item that follows may change how they are read."""


@attrs.define
class KnownIds:
    """What ids stand for, as far as a list was read: the tool of a call, the call of an item.

    >>> names = KnownIds()
    >>> names.add(3, "call_1", "read")
    >>> names.rewind(3)
    >>> names.values
    {}
    """

    values: dict[str, str] = attrs.field(factory=dict, init=False)
    _former: list[tuple[int, str, str | None]] = attrs.field(factory=list, init=False)
    """Where an id was given a meaning, the id, and its meaning before."""

    def add(self, position: int, known_id: str, value: str) -> None:
        """Note the meaning of an id in the item at a position."""
        self._former.append((position, known_id, self.values.get(known_id)))
        self.values[known_id] = value

    def rewind(self, position: int) -> None:
        """Forget what stands in the items from a position on."""
        while self._former and self._former[-1][0] >= position:
            _, known_id, before = self._former.pop()
            if before is None:
                del self.values[known_id]
            else:
                self.values[known_id] = before
