"""Counting the tokens of a text, a message and a conversation that grows.

The size of a message is the size of its texts (content, reasoning, names and arguments of calls,
outputs, errors and notices of results), that of each media part, including those of results, and an
overhead for the role and the delimiters that a provider adds. Media count what they cost with the
counter's model; the entry points of other systems count the same number for each of them.

A `TokenCache` counts each text only once: of a conversation that has grown, only the new messages.
The list is compared with the one seen last (by identity, a few nanoseconds per message), and only
the rest is counted. Other lists use a memo of counts, which is bounded and does not keep the texts
themselves.
"""

import base64
import collections
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable
from weakref import WeakValueDictionary, ref

import attrs

from agentic._base._lazy import LazyModule
from agentic._base._validate import is_number, is_whole, must_count
from agentic.errors import ConfigError
from agentic.messages import Media, Message, Round, leading_system_count, split_rounds
from agentic.messages._landmarks import find_task
from agentic.messages._message import check_messages
from agentic.messages._timeline import RecentConversations
from agentic.protocols import Counter

if TYPE_CHECKING:
    from agentic.limits import _media_costs
    from agentic.tokens import _media
else:  # few conversations have media
    _media_costs = LazyModule("agentic.limits._media_costs")
    _media = LazyModule("agentic.tokens._media")

_FEWEST_CHARS = 0.01
"""The least characters per token that is accepted. No tokenizer has less than 0.25: at most one
token for each of a character's four bytes."""
# With its comma, which tells a URL from an event of a stream (`data: {...}`).
_DATA_URL = re.compile(r"data:[^\s,]*,")
_WORDLESS = {"type", "id", "tool_call_id"}
_MEMO_ENTRIES = 1 << 16
"""At most so many texts, and so many messages, are remembered with their sizes."""
AnyMessage: TypeAlias = Message | Mapping[str, Any]
"""A message, or a dict in the form used by chat completions."""


@attrs.frozen
class CharCounter:
    """Estimates by length: characters, not bytes, divided and rounded up.

    Free, and good for English prose and code (within about 20 %). Chinese, Japanese, Korean, base64
    and emoji are two to six times more than it says: leave a margin, or use an exact counter.

    >>> CharCounter().count("12345")
    2
    """

    chars_per_token: float = attrs.field(default=4.0)

    @chars_per_token.validator
    def _check(self, _: object, value: object) -> None:
        if not (is_number(value) and _FEWEST_CHARS <= value < float("inf")):
            rule = f"a number >= {_FEWEST_CHARS}"
            raise ConfigError("chars_per_token", value, rule, "leave it at 4.0")

    def count(self, text: str, /) -> int:
        """Return the estimate for one text."""
        return math.ceil(len(text) / self.chars_per_token)

    # agentix calls its counters: `approx_token_counter(text)`.
    __call__ = count


@runtime_checkable
class MediaCounter(Counter, Protocol):
    """A counter that also knows what media cost with its model."""

    def count_media(self, media: Media, /) -> int:
        """Return the number of tokens of an image, a document or a recording."""
        ...


@attrs.frozen
class FlatMediaCounter:
    """Counts texts as another counter does, and the same number for each media part."""

    counter: Counter
    tokens_per_media: int

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return self.counter.count(text)

    def count_media(self, media: Media, /) -> int:
        """Return the number for each."""
        return self.tokens_per_media


HeuristicTokenCounter = CharCounter
"""The name that this counter has in agentix."""

approx_token_counter = CharCounter()
"""The default where a counter is optional: four characters a token."""


def count_message_tokens(
    message: AnyMessage,
    counter: Counter = approx_token_counter,
    *,
    per_message_overhead: int = 4,
    tokens_per_media: int | None = 600,
) -> int:
    """Count one message, which may be a dict in the form used by chat completions.

    >>> count_message_tokens(Message("user", "12345678"))
    6

    With `tokens_per_media=None`, each image, document and recording counts what it costs with the
    counter's model (`for_model`), or with a usual one.

    Raises:
        ConfigError: the message or the counter is of the wrong type, or a number is negative.
    """
    _check(counter, per_message_overhead, tokens_per_media)
    return count_checked(message, counter, per_message_overhead, tokens_per_media)


