"""What a bridge says of a framework's items: how one is read, written, compared and copied."""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from agentic.messages import Message
from agentic.providers.kit._messages import Decoded


class ItemForm(Protocol):
    """How a framework keeps its messages."""

    def read(self, item: Any, /) -> Sequence[Message]:
        """Return what an item says, as one message or several.

        Raises:
            ConfigError: it is no item of the framework.
        """
        ...

    def write(self, message: Message, /) -> Sequence[Any]:
        """Return new items that say what a message says."""
        ...


@runtime_checkable
class EditsItems(Protocol):
    """A form whose items have more in them than a Message can say, such as a signature."""

    def edit(
        self, items: Sequence[Any], before: Sequence[Message], after: Sequence[Message | None], /
    ) -> Sequence[Any]:
        """Return what to send in place of items that are read together: changed copies, or nothing.

        `before` is how they are read; `after` has what each of these messages is now, and None for
        one that is left out.
        """
        ...


@runtime_checkable
class ComparesItems(Protocol):
    """A form whose items are not compared by `==`."""

    def facts(self, item: Any, /) -> Any:
        """Return a value that differs if items are to be read anew."""
        ...


@runtime_checkable
class CopiesItems(Protocol):
    """A form that copies its items faster than `copy.deepcopy`."""

    def copy(self, item: Any, /) -> Any:
        """Return a value that equals an item, and that no change of the item reaches."""
        ...


@runtime_checkable
class ReadsGroups(Protocol):
    """A form in which how an item is read depends on its neighbors."""

    def check(self, position: int, item: Any, /) -> None:
        """Raise for an item that cannot be read. Nothing is changed then."""
        ...

    def read_group(self, items: Sequence[Any], start: int, /) -> Iterable[Decoded]:
        """Read the items from a position on; earlier calls have read the ones before it."""
        ...


def copy_json(item: Any) -> Any:
    """Return a copy that shares no container with JSON data or an SDK's object."""
    kind = type(item)
    if kind is str or item is None or kind in {int, float, bool, bytes}:
        return item
    if kind is dict:
        return {key: copy_json(value) for key, value in item.items()}
    if kind is list:
        return [copy_json(value) for value in item]
    # It takes more than twice as long, so JSON data is copied above.
    return copy.deepcopy(item)


def copy_of(item: Any) -> Any:
    """Return a copy that equals an item, and that no change of the item reaches.

    An object in it that does not equal its copy is not copied: it is compared by identity.
    """
    kind = type(item)
    if kind is dict:
        return {key: copy_of(value) for key, value in item.items()}
    if kind in {list, tuple}:
        return kind(map(copy_of, item))
    try:
        copy = copy_json(item)
        is_equal = bool(copy == item)
    except Exception:  # noqa: BLE001  an open file, or a comparison that returns an array
        is_equal = False
    return copy if is_equal else item
