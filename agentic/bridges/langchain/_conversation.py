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

from agentic.bridges.langchain._messages import edit, from_message, read_message
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.messages import Message

_log = logging.getLogger(__name__)

_GO_ON = "Continue."
_Facts: TypeAlias = tuple[Any, ...]


@attrs.frozen(eq=False)
class WrittenPrompt:
    """What to send of a conversation."""

    items: list[BaseMessage]
    system: SystemMessage | None
    """The system prompt, with the summary if there is no other system message."""


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
        self._add(map(read_message, fresh))

    def write(self, sent: Sequence[Message], system: SystemMessage | None) -> WrittenPrompt:
        """Return what to send for a view. An unchanged message is the framework's own object.

        The summary becomes a part of the last system message at the start. A reply that now comes
        first is preceded by a word of the user's.
        """
        # A second system message is refused by langchain-google-genai, and by langchain-anthropic
        # unless both are at the start: https://github.com/langchain-ai/langgraph/issues/2441 and
        # `_format_messages` in langchain_anthropic.chat_models 1.7.7 (2026-11).
        former, self._edited = self._edited, {}
        written: list[BaseMessage] = []
        summary, before, after_reply = "", -1, True
        for message in sent:
            if message.summary is not None:
                summary = message.content
                continue
            place, items = self._write_one(message, before, former)
            is_reply = message.role == "assistant"
            if is_reply and after_reply and place != before + 1:
                written.append(HumanMessage(_GO_ON))
            written += items
            before = before if place is None else place
            after_reply = after_reply if message.role == "system" else is_reply
        found = WrittenPrompt(written, system)
        return _with_summary(found, summary) if summary else found

    def rewrite(self, history: Sequence[Message]) -> list[BaseMessage]:
        """Replace the list by a compacted history, and return it as the framework's messages."""
        items: list[BaseMessage] = []
        for message in history:
            place = self._places.get(id(message))
            if place is not None:
                items.append(self.items[place])
            else:
                # LangChain marks its own summaries like this, and user interfaces hide them.
                marks = {"lc_source": "summarization"}
                items.append(SystemMessage(message.content, additional_kwargs=marks))
        self._keep(0)
        self.items = items
        self._facts += copy.deepcopy(list(map(_facts_of, items)))
        self._add(history)
        return items

    def state(self) -> dict[str, Any]:
        """Return what must be stored with the conversation, as plain JSON with a new mark."""
        self.mark = uuid.uuid4().hex
        return {"mark": self.mark, "view": self.view.state()}

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
        if place is not None:
            return place, [self.items[place]]
        known = former.get(id(message))
        if known is None:
            places = self._by_key.get(_key_of(message), ())
            # A view keeps the order of the list, where an id may occur twice.
            place = next((at for at in places if at > before), None)
            items = (
                from_message(message)
                if place is None
                else [edit(self.items[place], self.messages[place], message)]
            )
            # The message is kept as well, so that no other object gets its id.
            known = (message, place, items)
        self._edited[id(message)] = known
        return known[1], known[2]


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
        conversation = found or LangchainConversation(self._view_from(state))
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

    def _view_from(self, state: Mapping[str, Any] | None) -> View:
        if state is None:
            return self._make_view(None)
        try:
            return self._make_view(state.get("view"))
        except ConfigError as problem:  # a newer version stored it, and was rolled back
            _log.warning("the stored state is not used, so a summary is made again: %s", problem)
            return self._make_view(None)


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


def _with_summary(written: WrittenPrompt, summary: str) -> WrittenPrompt:
    """Add a summary to the last system message at the start, or make it the only one."""
    items = written.items
    others = (at for at, each in enumerate(items) if not isinstance(each, SystemMessage))
    lead = next(others, len(items))
    if lead:
        items[lead - 1] = _extended(items[lead - 1], summary)
        return written
    if written.system is None:
        return WrittenPrompt(items, SystemMessage(summary))
    return WrittenPrompt(items, _extended(written.system, summary))


def _extended(message: Any, summary: str) -> Any:
    content = message.content
    if isinstance(content, str):
        new: Any = f"{content}\n\n{summary}" if content else summary
    else:
        # A block of its own: the prompt cache's marks on the others stay where they are.
        new = [*content, {"type": "text", "text": summary}]
    # A copy: the message belongs to the agent's state, or to the caller.
    return message.model_copy(update={"content": new})