def count_tokens(
    messages: Iterable[AnyMessage],
    counter: Counter = approx_token_counter,
    *,
    per_message_overhead: int = 4,
    tokens_per_media: int | None = 600,
) -> int:
    """Count a conversation: the sum over its messages.

    >>> count_tokens([Message("user", "12345678"), Message("assistant", "1234")])
    11
    >>> count_tokens([])
    0

    Raises:
        ConfigError: as for `count_message_tokens`.
    """
    _check(counter, per_message_overhead, tokens_per_media)
    return sum(
        count_checked(message, counter, per_message_overhead, tokens_per_media)
        for message in messages
    )


def count_checked(
    message: AnyMessage, counter: Counter, per_message_overhead: int, tokens_per_media: int | None
) -> int:
    """Count one message, with a counter and numbers that are already validated."""
    if isinstance(message, Message):
        # Most messages have no results, and are spared the call of a property.
        media: Sequence[Media] = message.all_media if message.tool_results else message.media
        texts: Iterable[str] = message_texts(message)
    elif isinstance(message, Mapping):
        leaves = list(_leaves({key: value for key, value in message.items() if key != "role"}))
        # A provider counts inline data as an image, not by its characters in base64.
        texts = [text for text in leaves if text and not _DATA_URL.match(text)]
        media = [_inline(text) for text in leaves if _DATA_URL.match(text)]
    else:
        raise ConfigError(
            "message",
            message,
            "a messages.Message, or a dict with a role",
            "make one by Message(role, content)",
        )
    total = sum(map(counter.count, texts)) + per_message_overhead
    if not media:
        return total
    if tokens_per_media is not None:
        return total + tokens_per_media * len(media)
    return total + sum(media_tokens(each, counter) for each in media)


def media_tokens(media: Media, counter: Counter) -> int:
    """Return what media cost with the model of a counter, or with a usual one."""
    if isinstance(counter, MediaCounter):
        return counter.count_media(media)
    return _media.count_media(media, _media_costs.OTHER, counter.count)


def _inline(url: str) -> Media:
    """Return the media in a data URL."""
    from urllib.parse import unquote_to_bytes  # noqa: PLC0415  it loads ipaddress

    head, _, data = url.partition(",")
    media_type, _, encoding = head.removeprefix("data:").partition(";")
    try:
        return Media(media_type, base64.b64decode(data) if encoding else unquote_to_bytes(data))
    except ValueError:  # damaged base64
        return Media(media_type)


def message_texts(message: Message) -> Iterator[str]:
    """Yield every text of a message that a provider counts, except empty ones."""
    if message.content:
        yield message.content
    if message.reasoning:
        yield message.reasoning
    for call in message.tool_calls:
        yield call.name
        yield call.arguments
    for result in message.tool_results:
        if result.output:
            yield result.output
        if result.error:
            yield result.error.message
        if result.notice:
            yield result.notice


def _check(counter: object, per_message_overhead: int, tokens_per_media: int | None) -> None:
    must_count("counter", counter)
    is_whole(0, per_message_overhead, "per_message_overhead", "leave it at 4")
    if tokens_per_media is not None:
        is_whole(0, tokens_per_media, "tokens_per_media", "leave it at 600")


def _leaves(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a dict, without ids and the words that only name a part's type."""
    # Not recursive: JSON may nest deeper than Python can call itself.
    rest: list[Any] = [message]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            rest += [item for key, item in value.items() if key not in _WORDLESS]
        elif isinstance(value, list | tuple):
            rest += value


_K = TypeVar("_K")
_V = TypeVar("_V")


@attrs.define(eq=False)
class _Recent(Generic[_K, _V]):
    """Remembers the last entries: at most `_MEMO_ENTRIES`, and at least half as many.

    >>> sizes = _Recent()
    >>> sizes.put("a", 1), sizes.get("a"), sizes.get("b")
    (1, 1, None)
    """

    # Two dicts take half of the memory of one that keeps an order, in which the oldest can go.
    newer: dict[_K, _V] = attrs.field(factory=dict)
    older: dict[_K, _V] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self.newer) + len(self.older)

    def get(self, key: _K) -> _V | None:
        """Return what was put last, or None."""
        value = self.newer.get(key)
        if value is None and self.older:
            value = self.older.pop(key, None)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: _K, value: _V) -> _V:
        """Remember a value, and return it."""
        if len(self.newer) >= _MEMO_ENTRIES // 2:
            self.newer, self.older = {}, self.newer
        self.newer[key] = value
        return value


