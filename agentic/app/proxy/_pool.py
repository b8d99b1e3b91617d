"""The conversations that pass through a proxy: found by a credential and by their beginning.

Conversations are told apart by the hashes of their items. A cache mark, which clients move from
message to message, is no part of an item's hash, nor is the form that a text takes to bear one.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from agentic._waiting import in_thread, off_loop
from agentic.bridges._lists import find_continued, find_nearest
from agentic.bridges.dicts import Conversation
from agentic.bridges.proxy._body import ListText
from agentic.bridges.proxy._bound import bound_requests
from agentic.bridges.proxy._folder import StateFolder
from agentic.providers._bound_requests import BoundRequests

_log = logging.getLogger(__name__)
_MARK = "cache_control"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@attrs.define(eq=False)
class PooledConversation:
    """A conversation, and the hashes of the items of its latest request."""

    owner: str
    wire: ModuleType
    conversation: Conversation
    hashes: list[bytes]
    size: int
    """The number of bytes of its latest request, without its compression."""
    items: Sequence[Any] = ()
    """The items of its latest request; none after a restart."""
    text: ListText | None = None
    """The same as they were written."""
    is_busy: bool = True
    """Whether its latest request is still being answered."""
    saved: Path | None = None
    """Its file in the folder, if it has one."""
    covered: int = 0
    """How many items the summary in that file covers."""
    bound: BoundRequests = attrs.field(init=False)
    """What the provider has refused of its reasoning."""

    @bound.default
    def _make_bound(self) -> BoundRequests:
        return bound_requests(self.wire)


@attrs.define(eq=False)
class ProxyPool:
    """The conversations that were used last, bounded by their number and by their bytes."""

    make: Callable[[ModuleType, Mapping[str, Any] | None], Conversation]
    """Returns a new conversation on a wire, which begins with a state."""
    max_conversations: int
    max_bytes: int
    folder: StateFolder | None = None
    """Keeps the summaries for the next process."""
    _pooled: list[PooledConversation] = attrs.field(factory=list, init=False)
    """The latest one last."""

    def load(self, wires: Mapping[str, ModuleType]) -> None:
        """Take in the conversations of the folder, by the names of their wires."""
        for saved in () if self.folder is None else self.folder.load():
            wire = wires.get(str(saved.state.get("wire")))
            if wire is None:
                continue
            try:
                conversation = self.make(wire, saved.state)
                covered = int(saved.state.get("covered", 0))
            except (OverflowError, TypeError, ValueError) as error:
                _log.warning("%s is passed over: %s", saved.path, error)
                continue
            self._pooled.append(
                PooledConversation(
                    saved.owner,
                    wire,
                    conversation,
                    saved.hashes,
                    saved.size,
                    is_busy=False,
                    saved=saved.path,
                    covered=covered,
                )
            )
        self._evict()

    def __len__(self) -> int:
        return len(self._pooled)

    def texts(self, owner: str, wire: ModuleType) -> list[ListText]:
        """Return the lists that a request may begin with, the latest first."""
        pooled = (one for one in reversed(self._pooled) if one.owner == owner and one.wire is wire)
        return [one.text for one in pooled if one.text is not None]

    async def take(
        self, owner: str, wire: ModuleType, items: list[Any], size: int
    ) -> PooledConversation:
        """Return the conversation that a list of items continues, or a new one; `release` it.

        Items that equal those of an earlier request are replaced by them in the list, because the
        conversation recognizes objects faster than values. A request that continues a busy
        conversation begins a new one, with its summary.
        """
        # One request at a time, so that neither is measured or cut by what the other sent. A lock
        # would hold up an agent for as long as a reply takes.
        # Copies of the lists, because a thread reads them.
        seen = [(one.items, one.hashes) for one in self._similar(owner, wire)]
        hashes = await off_loop(len(items), _hash_items, items, seen)
        # From here on nothing waits until a conversation that is continued is busy.
        others = self._similar(owner, wire)
        idle = [one for one in others if not one.is_busy]
        at = find_continued(hashes, [one.hashes for one in idle])
        if at is None:
            # A View uses the summary in a state only if it covers the start of its own list.
            near = find_nearest(hashes, [one.hashes for one in others])
            state = None
            if near is not None:
                state = await off_loop(len(items), others[near].conversation.state)
            pooled = PooledConversation(owner, wire, self.make(wire, state), hashes, size, items)
        else:
            pooled = idle[at]
            self._pooled.remove(pooled)
            pooled.hashes, pooled.size, pooled.items, pooled.is_busy = hashes, size, items, True
        self._pooled.append(pooled)
        self._evict()
        return pooled

    async def release(self, pooled: PooledConversation) -> None:
        """Let others continue a conversation. Releasing it twice changes nothing."""
        try:
            # Before others continue it. Also to write a file takes long.
            if self.folder is not None and pooled.is_busy:
                await in_thread(self._save, pooled)
        finally:
            pooled.is_busy = False
            self._evict()

    def _similar(self, owner: str, wire: ModuleType) -> list[PooledConversation]:
        return [one for one in self._pooled if one.owner == owner and one.wire is wire]

    def _save(self, pooled: PooledConversation) -> None:
        """Write a conversation that has a new summary."""
        if self.folder is None:
            return
        state = pooled.conversation.state()
        if state["covered"] in {0, pooled.covered}:
            return
        try:
            pooled.saved = self.folder.save(
                pooled.saved, pooled.owner, pooled.hashes, pooled.size, state
            )
            pooled.covered = state["covered"]
        except OSError as error:
            # The conversation goes on; after a restart it is summarized again.
            _log.warning("a summary is not stored: %s", error)

    def _evict(self) -> None:
        """Forget what was idle longest until both limits hold; what is busy stays."""
        count, size = len(self._pooled), sum(one.size for one in self._pooled)
        for one in [each for each in self._pooled if not each.is_busy]:
            if count <= self.max_conversations and size <= self.max_bytes:
                break
            self._pooled.remove(one)
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
    for at, (item, known, found) in enumerate(zip(items, *like, strict=False)):
        is_same = item is known or item == known
        items[at] = known if is_same else item
        hashes.append(found if is_same else _hash_item(item))
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
