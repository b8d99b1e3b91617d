"""Recognizing a conversation that has grown since it was last seen.

Two lists are compared by identity first, a few nanoseconds a message, so that what is worked out
about a conversation need not be worked out again at every turn. Messages that are equal but other
objects, as after a resume, are compared by their fields once.
"""

from typing import Generic, Protocol, TypeVar

import attrs

from agentic.messages._message import Message

__all__ = ["RecentConversations", "continues"]

_CONVERSATIONS = 4


class _Seen(Protocol):
    @property
    def messages(self) -> list[Message]:
        """The conversation as far as it was seen."""
        ...


_S = TypeVar("_S", bound=_Seen)


def continues(messages: list[Message], earlier: list[Message]) -> bool:
    """Whether a conversation begins with every message of an earlier one.

    >>> question, reply = Message("user", "Why?"), Message("assistant", "So.")
    >>> continues([question, reply], [question])
    True
    """
    seen = len(earlier)
    if len(messages) < seen:
        return False
    # The last message differs first where a conversation was compacted or started anew.
    return not seen or (messages[seen - 1] == earlier[-1] and messages[:seen] == earlier)


@attrs.define(eq=False)
class RecentConversations(Generic[_S]):
    """What one object knows of the latest few conversations, so that they can take turns on it."""

    _known: list[_S] = attrs.field(factory=list, init=False)

    def find(self, messages: list[Message]) -> _S | None:
        """Return what is known of the conversation that `messages` continues."""
        for known in self._known:
            if known.messages and continues(messages, known.messages):
                seen = len(known.messages)
                if known.messages[-1] is not messages[seen - 1]:
                    # Equal, but loaded or built anew: from now on these are the ones to look for.
                    known.messages[:] = messages[:seen]
                self._known.remove(known)
                self._known.insert(0, known)
                return known
        return None

    def add(self, known: _S) -> None:
        """Remember one more conversation, and forget the one not seen for longest."""
        self._known.insert(0, known)
        del self._known[_CONVERSATIONS:]
