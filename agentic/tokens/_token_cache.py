"""The sizes of growing conversations, with each text counted only once.

Counting a conversation that has grown costs only its new messages. The list is compared with the
one seen last (by identity, a few nanoseconds per message), and only the rest is counted. Other
lists use a memo of counts, which is bounded and does not keep the texts themselves.
"""

from collections import OrderedDict
from itertools import accumulate
from weakref import WeakValueDictionary

import attrs

from agentic._validate import must_count
from agentic.messages import Message, RecentConversations, Round, check_messages
from agentic.tokens._count import Counter, count_checked

__all__ = ["MessageSizes", "TokenCache"]

_MEMO_ENTRIES = 1 << 16


@attrs.define(eq=False)
class _Memo:
    """A counter that remembers its results, at about 100 bytes each.

    A text is identified by its hash and length. Two texts of equal length collide with a
    probability of 2**-64; the interpreter salts the hashes.
    """

    counter: Counter
    counts: OrderedDict[tuple[int, int], int] = attrs.field(factory=OrderedDict, repr=False)

    def count(self, text: str, /) -> int:
        # Not the text itself: a memo of texts would hold every conversation that was ever counted.
        key = (hash(text), len(text))
        known = self.counts.get(key)
        if known is None:
            known = self.counts[key] = self.counter.count(text)
            if len(self.counts) > _MEMO_ENTRIES:
                # The oldest goes, in whatever order they are asked for: to track that would cost
                # each hit.
                self.counts.popitem(last=False)
        return known


# A memo keeps its counter alive, so an id in here never belongs to another object.
_memos: WeakValueDictionary[int, _Memo] = WeakValueDictionary()


def _memo_of(counter: Counter) -> _Memo:
    """Return the only memo of a counter, so that its users together count each text once."""
    # By identity, because counters that are equal may still count differently.
    memo = _memos.get(id(counter))
    if memo is None:
        memo = _memos[id(counter)] = _Memo(counter)
    return memo


@attrs.define(eq=False)
class MessageSizes:
    """A conversation as it was last seen, and the running sum of its sizes."""

    messages: list[Message] = attrs.field(factory=list)
    sums: list[int] = attrs.field(factory=lambda: [0])
    """`sums[n]` is the size of the first n messages, in tokens."""

    @property
    def total(self) -> int:
        """The size of the conversation, in tokens."""
        return self.sums[-1]

    def size(self, position: int) -> int:
        """Return the size of one message, in tokens."""
        return self.sums[position + 1] - self.sums[position]


@attrs.define(eq=False)
class TokenCache:
    """The sizes of one object's conversations, measured with one counter."""

    counter: Counter
    per_message_overhead: int = 4
    tokens_per_media: int = 600
    _memo: _Memo = attrs.field(init=False)
    _recent: RecentConversations[MessageSizes] = attrs.field(
        factory=RecentConversations, init=False
    )

    def __attrs_post_init__(self) -> None:
        must_count("counter", self.counter)
        self._memo = _memo_of(self.counter)

    def sizes(self, messages: list[Message]) -> MessageSizes:
        """Return the sizes of a conversation, counting only what was not counted before.

        Raises:
            ConfigError: an item is not a Message.
        """
        known = self._recent.find(messages)
        sizes = known or MessageSizes()
        fresh = messages[len(sizes.messages) :]
        check_messages(fresh)
        sizes.sums[-1:] = accumulate(map(self.count_message, fresh), initial=sizes.sums[-1])
        sizes.messages += fresh
        if known is None and messages:
            self._recent.add(sizes)
        return sizes

    def count_message(self, message: Message) -> int:
        """Count one message."""
        return count_checked(message, self._memo, self.per_message_overhead, self.tokens_per_media)

    def size_of(self, found: Round, sizes: MessageSizes) -> int:
        """Return the size of what may be sent of a round."""
        if found.orphaned:
            return sum(map(self.count_message, found.sound_messages))
        return sum(map(sizes.size, found.positions))

    def count_text(self, text: str) -> int:
        """Count one text, such as a system prompt."""
        return self._memo.count(text)
