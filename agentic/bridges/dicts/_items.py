"""A wire's items in a mirror: how they are read, copied and checked, and what is sent for them."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import attrs

from agentic.bridges.kit._forms import copy_json
from agentic.bridges.kit._mirror import Mirror, hash_text
from agentic.bridges.kit._units import Unit
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.providers._registry import BUILT_IN, WITHOUT_ROLE, wires_of
from agentic.providers.kit import Adapter, RequestForm, items_at, plain, text_at
from agentic.providers.kit._adapter import ListDecoder
from agentic.providers.kit._messages import Decoded

_NO_ITEMS = (str, bytes, int, float, list, tuple, NoneType)
"""An object of any other class may belong to an SDK."""


def check_wire(position: int, item: Any, wire: str) -> None:
    """Raise unless an item has the form of a wire.

    Raises:
        ConfigError: it has the form of another one, or of none.
    """
    # Not every item: a whole copy of a dict costs more than the look at it.
    data = item if isinstance(item, dict) else plain(item)
    # What tells the wire of another adapter from these is not known.
    if wire not in BUILT_IN or not isinstance(data, dict | Mapping):
        return
    wires = wires_of(data)
    if wire in wires:
        return
    name = f"messages[{position}]"
    if wires:
        adapters = " or ".join(f"providers.{each}" for each in sorted(wires))
        remedy = f"it has the form of another wire: pass {adapters} to Conversation"
        raise ConfigError(name, item, f"an item of {wire}", remedy)
    need = "a role" if wire not in WITHOUT_ROLE else "a form of its own"
    remedy = f"pass the items as the provider documents them, each with {need}"
    raise ConfigError(name, item, f"an item of {wire}, with {need}", remedy)


@attrs.define(eq=False)
class WireForm:
    """How one wire's items are read: in groups, because several may make up one message."""

    wire: Adapter
    takes_texts: bool = False
    """Whether an item may be a plain str."""
    _decoder: ListDecoder = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._decoder = self.wire.list_decoder()

    def check(self, position: int, item: Any, /) -> None:
        """Raise for an item that the decoder would read as something else, or as nothing."""
        if isinstance(item, _NO_ITEMS) and not (self.takes_texts and isinstance(item, str)):
            raise ConfigError(
                f"messages[{position}]",
                item,
                "a dict, or an object of the provider's SDK",
                'pass {"role": "user", ...} as the provider documents it',
            )
        check_wire(position, item, self.wire.name)

    def copy(self, item: Any, /) -> Any:
        """Return a copy that shares no container with the item."""
        return copy_json(item)

    def read_group(self, items: Sequence[Any], start: int, /) -> Iterable[Decoded]:
        """Read the items from a position on."""
        results: Iterable[Decoded] = self._decoder.decode(items, start)
        return results


@attrs.define(eq=False)
class ItemMirror(Mirror):
    """One owner's list of a wire's items."""

    _filled: dict[int, Any] = attrs.field(factory=dict, init=False)
    """What is sent in the place of the owner's items that hold a call without arguments."""
    _runs: list[int] = attrs.field(factory=list, init=False)
    """The position of each message that continues a run of replies with calls, or of results."""

    def sent_item(self, position: int) -> Any:
        """Return what is sent for the owner's item at a position: nearly always the item itself."""
        filler = self._filled.get(position)
        # A copy: the caller may change what it sends, and the same item is sent again.
        return self.items[position] if filler is None else copy.deepcopy(filler)

    def sent_items(self, start: int) -> list[Any]:
        """Return what is sent for the owner's items from a position on."""
        items = self.items[start:]
        for position in self._filled:
            if position >= start:
                items[position - start] = self.sent_item(position)
        return items

    @property
    def runs_end(self) -> int:
        """The position before which all messages are that a wire may not read as they came."""
        return self._runs[-1] + 1 if self._runs else 0

    def find_system(self, text: str) -> Unit | None:
        """Return the system message with this text among those at the start of the list."""
        for unit in self.units:
            if not unit.messages or unit.messages[0].role != "system":
                break
            if len(unit.messages) == 1 and unit.messages[0].content == text:
                return unit
        return None

    def _on_forget(self, units: Sequence[Unit]) -> None:
        for unit in units:
            for position in unit.positions:
                self._filled.pop(position, None)
            while self._runs and self._runs[-1] >= unit.first:
                del self._runs[-1]

    def _on_add(self, unit: Unit) -> None:
        """Note what is not sent as it came: a run of replies, and calls without arguments."""
        if self.form.wire.form.replies != "as_they_came":
            self._note_run(unit, self.form.wire.form)
        if not any(map(_may_lack_arguments, unit.messages)):
            return
        parts = self.form.wire.encode(list(unit.messages))
        if len(parts) != unit.items:
            return
        for position, item in zip(unit.positions, parts, strict=True):
            if item != plain(self.copies[position]):
                self._filled[position] = item

    def _note_run(self, unit: Unit, form: RequestForm) -> None:
        if not (unit.first and unit.messages):
            return
        before, message = self.messages[unit.first - 1], unit.messages[0]
        if before.role != message.role:
            return
        is_merged = form.replies == "merged"
        if message.role == "assistant":
            continues = self.runs_end == unit.first
            calls = before.tool_calls or (is_merged and message.tool_calls)
            if continues or calls:
                self._runs.append(unit.first)
        elif message.role == "tool" and is_merged and form.parts_users:
            self._runs.append(unit.first)

    def _parted(self, start: int) -> tuple[Message, ...]:
        item = plain(self.copies[start])
        key = next((key for key in ("content", "parts") if items_at(item, key)), "")
        first, *rest = items_at(item, key) or [None]
        text = text_at(first, "text")
        summary = self.summaries.get(hash_text(text)) if text and rest else None
        if summary is None:
            return ()
        record = Message("system", text, summary=summary)
        return (record, *self.form.wire.decode([{**item, key: rest}]))


def _may_lack_arguments(message: Message) -> bool:
    # Wires with an object have none where it is missing, and it is read as an empty one.
    # A loop: this is asked of every message, and a generator takes twice as long.
    for call in message.tool_calls:  # noqa: SIM110
        if call.arguments.strip() in {"", "{}"}:
            return True
    return False
