"""A session of the OpenAI Agents SDK in any store.

Items are stored as messages of the Responses API: consecutive items of the model are one message,
which keeps them in its payload. So another part of an agent that uses the store (a Runner, a
`session.Session`, a search) reads a conversation, and the framework gets its own items back. What
others wrote is returned as items that are encoded from it.
"""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import attrs

from agentic._base._validate import is_whole
from agentic._base._versions import require
from agentic._base._waiting import LoopLock, finish, off_loop
from agentic.errors import ConfigError
from agentic.history import Rewriter, replace_known
from agentic.history._abilities import Revisioned
from agentic.messages import Message, ProviderPayload, close_open_rounds, split_rounds
from agentic.messages._rounds import reopen_rounds
from agentic.providers import openai_responses
from agentic.providers.kit import native_payload, plain, text_at
from agentic.providers.openai_responses._decoding import (
    ANSWERS,
    OUTPUTS,
    kept_items,
    message_of,
    type_of,
)

_NAME = "openai_agents"
"""The provider of a payload with outputs that answer no call; no request contains them."""
_NO_IDS = {"", "__fake_id__"}
"""What the framework sets as the id of an item whose provider has none: `FAKE_RESPONSES_ID` in
agents/models/fake_id.py of openai-agents 0.24 (2026-11)."""


@attrs.frozen
class _StoredItems:
    """Messages that are read and popped together, and their items."""

    messages: list[Message]
    items: list[Any]


