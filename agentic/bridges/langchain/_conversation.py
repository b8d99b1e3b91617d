"""Conversations as a middleware last saw them: their messages as they were read, and their View.

A middleware serves many conversations, and a request does not name its own reliably: without a
checkpointer there is no thread, and a thread may be forked, or continued by another process. So the
state that is stored with a conversation has a mark, new each time. A conversation whose state was
not stored is found by its messages. Whoever takes one out of the pool is its only user until it is
put back.
"""

import copy
import logging
import operator
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agentic.bridges.langchain._messages import edit, from_message, is_empty_reply, read_message
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.messages import Message, from_plain
from agentic.providers.kit import move_record

_log = logging.getLogger(__name__)

_GO_ON = "Continue."
_Facts: TypeAlias = tuple[Any, ...]


@attrs.define(eq=False)
class LangchainConversation:
    """One conversation: its messages in both forms, and the View that decides what is sent."""

    view: View
    mark: str = attrs.field(default="", init=False)
    """The mark of the state that was stored last."""
    items: list[BaseMessage] = attrs.field(factory=list, init=False)
    """The framework's own objects."""
    messages: list[Message] = attrs.field(factory=list, init=False)
    """What they were read as, one for one; always the same list."""
    beside: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The system prompt and the tools of the latest request: `before_model` is not told."""
    record: Message | None = attrs.field(default=None, kw_only=True)
    """The summary that was stored last, as one of the framework's messages."""
    _facts: list[_Facts] = attrs.field(factory=list, init=False)
    """Copies of what tells the items from others, so that an edit in place is noticed."""
    _places: dict[int, int] = attrs.field(factory=dict, init=False)
    """The position of each message, by its object id."""
    _by_key: dict[_Facts, list[int]] = attrs.field(factory=dict, init=False)
    """The same by what an edited copy of a message has in common with it."""
    _edited: dict[int, tuple[Message, int | None, list[BaseMessage]]] = attrs.field(
        factory=dict, init=False
    )
    """What was written last time for messages that are not in the list, by their object id."""

    def starts(self, given: Sequence[BaseMessage], length: int | None = None) -> bool:
        """Return whether a list begins with all of these messages, or with the first `length`."""
        known = self._facts if length is None else self._facts[:length]
        # The last one first: it differs in nearly every other conversation.
        if not known or len(given) < len(known) or _facts_of(given[len(known) - 1]) != known[-1]:
            return False
        return all(map(operator.eq, map(_facts_of, given), known))

    def read(self, given: Sequence[BaseMessage]) -> None:
        """Read a list; its messages that are known already are not read again."""
        # By value, and all of them, since a message may be edited in place: about 1 us each.
        facts = list(map(_facts_of, given[: len(self._facts)]))
        same = len(facts)
        if facts != self._facts[:same]:
            pairs = zip(facts, self._facts, strict=False)
            same = next(at for at, (new, old) in enumerate(pairs) if new != old)
        if same < len(self.messages):
            self._keep(same)
        self.items = list(given)  # after a reload, all objects are new
        fresh = self.items[same:]
        self._facts += copy.deepcopy(list(map(_facts_of, fresh)))
        for item in fresh:
            self._add([self._read_one(item)])

    def write(self, sent: Sequence[Message]) -> list[BaseMessage]:
        """Return what to send for a view. An unchanged message is the framework's own object.

        The summary is a message of its own: a middleware that is listed later may set the system
        prompt. A reply that now comes first is preceded by a word of the user's.
        """
        former, self._edited = self._edited, {}
        written: list[BaseMessage] = []
        before, after_reply = -1, True
        for message in move_record(sent):
            place, items = self._write_one(message, before, former)
            is_reply = message.role == "assistant"
            if is_reply and after_reply and place != before + 1:
                written.append(HumanMessage(_GO_ON))
            written += items
            before = before if place is None else place
            is_system = message.role == "system" and message.summary is None
            after_reply = after_reply if is_system else is_reply
        return written

    def rewrite(self, history: Sequence[Message]) -> list[BaseMessage]:
        """Replace the list by a compacted history, and return it as the framework's messages."""
        items: list[BaseMessage] = []
        for message in history:
            place = self._places.get(id(message))
            items.append(_as_record(message) if place is None else self.items[place])
            self.record = message if message.summary is not None else self.record
        self._keep(0)
        self.items = items
        self._facts += copy.deepcopy(list(map(_facts_of, items)))
        self._add(history)
        return items

    def state(self) -> dict[str, Any]:
        """Return what must be stored with the conversation, as plain JSON with a new mark."""
        self.mark = uuid.uuid4().hex
        return {"mark": self.mark, "view": self.view.state()}

    def _read_one(self, item: BaseMessage) -> Message:
        """Read a message; the summary that was stored is known by its text, where it was put."""
        message, record = read_message(item), self.record
        is_start = all(each.role == "system" for each in self.messages)
        if record is None or not is_start or message.role != "user":
            return message
        return attrs.evolve(record, id=message.id) if message.content == record.content else message

    def _keep(self, length: int) -> None:
        """Forget all messages but the first `length`."""
        kept = self.messages[:length]
        del self.messages[:], self._facts[length:]
        self._places.clear()
        self._by_key.clear()
        self._edited.clear()
        self._add(kept)

    def _add(self, fresh: Any) -> None:
        for message in fresh:
            self._places[id(message)] = len(self.messages)
            self._by_key.setdefault(_key_of(message), []).append(len(self.messages))
            self.messages.append(message)

    def _write_one(
        self,
        message: Message,
        before: int,
        former: Mapping[int, tuple[Message, int | None, list[BaseMessage]]],
    ) -> tuple[int | None, list[BaseMessage]]:
        """Return a message's position, or None for one made up by the View, and what to send."""
        place = self._places.get(id(message))
        # An earlier version stored a summary as a system message.
        if place is not None and not (message.summary and _is_system(self.items[place])):
            return place, [self.items[place]]
        known = former.get(id(message))
        if known is None:
            place, items = self._make(message, before)
            # The message is kept as well, so that no other object gets its id.
            known = (message, place, items)
        self._edited[id(message)] = known
        return known[1], known[2]

    def _make(self, message: Message, before: int) -> tuple[int | None, list[BaseMessage]]:
        if message.summary is not None:
            return None, [_as_record(message)]
        places = self._by_key.get(_key_of(message), ())
        # A view keeps the order of the list, where an id may occur twice.
        place = next((at for at in places if at > before), None)
        if place is None:
            return None, from_message(message)
        edited = edit(self.items[place], self.messages[place], message)
        # Providers refuse a reply of which nothing is left but its reasoning.
        is_empty = is_empty_reply(edited) and not is_empty_reply(self.items[place])
        return place, [] if is_empty else [edited]


