"""The conversations that pass through a proxy: found by a credential and by their beginning.

Conversations are told apart by the hashes of their items. A cache mark, which clients move from
message to message, is no part of an item's hash, nor is the form that a text takes to bear one.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentic._base._waiting import in_thread, off_loop
from agentic.app.proxy._body import ListText
from agentic.app.proxy._folder import StateFolder
from agentic.bridges.dicts import Conversation
from agentic.bridges.kit import ListPool
from agentic.errors import ConfigError
from agentic.providers._bound_requests import BoundRequests
from agentic.providers.kit import Adapter

_log = logging.getLogger(__name__)
_MARK = "cache_control"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@attrs.define(eq=False)
class PooledConversation:
    """A conversation, and its latest request."""

    owner: str
    wire: Adapter
    conversation: Conversation
    keys: list[bytes]
    """The hashes of the items of its latest request."""
    size: int
    """The number of bytes of its latest request, without its compression."""
    items: Sequence[Any] = ()
    """The items of its latest request; none after a restart."""
    session: str | None = None
    """What its client calls it, empty if it has no name for it; None after a restart."""
    text: ListText | None = None
    """The same as they were written."""
    is_changed: bool = False
    """Whether its latest request was sent with other items than the client's."""
    is_busy: bool = True
    """Whether its latest request is still being answered."""
    saved: Path | None = None
    """Its file in the folder, if it has one."""
    covered: int = 0
    """How many items the summary in that file covers."""
    bound: BoundRequests = attrs.field(init=False)
    """What the provider has refused of its reasoning."""

    def is_similar(self, owner: str, wire: Adapter) -> bool:
        """Return whether it has this owner, and is on this wire."""
        return self.owner == owner and self.wire is wire

    @bound.default
    def _make_bound(self) -> BoundRequests:
        api = self.wire.http
        if api is None:
            raise ConfigError("wire", self.wire.name, "an adapter with an `http`")
        return BoundRequests(api.ask_to_drop, api.leave_out_reasoning)


