"""The conversations that pass through a proxy: found by a credential and by their beginning.

Conversations are told apart by the hashes of their items. A cache mark, which clients move from
message to message, is no part of an item's hash, nor is the form that a text takes to bear one.
"""

import hashlib
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import ModuleType
from typing import Any

import attrs

from agentic.bridges.dicts import Conversation

__all__ = ["ConversationPool", "PooledConversation"]

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
    """The number of bytes of its latest request."""
    is_busy: bool = True
    """Whether its latest request is still being answered."""


@attrs.define(eq=False)
class ConversationPool:
    """The conversations that were used last, bounded by their number and by their bytes."""

    make: Callable[[ModuleType, Mapping[str, Any] | None], Conversation]
    """Returns a new conversation on a wire, which begins with a state."""
    max_conversations: int
    max_bytes: int
    _pooled: list[PooledConversation] = attrs.field(factory=list, init=False)
    """The latest one last."""

    def __len__(self) -> int:
        return len(self._pooled)

    def take(
        self, owner: str, wire: ModuleType, items: Sequence[Any], size: int
    ) -> PooledConversation:
        """Return the conversation that a list of items continues, or a new one; `release` it.

        A conversation serves one request at a time. A request that continues a busy one begins a
        new one, with its summary, so that neither is measured or cut by what the other sent.
        """
        hashes = list(map(_hash_item, items))
        others = [one for one in self._pooled if one.owner == owner and one.wire is wire]
        begun = [
            one for one in others if not one.is_busy and one.hashes == hashes[: len(one.hashes)]
        ]
        found = max(reversed(begun), key=lambda one: len(one.hashes), default=None)
        if found is None:
            conversation = self.make(wire, _nearest_state(others, hashes))
            found = PooledConversation(owner, wire, conversation, hashes, size)
        else:
            self._pooled.remove(found)
            found.hashes, found.size, found.is_busy = hashes, size, True
        self._pooled.append(found)
        self._evict()
        return found

    def release(self, pooled: PooledConversation) -> None:
        """Let others continue a conversation. Releasing it twice changes nothing."""
        pooled.is_busy = False
        self._evict()

    def _evict(self) -> None:
        """Forget what was idle longest until both limits hold; what is busy stays."""
        count, size = len(self._pooled), sum(one.size for one in self._pooled)
        for one in [each for each in self._pooled if not each.is_busy]:
            if count <= self.max_conversations and size <= self.max_bytes:
                break
            self._pooled.remove(one)
            count, size = count - 1, size - one.size


def _nearest_state(
    others: Sequence[PooledConversation], hashes: Sequence[bytes]
) -> Mapping[str, Any] | None:
    """Return the state of the conversation that shares most items with a list.

    A View uses the summary in a state only if it covers the start of its own list.
    """
    shared = [_count_shared(hashes, one.hashes) for one in others]
    most = max(shared, default=0)
    return others[shared.index(most)].conversation.state() if most else None


def _count_shared(hashes: Sequence[bytes], others: Sequence[bytes]) -> int:
    return sum(1 for _ in takewhile(bool, map(operator.eq, hashes, others)))


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
