"""Whether two messages are the same, and whether one list continues another: decided here alone.

What "the same" means depends on who asks, so each caller names a level. A cache asks for the same
object, or for equal fields. A provider reads the same request if all that a model can tell apart is
the same. Lists are compared by identity first, which takes some nanoseconds a message: `==` of two
lists tries it before it looks at any field.

A `Timeline` is a conversation as it was last seen. It says how much of a list is still the same, so
that whoever keeps something by position has to do only what is new.
"""

import operator
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import attrs

from agentic.messages._message import Message
from agentic.messages._parts import ToolResult

Level: TypeAlias = Literal["object", "request", "meaning", "wire"]
"""How much two messages have to share.

- `object`: they are the very same object.
- `request`: role, text, calls, results with their notices, media. This is what reasoning is bound
  to; reasoning itself may be left out of earlier replies.
- `meaning`: all that a model can tell apart: the same, and the reasoning.
- `wire`: all typed fields, and the provider's payload.
"""
_CONVERSATIONS = 4


def same(one: Message, other: Message, level: Level) -> bool:
    """Return whether two messages are the same at a level.

    >>> same(Message("user", "Why?"), Message("user", "Why?", id="m1"), "meaning")
    True
    >>> same(Message("user", "Why?"), Message("user", "Why?", id="m1"), "wire")
    False
    """
    if one is other or level == "object":
        return one is other
    key = _KEYS[level]
    return bool(key(one) == key(other))


def common_length(some: Sequence[Message], others: Sequence[Message], level: Level) -> int:
    """Return how many messages at the start of two lists are the same.

    >>> why, how = Message("user", "Why?"), Message("user", "How?")
    >>> common_length([why, why], [why, how], "meaning")
    1
    """
    length = min(len(some), len(others))
    # Nearly all are the same objects, which are passed over without a step in Python.
    others_than = compress(range(length), map(operator.is_not, some, others))
    return next((at for at in others_than if not same(some[at], others[at], level)), length)


def continues(
    messages: Sequence[Message], earlier: Sequence[Message], level: Level = "wire"
) -> bool:
    """Return whether a conversation begins with all messages of an earlier one.

    >>> question, reply = Message("user", "Why?"), Message("assistant", "So.")
    >>> continues([question, reply], [question])
    True
    """
    length = len(earlier)
    if len(messages) < length:
        return False
    if not length:
        return True
    if level != "wire":
        return common_length(messages, earlier, level) == length
    # The last one first: it differs if the conversation was compacted or restarted.
    return bool(messages[length - 1] == earlier[-1] and messages[:length] == earlier)


def keep_known(loaded: list[Message], known: list[Message]) -> list[Message]:
    """Return loaded messages, with the objects of `known` in place of those at its start.

    A store on disk creates new objects at each load. Counters and strategies recognize a
    conversation by its objects; with new ones they would compare all fields and count again.

    >>> asked, again = Message("user", "Why?"), Message("user", "Why?")
    >>> keep_known([again, Message("assistant", "So.")], [asked])[0] is asked
    True
    """
    length = common_length(known, loaded, "wire")
    return [*known[:length], *loaded[length:]]


def renew(view: list[Message], former: list[Message], source: list[Message]) -> list[Message]:
    """Return a view with the objects of its source: a list may have been loaded anew.

    `former` has the messages that the view was made from, which begin `source` and are equal to
    its own. A message of the view that is none of them stays as it is. Owners recognize their
    messages by identity, so a view that is kept must not go on with those of an earlier load.

    >>> asked, again, note = Message("user", "Why?"), Message("user", "Why?"), Message("user", "So")
    >>> renewed = renew([note, asked], [asked], [again])
    >>> renewed[0] is note, renewed[1] is again
    (True, True)
    """
    if all(map(operator.is_, former, source)):
        return view
    fresh = {id(old): new for old, new in zip(former, source, strict=False)}
    return [fresh.get(id(message), message) for message in view]


def meaning_of(message: Message) -> tuple[Any, ...]:
    """Return all that a model can tell of a message, as a value that can be compared and hashed."""
    origin = message.origin
    left_out = origin is not None and origin.without_reasoning
    return (*request_meaning_of(message), message.reasoning, left_out)


