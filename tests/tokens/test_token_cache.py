import gc
import weakref
from collections import Counter
from functools import partial

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import tokens as counting
from agentic.messages import Message, from_plain, to_plain
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tokens._count import _MEMO_ENTRIES, TokenCache, _memos

count_tokens = partial(counting.count_tokens, tokens_per_media=None)


@attrs.define(eq=False)
class _CountingCounter:
    """Remembers what it was asked to count."""

    asked: Counter[str] = attrs.field(factory=Counter)

    def count(self, text: str, /) -> int:
        self.asked[text] += 1
        return len(text)

    @property
    def most(self) -> int:
        return max(self.asked.values(), default=0)


@given(messages=conversations(), data=st.data())
def test_cache_equals_a_cold_count(messages: list[Message], data: st.DataObject) -> None:
    """However the list grew, shrank or began anew in between."""
    token_cache = TokenCache(CharCounter())
    ends = data.draw(st.lists(st.integers(0, len(messages)), max_size=6))
    starts = data.draw(st.lists(st.integers(0, 1), min_size=len(ends), max_size=len(ends)))

    for start, end in zip(starts, ends, strict=True):
        view = messages[start:end]
        sizes = token_cache.sizes(view)
        assert sizes.messages == view
        assert sizes.sums == [count_tokens(view[:seen]) for seen in range(len(view) + 1)]
        assert [sizes.size(i) for i in range(len(view))] == [count_tokens([one]) for one in view]
        assert sizes.total == count_tokens(view)


@given(messages=conversations())
def test_cache_takes_a_counts_options(messages: list[Message]) -> None:
    """Overhead and media cost what they were said to cost."""
    token_cache = TokenCache(CharCounter(), per_message_overhead=0, tokens_per_media=7)

    assert token_cache.sizes(messages).total == count_tokens(
        messages, CharCounter(), per_message_overhead=0, tokens_per_media=7
    )


@given(messages=conversations())
def test_growing_conversation_counts_each_text_once(messages: list[Message]) -> None:
    """Though it is measured at every turn, and some texts come up again."""
    counter = _CountingCounter()
    token_cache = TokenCache(counter)

    for end in range(len(messages) + 1):
        token_cache.sizes(messages[:end])

    assert counter.most <= 1


@given(messages=conversations())
def test_rebuilt_messages_are_not_counted_again(messages: list[Message]) -> None:
    """Neither copies, nor what a store reads back, nor what was changed beside its texts."""
    counter = _CountingCounter()
    token_cache = TokenCache(counter)

    for end in range(len(messages) + 1):
        token_cache.sizes([attrs.evolve(message) for message in messages[:end]])
        token_cache.sizes([from_plain(to_plain(message)) for message in messages[:end]])
        token_cache.sizes([message.replace(id=f"{end}") for message in messages[:end]])

    assert counter.most <= 1


@given(first=conversations(), second=conversations())
def test_two_conversations_share_one_tallies(first: list[Message], second: list[Message]) -> None:
    """Neither makes the other be counted again."""
    counter = _CountingCounter()
    token_cache = TokenCache(counter)

    for end in range(1 + max(len(first), len(second))):
        for messages in (first, second):
            view = messages[:end]
            assert token_cache.sizes(view).total == count_tokens(view, CharCounter(1))

    assert counter.most <= 1


@given(messages=conversations())
def test_tallies_sharing_counter_count_texts_once(messages: list[Message]) -> None:
    """A Manager and a ContextMeter with one counter share what it said."""
    counter = _CountingCounter()
    manager, meter = TokenCache(counter), TokenCache(counter, per_message_overhead=0)

    manager.sizes(messages)
    meter.sizes(messages)

    assert counter.most <= 1


def test_two_counters_share_no_memo() -> None:
    """Though they are equal: only the object itself is known to count the same."""
    exact, rough = TokenCache(CharCounter(1)), TokenCache(CharCounter(8))

    assert (exact.count_text("12345678"), rough.count_text("12345678")) == (8, 1)


def test_the_memo_is_bounded() -> None:
    """The oldest counts are forgotten first."""
    counter = _CountingCounter()
    token_cache = TokenCache(counter)

    for number in range(_MEMO_ENTRIES + 10):
        token_cache.count_text(f"text {number}")
    token_cache.count_text(f"text {_MEMO_ENTRIES}")
    token_cache.count_text("text 0")

    assert _MEMO_ENTRIES // 2 <= len(token_cache._memo.counts) <= _MEMO_ENTRIES
    assert [text for text, times in counter.asked.items() if times > 1] == ["text 0"]


class _Text(str):
    """A text that tells when it is gone."""

    __slots__ = ("__weakref__",)


def test_the_memo_keeps_no_text() -> None:
    """What was counted can be forgotten."""
    token_cache = TokenCache(CharCounter())
    text = _Text("a long output")
    alive = weakref.ref(text)

    token_cache.count_text(text)
    del text
    gc.collect()

    assert alive() is None
    assert len(token_cache._memo.counts) == 1


def test_memo_goes_with_last_user() -> None:
    """Nothing is kept for a counter that nobody counts with any more."""
    counter = CharCounter()
    token_cache = TokenCache(counter)
    assert id(counter) in _memos

    del token_cache
    gc.collect()

    assert id(counter) not in _memos


def test_raising_counter_leaves_the_cache_alone() -> None:
    """The next count starts where the last good one ended."""

    class Strict:
        def count(self, text: str, /) -> int:
            return {"good": 1}[text]

    token_cache = TokenCache(Strict(), per_message_overhead=0)
    good, bad = Message("user", "good"), Message("user", "bad")
    token_cache.sizes([good])

    with pytest.raises(KeyError):
        token_cache.sizes([good, good, bad])

    assert token_cache.sizes([good, good]).sums == [0, 1, 2]