@attrs.define(eq=False)
class StoreSession:
    """A session whose items are in a store. Pass it to `Runner.run(..., session=...)`.

    >>> import asyncio
    >>> from agentic.history import MemoryStore
    >>> async def talk() -> list[dict[str, str]]:
    ...     session = StoreSession(MemoryStore())
    ...     await session.add_items([{"role": "user", "content": "Is the build green?"}])
    ...     return await session.get_items()
    >>> asyncio.run(talk())
    [{'role': 'user', 'content': 'Is the build green?'}]

    Raises:
        ConfigError: the store cannot replace its history, which `pop_item` and `clear_session` do.
        ImportError: the framework is not installed, or is too old.
    """

    store: Rewriter = attrs.field()
    """The store of one conversation. Close it after use; the session does not."""
    session_id: str = attrs.field(default="default")
    """A name for the framework's traces; it selects nothing."""
    session_settings: Any = attrs.field(default=None, kw_only=True)
    """The framework's `SessionSettings`, with a `limit` for `get_items`."""
    _turns: LoopLock = attrs.field(factory=LoopLock, init=False, repr=False)
    _read: tuple[int, list[Message], list[_StoredItems]] | None = attrs.field(
        default=None, init=False, repr=False
    )
    """What was read last: the revision of the store, its unrepaired history, and the units."""
    _unfinished: tuple[int, list[Any]] | None = attrs.field(default=None, init=False, repr=False)
    """An `add_items` that raised: how many items were there before it, and its items."""

    @store.validator
    def _check_store(self, _: object, store: object) -> None:
        if not isinstance(store, Rewriter):
            remedy = "use a store of agentic.history"
            raise ConfigError("store", store, "a store with append, load and replace", remedy)

    def __attrs_post_init__(self) -> None:
        require("bridges.openai_agents", "openai-agents", "openai-agents", "0.2.8")

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items in order, exactly as they were added; with a limit, the latest ones.

        Raises:
            ConfigError: the limit is negative.
            HistoryError: the store cannot be read.
        """
        limit = getattr(self.session_settings, "limit", None) if limit is None else limit
        if limit is not None:
            is_whole(0, limit, "limit", "pass None for all items")
        async with self._turns:
            items = [item for unit in await self._units() for item in unit.items]
        # Copies: the owner may change what it gets.
        newest = items if limit is None else items[max(0, len(items) - limit) :]
        latest: list[Any] = await off_loop(len(newest), _copy, newest)
        return latest

    async def add_items(self, items: Sequence[Any]) -> None:
        """Store items after all others.

        A second call with the same items, after one that raised or was cancelled, stores only what
        is missing. What the session already ends with is not stored again either, if an id says
        that it is the same: a call of the model, its output, or a reply with an id of its own. An
        item without an id, such as a user's message, may be said twice.

        Raises:
            ConfigError: an item is not JSON data.
            HistoryError: the store cannot be read or written.
        """
        copies = _checked(items)
        async with self._turns:
            # Once begun, a batch is stored to its end, also if the run is cancelled: half of it
            # would be a call without its output, which the next request could not send.
            await finish(asyncio.ensure_future(self._add(copies)))

    async def pop_item(self) -> Any | None:
        """Remove the latest item and return it; None if there is none.

        All other messages stay as they are, including those that others stored, with their ids,
        times and summaries. The archive of the store keeps the item.

        Raises:
            HistoryChanged, HistoryConflict: the history was compacted meanwhile.
            HistoryError: the store cannot be read or written.
        """
        async with self._turns:
            history = await self.store.load()
            units = _units(reopen_rounds(history))
            while units and not units[-1].items:
                units.pop()  # a message that says nothing has no item
            if not units:
                return None
            *rest, last = units
            messages = [message for unit in rest for message in unit.messages]
            await replace_known(self.store, history, [*messages, *_without_last_item(last)])
            self._read = None
            return _copy(last.items[-1])

    async def clear_session(self) -> None:
        """Remove all items. The archive of the store keeps them.

        Raises:
            HistoryChanged, HistoryConflict: the history was compacted meanwhile.
            HistoryError: the store cannot be read or written.
        """
        async with self._turns:
            history = await self.store.load()
            if history:
                await replace_known(self.store, history, [])
            self._read = None

    async def _units(self) -> list[_StoredItems]:
        """Return what the store holds; read it again only if it was written to."""
        store: Any = self.store
        revision = await store.revision() if isinstance(store, Revisioned) else None
        if self._read is None or revision is None or self._read[0] != revision:
            # Without the answers that a store made up for open calls: they are not items.
            messages = await store.load()
            history, units = await off_loop(len(messages), _reopened, messages)
            self._read = (-1 if revision is None else revision, history, units)
        return self._read[2]

    async def _add(self, items: list[Any]) -> None:
        units = await self._units()
        before = [item for unit in units for item in unit.items]
        start, open_items = len(before), self._unfinished
        missing = items[_count_repeated(before, items) :]
        # By the number of items and not by ids: a user's message has none, and may be said twice.
        if open_items is not None and open_items[1] == items:
            # Items may have been popped since then.
            start = min(start, open_items[0])
            rest = before[start:]
            missing = items[len(rest) :] if rest == items[: len(rest)] else items
        self._unfinished = (start, items)
        now = datetime.now(UTC)
        history = [message for unit in units for message in unit.messages]
        for message in _fitting(history, openai_responses.decode(missing)):
            await self.store.append(attrs.evolve(message, timestamp=now))
        self._unfinished = None


def _reopened(messages: list[Message]) -> tuple[list[Message], list[_StoredItems]]:
    history = reopen_rounds(messages)
    return history, _units(history)


def _checked(items: Sequence[Any]) -> list[Any]:
    """Return copies of the items as JSON data.

    Raises:
        ConfigError: the argument is not a list, or an item is not JSON data.
    """
    value: object = items
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise ConfigError("items", items, "a list of input items")
    plain_items = [plain(item) for item in items]
    for position, item in enumerate(plain_items):
        try:
            same = isinstance(item, dict) and _copy(item) == item
        except (TypeError, ValueError, RecursionError):
            same = False
        if not same:
            raise ConfigError(f"items[{position}]", items[position], "a dict of plain JSON data")
    copies: list[Any] = _copy(plain_items)
    return copies


def _copy(items: Any) -> Any:
    """Return JSON data as separate objects, equal in every byte of its JSON text."""
    # Not ASCII-escaped: two adjacent lone surrogates would be read as one character.
    return json.loads(json.dumps(items, ensure_ascii=False))


def _count_repeated(before: list[Any], items: list[Any]) -> int:
    """Return how many of the first items the session already ends with, according to their ids."""
    for count in range(min(len(items), len(before)), 0, -1):
        if before[-count:] == items[:count] and _is_identified(items[:count]):
            return count
    return 0


def _is_identified(items: list[Any]) -> bool:
    """Return whether equal items are the same ones: by an id, or as outputs of one call.

    Some providers give every call of a conversation the same `call_id`, and items no id.
    """
    if any(text_at(item, "id") not in _NO_IDS for item in items):
        return True
    kinds = {type_of(item) for item in items}
    return not kinds.isdisjoint(OUTPUTS) and kinds.isdisjoint(ANSWERS)


def _units(history: list[Message]) -> list[_StoredItems]:
    """Return the items of a history: their own, or those that its rounds are encoded as."""
    units: list[_StoredItems] = []
    for group in split_rounds(history):
        own = [_own_items(message) for message in group.messages]
        # Others are encoded together: the adapter sees to it that the ids of a round differ.
        if all(own):
            units += [
                _StoredItems([m], items) for m, items in zip(group.messages, own, strict=True)
            ]
            continue
        for is_text, messages in groupby(group.messages, _is_text_of_output):
            if is_text:
                units += [_StoredItems([message], _own_items(message)) for message in messages]
            else:
                together = list(messages)
                units.append(_StoredItems(together, openai_responses.encode(together)))
    return units


def _own_items(message: Message) -> list[Any]:
    """Return the items that a message was made of; none if it was edited or comes from others."""
    if message.native is not None and _is_text_of_output(message):
        return kept_items(message.native.payload)
    return kept_items(native_payload(message, openai_responses.ADAPTER.name, message_of))


def _is_text_of_output(message: Message) -> bool:
    return message.native is not None and message.native.provider == _NAME


def _without_last_item(unit: _StoredItems) -> list[Message]:
    """Return the messages of a unit without its last item; what remains keeps its id and time."""
    *earlier, last = unit.messages
    if earlier or not _own_items(last):
        shorter = [*earlier, *_shorter(last)]
        # Only if exactly the last item is gone. Otherwise, the items that are left are decoded.
        if openai_responses.encode(shorter) == unit.items[:-1]:
            return shorter
    remaining = openai_responses.decode(unit.items[:-1])
    return [
        attrs.evolve(old, **{**_said(new), "native": new.native})
        for old, new in zip(unit.messages, remaining, strict=False)
    ]


def _shorter(message: Message) -> list[Message]:
    """Return a message without the last of its parts that is an item, or nothing."""
    if message.tool_results[1:]:
        return [message.replace(tool_results=message.tool_results[:-1])]
    if message.tool_calls[1:] or (message.tool_calls and message.content):
        return [message.replace(tool_calls=message.tool_calls[:-1])]
    return []


def _said(message: Message) -> dict[str, Any]:
    names = ("role", "content", "reasoning", "tool_calls", "tool_results", "media")
    return {name: getattr(message, name) for name in names}


def _fitting(history: list[Message], messages: list[Message]) -> list[Message]:
    """Return messages such that the store returns them, and all before them, in this order.

    A store repairs what it returns: it moves a late output to its call, and leaves out one that
    answers no call. Such an output is stored as a text instead, with its item.
    """
    tail = history[_start_of_last_run(history) :]
    if _is_sound([*tail, *messages]):
        return messages
    fitting: list[Message] = []
    for message in messages:
        if message.role != "tool":
            fitting.append(message)
            continue
        for item in kept_items(message.native and message.native.payload):
            (alone,) = openai_responses.decode([item])
            is_answer = _is_sound([*tail, *fitting, alone])
            fitting.append(alone if is_answer else _as_text(alone, item))
    return fitting


def _as_text(output: Message, item: Any) -> Message:
    text = "\n".join(f"[Output of {r.call_id or 'a call'}]\n{r.text}" for r in output.tool_results)
    return Message("assistant", text, media=output.media, native=ProviderPayload(_NAME, [item]))


def _start_of_last_run(history: list[Message]) -> int:
    """Return where the last run of assistant messages begins: only its calls can be answered."""
    position = len(history)
    while position and history[position - 1].role != "assistant":
        position -= 1
    while position and history[position - 1].role == "assistant":
        position -= 1
    return position


def _is_sound(messages: list[Message]) -> bool:
    """Return whether repairing changes nothing but what `reopen_rounds` takes back."""
    again = reopen_rounds(close_open_rounds(messages))
    return len(again) == len(messages) and all(a is b for a, b in zip(again, messages, strict=True))