@attrs.define(eq=False)
class ConversationPool:
    """The conversations that were used last. Others are restored from their stored state."""

    _make_view: Callable[[Mapping[str, Any] | None], View]
    _most: int
    _live: list[LangchainConversation] = attrs.field(factory=list, init=False)
    """The one that was used last comes first."""
    _lock: Any = attrs.field(factory=threading.Lock, init=False)

    def take(
        self, given: Sequence[BaseMessage], state: Mapping[str, Any] | None
    ) -> LangchainConversation:
        """Return the conversation of a list of messages, read up to its end.

        `state` is what was stored with it; None if nothing was.
        """
        with self._lock:
            # Of several that a list continues, the longest: a short one may be somebody else's.
            begun = [each for each in self._live if _is_of(each, given, state)]
            found = max(begun, key=lambda each: len(each.items), default=None)
            if found is not None:
                self._live.remove(found)
            elif state is None:
                state = self._borrow(given)
        # Outside the lock: nobody else has this conversation, and a list may be long.
        conversation = found or self._restored(state)
        conversation.read(given)
        return conversation

    def put(self, conversation: LangchainConversation) -> None:
        """Put a conversation back, and forget the one that was used least recently."""
        with self._lock:
            self._live.insert(0, conversation)
            del self._live[self._most :]

    def _borrow(self, given: Sequence[BaseMessage]) -> dict[str, Any] | None:
        """Return the state of a conversation from which this one was forked or rewound."""
        for each in self._live:
            covered = each.view.covered
            if covered and each.starts(given, covered):
                return {"view": each.view.state()}
        return None

    def _restored(self, state: Mapping[str, Any] | None) -> LangchainConversation:
        if state is None:
            return LangchainConversation(self._make_view(None))
        try:
            view = self._make_view(state.get("view"))
        except ConfigError as problem:  # a newer version stored it, and was rolled back
            _log.warning("the stored state is not used, so a summary is made again: %s", problem)
            return LangchainConversation(self._make_view(None))
        # The View has checked it.
        stored = (state.get("view") or {}).get("compaction", {}).get("summary")
        return LangchainConversation(view, record=from_plain(stored) if stored else None)


def _is_of(
    conversation: LangchainConversation,
    given: Sequence[BaseMessage],
    state: Mapping[str, Any] | None,
) -> bool:
    if state is None:
        return conversation.starts(given)
    return bool(conversation.mark) and conversation.mark == state.get("mark")


def _facts_of(message: BaseMessage) -> _Facts:
    """Return what tells a message from another; ids are new wherever they were not stored."""
    fields = message.__dict__  # a pydantic model takes 5 us to say that it lacks an attribute
    return (
        fields["type"],
        fields["content"],
        fields.get("tool_calls"),
        fields.get("invalid_tool_calls"),
        fields.get("tool_call_id"),
    )


def _key_of(message: Message) -> _Facts:
    calls, results = message.tool_calls, message.tool_results
    return message.role, message.id, *[c.id for c in calls], *[r.call_id for r in results]


def _is_system(item: BaseMessage) -> bool:
    return isinstance(item, SystemMessage)


def _as_record(message: Message) -> HumanMessage:
    # LangChain marks its own summaries like this, and user interfaces hide them.
    return HumanMessage(message.content, additional_kwargs={"lc_source": "summarization"})