def request_meaning_of(message: Message) -> tuple[Any, ...]:
    """Return what a message contributes to the beginning that reasoning is bound to.

    Reasoning itself is not part of it: that of earlier replies may be left out
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks,
    2026-11-27).

    >>> reply = Message("assistant", "So.", reasoning="Let me see.")
    >>> request_meaning_of(reply) == request_meaning_of(Message("assistant", "So."))
    True
    """
    # Most messages have only one of the three; a view asks this of every message once.
    calls, results, media = message.tool_calls, message.tool_results, message.media
    return (
        message.role,
        message.content,
        tuple([(call.id, call.name, call.arguments) for call in calls]) if calls else (),
        tuple([_result(result) for result in results]) if results else (),
        _media(media) if media else (),
    )


def _result(result: ToolResult) -> tuple[Any, ...]:
    media = _media(result.media) if result.media else ()
    return result.call_id, result.text, result.error is None, media


def _media(media: Any) -> tuple[Any, ...]:
    return tuple([(part.media_type, part.url, part.data) for part in media])


def _itself(message: Message) -> Message:
    return message


_KEYS: dict[str, Callable[[Message], Any]] = {
    "request": request_meaning_of,
    "meaning": meaning_of,
    "wire": _itself,
}


class Fold(Protocol):
    """What is kept of a timeline by position."""

    def rewind(self, length: int, /) -> None:
        """Forget all but the first `length` messages."""
        ...

    def extend(self, messages: list[Message], /) -> None:
        """Take in the messages that follow."""
        ...


@attrs.define(eq=False)
class Timeline:
    """The messages of one conversation as they were last seen.

    >>> timeline, why = Timeline(), Message("user", "Why?")
    >>> timeline.follow([why]), timeline.follow([why, Message("assistant", "So.")])
    (0, 1)
    >>> timeline.follow([why, Message("assistant", "No.")])
    1
    """

    messages: list[Message] = attrs.field(factory=list, init=False)
    """A copy of the list, whose objects are those of its owner."""
    _folds: list[Fold] = attrs.field(factory=list, init=False)

    def add_fold(self, fold: Fold) -> None:
        """Keep a fold up to date from now on."""
        fold.extend(self.messages)
        self._folds.append(fold)

    def follow(self, messages: list[Message], unchanged: int | None = None) -> int:
        """Take over a list; return how many messages at its start are unchanged.

        A list that differs before its end rewinds the timeline to the first difference. If
        `count_unchanged` was asked before, its answer is passed.
        """
        if unchanged is None:
            unchanged = self.count_unchanged(messages)
        if unchanged < len(self.messages):
            self.rewind(unchanged)
        # Also those that are equal, but other objects: identity is what the next look compares.
        self.messages[:] = messages
        fresh = messages[unchanged:]
        for fold in self._folds:
            fold.extend(fresh)
        return unchanged

    def count_unchanged(self, messages: list[Message]) -> int:
        """Return how many messages at the start of a list are as they were last seen."""
        length = len(self.messages)
        if messages[:length] == self.messages:
            return length
        return common_length(messages, self.messages, "wire")

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` messages."""
        del self.messages[length:]
        for fold in self._folds:
            fold.rewind(length)


class _Seen(Protocol):
    @property
    def messages(self) -> list[Message]:
        """The conversation as it was last seen."""
        ...


_S = TypeVar("_S", bound=_Seen)


@attrs.define(eq=False)
class RecentConversations(Generic[_S]):
    """Results about the latest few conversations, so that one object can serve them in turn.

    `renew` is called with an entry that holds messages besides `messages`, and with the messages of
    a list that are equal to those but are other objects.
    """

    _renew: Callable[[_S, list[Message]], None] | None = None
    _known: list[_S] = attrs.field(factory=list, init=False)

    def find(self, messages: list[Message]) -> _S | None:
        """Return the entry of the conversation that `messages` continues."""
        for entry in self._known:
            # Every conversation continues an empty one, which is therefore the start of none.
            if entry.messages and continues(messages, entry.messages):
                self._take_objects(entry, messages)
                self._known.remove(entry)
                self._known.insert(0, entry)
                return entry
        return None

    def _take_objects(self, entry: _S, messages: list[Message]) -> None:
        """Look for the objects of this list from now on: it may have been loaded anew."""
        length = len(entry.messages)
        if self._renew is not None:
            # All of them: an owner who inserts one message gets some new objects, and some old.
            if not all(map(operator.is_, entry.messages, messages)):
                self._renew(entry, messages[:length])
                entry.messages[:] = messages[:length]
        elif entry.messages[-1] is not messages[length - 1]:
            entry.messages[:] = messages[:length]

    def add(self, known: _S) -> None:
        """Add a conversation, and forget the one that was used least recently."""
        self._known.insert(0, known)
        del self._known[_CONVERSATIONS:]
