"""Recognizing a conversation that has grown since it was last seen.

This allows results about a conversation to be kept from turn to turn. Two lists are compared by
identity first, which takes a few nanoseconds per message. Messages that are equal but different
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
        """The conversation as it was last seen."""
        ...


_S = TypeVar("_S", bound=_Seen)


def continues(messages: list[Message], earlier: list[Message]) -> bool:
    """Return whether a conversation begins with all messages of an earlier one.

    >>> question, reply = Message("user", "Why?"), Message("assistant", "So.")
    >>> continues([question, reply], [question])
    True
    """
    seen = len(earlier)
    if len(messages) < seen:
        return False
    # Compare the last message first: it differs if the conversation was compacted or restarted.
    return not seen or (messages[seen - 1] == earlier[-1] and messages[:seen] == earlier)


@attrs.define(eq=False)
class RecentConversations(Generic[_S]):
    """Results about the latest few conversations, so that one object can serve them in turn."""

    _known: list[_S] = attrs.field(factory=list, init=False)

    def find(self, messages: list[Message]) -> _S | None:
        """Return the entry of the conversation that `messages` continues."""
        for known in self._known:
            # Every conversation continues an empty one, which is therefore the start of none.
            if known.messages and continues(messages, known.messages):
                seen = len(known.messages)
                if known.messages[-1] is not messages[seen - 1]:
                    # Equal but different objects, as after a load. From now on, look for these by
                    # identity.
                    known.messages[:] = messages[:seen]
                self._known.remove(known)
                self._known.insert(0, known)
                return known
        return None

    def add(self, known: _S) -> None:
        """Add a conversation, and forget the one that was used least recently."""
        self._known.insert(0, known)
        del self._known[_CONVERSATIONS:]