@attrs.define(eq=False)
class _Memo:
    """A counter that remembers its results, at about 100 bytes for a text.

    A text is identified by its hash. Two texts collide with a probability of 2**-64; the
    interpreter salts the hashes.
    """

    counter: Counter
    counts: _Recent[int, int] = attrs.field(factory=_Recent, repr=False)
    messages: _Recent[int, tuple[ref[Message], tuple[int, int | None], int]] = attrs.field(
        factory=_Recent, repr=False
    )
    """By the id of a message: the message, what else its size depends on, and its size. Views that
    are edited again and again have most of their messages in common."""

    def count_messages(
        self, messages: Iterable[Message], beside: tuple[int, int | None]
    ) -> Iterator[int]:
        """Yield the size of each message; `beside` has the overhead, and the tokens of media."""
        for message in messages:
            known = self.messages.get(id(message))
            # An id may be that of an object that is gone.
            if known is not None and known[0]() is message and known[1] == beside:
                yield known[2]
                continue
            size = count_checked(message, self, *beside)
            self.messages.put(id(message), (ref(message), beside, size))
            yield size

    def count_media(self, media: Media, /) -> int:
        # Of an image or a recording only the first bytes are read, which is cheaper than its hash.
        if media.media_type.startswith(("image/", "audio/", "video/")):
            return media_tokens(media, self.counter)
        key = hash((media.media_type, media.data))
        number = self.counts.get(key)
        return self.counts.put(key, media_tokens(media, self.counter)) if number is None else number

    def count(self, text: str, /) -> int:
        # Not the text itself: a memo of texts would hold every conversation that was ever counted.
        key = hash(text)
        number = self.counts.get(key)
        return self.counts.put(key, self.counter.count(text)) if number is None else number


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
    tokens_per_media: int | None = None
    """The tokens of each media part; None for what it costs with the counter's model."""
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
        entry = self._recent.find(messages)
        sizes = entry or MessageSizes()
        fresh = messages[len(sizes.messages) :]
        check_messages(fresh)
        sizes.sums[-1:] = accumulate(self._count_each(fresh), initial=sizes.sums[-1])
        sizes.messages += fresh
        if entry is None and messages:
            self._recent.add(sizes)
        return sizes

    def count_fresh(self, messages: list[Message]) -> int:
        """Return how many messages of a conversation were not counted before."""
        entry = self._recent.find(messages)
        return len(messages) if entry is None else len(messages) - len(entry.messages)

    def count_message(self, message: Message) -> int:
        """Count one message."""
        return next(self._count_each([message]))

    def _count_each(self, messages: Iterable[Message]) -> Iterator[int]:
        beside = self.per_message_overhead, self.tokens_per_media
        return self._memo.count_messages(messages, beside)

    def size_of(self, found: Round, sizes: MessageSizes) -> int:
        """Return the size of what may be sent of a round."""
        if found.orphaned:
            return sum(map(self.count_message, found.sound_messages))
        return sum(map(sizes.size, found.positions))

    def count_text(self, text: str) -> int:
        """Count one text, such as a system prompt."""
        return self._memo.count(text)

    def count_media(self, media: Media) -> int:
        """Count one image, document or recording."""
        if self.tokens_per_media is not None:
            return self.tokens_per_media
        return self._memo.count_media(media)


def describe_largest(messages: Sequence[Message], *, overhead_tokens: int = 0) -> str:
    """Name the largest part of a request.

    Sizes are estimated at four characters per token; `overhead_tokens` is the size of what is sent
    besides the messages.

    >>> describe_largest([Message("system", "Be brief. " * 100), Message("user", "Why?")])
    'the system prompt'
    >>> describe_largest([Message("user", "Why? " * 100), Message("assistant", "Because.")])
    'the latest request'
    """
    sizes = collections.Counter({"what is sent besides the messages": overhead_tokens})
    rounds, leading = split_rounds(messages), leading_system_count(messages)
    task = find_task(messages)
    for group in rounds:
        name = _named(group, leading, task)
        if name == "older messages" and group is rounds[-1]:
            name = "the newest round"
        sizes[name] += count_tokens(group.messages, tokens_per_media=None)
    return max(sizes, key=sizes.__getitem__)


def _named(group: Round, leading: int, task: tuple[int, ...]) -> str:
    at = group.positions[0]
    if group.messages[0].summary is not None:
        return "the summary"
    if at < leading:
        return "the system prompt"
    if group.pinned:
        return "pinned messages"
    if request := set(task).intersection(group.positions):
        return "the latest request" if task[-1] in request else "the opening request"
    return "older messages"