@attrs.define(eq=False)
class ProxyPool:
    """The conversations that were used last, bounded by their number and by their bytes."""

    make: Callable[[Adapter, Mapping[str, Any] | None], Conversation]
    """Returns a new conversation on a wire, which begins with a state."""
    max_conversations: int
    max_bytes: int
    folder: StateFolder | None = None
    """Keeps the summaries for the next process."""
    _pooled: ListPool[PooledConversation] = attrs.field(factory=ListPool, init=False)

    def load(self, wires: Mapping[str, Adapter]) -> None:
        """Take in the conversations of the folder, by the names of their wires."""
        for record in () if self.folder is None else self.folder.load():
            wire = wires.get(str(record.state.get("wire")))
            if wire is None:
                continue
            try:
                conversation = self.make(wire, record.state)
                length = int(record.state.get("covered", 0))
            except (OverflowError, TypeError, ValueError) as error:
                _log.warning("%s is skipped: %s", record.path, error)
                continue
            self._pooled.put(
                PooledConversation(
                    record.owner,
                    wire,
                    conversation,
                    record.hashes,
                    record.size,
                    is_busy=False,
                    saved=record.path,
                    covered=length,
                )
            )
        self._evict()

    def __len__(self) -> int:
        return len(self._pooled.entries)

    def texts(self, owner: str, wire: Adapter) -> list[ListText]:
        """Return the lists that a request may begin with, the latest first."""
        similar = reversed(self._similar(owner, wire))
        return [one.text for one in similar if one.text is not None]

    async def take(
        self, owner: str, wire: Adapter, items: list[Any], size: int, session: str = ""
    ) -> PooledConversation:
        """Return the conversation that a list of items continues, or a new one; `release` it.

        Two clients that name their sessions never continue each other's, however alike they begin.

        Items that equal those of an earlier request are replaced by them in the list, because the
        conversation recognizes objects faster than values. A request that continues a busy
        conversation begins a new one, with its summary.
        """
        # One request at a time, so that neither is measured or cut by what the other sent. A lock
        # would hold up an agent for as long as a reply takes.
        # Copies of the lists, because a thread reads them.
        lists = [(one.items, one.keys) for one in self._similar(owner, wire)]
        hashes = await off_loop(len(items), _hash_items, items, lists)
        # From here on nothing waits until a conversation that is continued is busy.
        entry = self._pooled.find_continued(
            hashes,
            lambda one: (
                one.is_similar(owner, wire) and not one.is_busy and one.session in {session, None}
            ),
        )
        if entry is None:
            # A View uses the summary in a state only if it covers the start of its own list.
            near = self._pooled.find_nearest(hashes, lambda one: one.is_similar(owner, wire))
            state = None
            if near is not None:
                state = await off_loop(len(items), near.conversation.state)
            entry = PooledConversation(
                owner, wire, self.make(wire, state), hashes, size, items, session
            )
        else:
            entry.keys, entry.size, entry.items, entry.is_busy = hashes, size, items, True
            entry.session = session
        self._pooled.put(entry)
        self._evict()
        return entry

    async def release(self, entry: PooledConversation) -> None:
        """Let others continue a conversation. Releasing it twice changes nothing."""
        try:
            # Before others continue it. Also to write a file takes long.
            if self.folder is not None and entry.is_busy:
                await in_thread(self._save, entry)
        finally:
            entry.is_busy = False
            self._evict()

    def _similar(self, owner: str, wire: Adapter) -> list[PooledConversation]:
        return [one for one in self._pooled.entries if one.is_similar(owner, wire)]

    def _save(self, entry: PooledConversation) -> None:
        """Write a conversation that has a new summary."""
        if self.folder is None:
            return
        state = entry.conversation.state()
        if state["covered"] in {0, entry.covered}:
            return
        try:
            entry.saved = self.folder.save(entry.saved, entry.owner, entry.keys, entry.size, state)
            entry.covered = state["covered"]
        except OSError as error:
            # The conversation goes on; after a restart it is summarized again.
            _log.warning("a summary is not stored: %s", error)

    def _evict(self) -> None:
        """Forget what was idle longest until both limits hold; what is busy stays."""
        entries = self._pooled.entries
        count, size = len(entries), sum(one.size for one in entries)
        for one in [each for each in entries if not each.is_busy]:
            if count <= self.max_conversations and size <= self.max_bytes:
                break
            self._pooled.discard(one)
            count, size = count - 1, size - one.size
            if self.folder is not None and one.saved is not None:
                self.folder.forget(one.saved)


def _hash_items(
    items: list[Any], others: Sequence[tuple[Sequence[Any], Sequence[bytes]]]
) -> list[bytes]:
    """Return the hash of each item; take over those that the latest similar request had.

    To compare an item takes a tenth of the time of hashing it, and a request repeats all but the
    newest.
    """
    start = items[:2]
    like = next((one for one in reversed(others) if one[0] and one[0][:2] == start), None)
    if like is None:
        return list(map(_hash_item, items))
    hashes = []
    for at, (item, former, key) in enumerate(zip(items, *like, strict=False)):
        is_same = item is former or item == former
        items[at] = former if is_same else item
        hashes.append(key if is_same else _hash_item(item))
    return [*hashes, *map(_hash_item, items[len(hashes) :])]


def _hash_item(item: Any) -> bytes:
    text = _encode(_flat(item))
    if _MARK in text:  # seldom: to copy every item would take longer than all the rest
        text = _encode(_flat(_unmarked(item)))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _unmarked(value: Any) -> Any:
    """Return JSON data without cache marks."""
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _unmarked(each) for key, each in value.items() if key != _MARK}


def _flat(item: Any) -> Any:
    """Return an item with its text as such, if that is its only block.

    >>> _flat({"content": [{"type": "text", "text": "Go."}]})
    {'content': 'Go.'}
    """
    match item:
        case {"content": [{"type": "text", "text": str(text), **others}]} if not others:
            return {**item, "content": text}
    return item
