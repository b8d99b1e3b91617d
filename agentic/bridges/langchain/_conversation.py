"""LangChain's messages in a mirror, and the conversations that a middleware served last.

A middleware serves many conversations, and a request does not name its own reliably: without a
checkpointer there is no thread, and a thread may be forked, or continued by another process. So the
state that is stored with a conversation has a mark, new each time. A conversation whose state was
not stored is found by its messages. Whoever takes one out of the pool is its only user until it is
put back.
"""

import logging
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agentic.bridges.kit import ListPool, ListView
from agentic.bridges.kit._lists import begins
from agentic.bridges.kit._mirror import Mirror
from agentic.bridges.kit._units import Unit
from agentic.bridges.kit._view_parts import ViewParts
from agentic.bridges.langchain._messages import edit, from_message, is_empty_reply, read_message
from agentic.errors import ConfigError
from agentic.messages import Message

_log = logging.getLogger(__name__)


class LangchainForm:
    """How LangChain keeps its messages: one object for each, several for several results."""

    def read(self, item: BaseMessage, /) -> Sequence[Message]:
        """Return what a message says."""
        return [read_message(item)]

    def write(self, message: Message, /) -> Sequence[BaseMessage]:
        """Return new messages of LangChain."""
        if message.summary is None:
            return from_message(message)
        # LangChain marks its own summaries like this, and user interfaces hide them. It is a
        # message of its own: a middleware that is listed later may set the system prompt.
        marks = {"lc_source": "summarization"}
        return [HumanMessage(message.content, additional_kwargs=marks)]

    def edit(
        self,
        items: Sequence[BaseMessage],
        before: Sequence[Message],
        after: Sequence[Message | None],
        /,
    ) -> Sequence[BaseMessage]:
        """Return a changed copy; nothing for a reply that has only its reasoning left."""
        (item,), (message,) = items, filter(None, after)
        if len(message.tool_results) > 1:  # as where a reply repeats an id; here each is a message
            return from_message(message)
        result = edit(item, before[0], message)
        # Providers refuse a reply of which nothing is left but its reasoning.
        return [] if is_empty_reply(result) and not is_empty_reply(item) else [result]

    def facts(self, item: BaseMessage, /) -> tuple[Any, ...]:
        """Return what tells a message from another; ids are new wherever they were not stored."""
        if not isinstance(item, BaseMessage):
            return (item,)  # refused when it is read
        fields = item.__dict__  # a pydantic model takes 5 us to say that it lacks an attribute
        return (
            fields["type"],
            fields["content"],
            fields.get("tool_calls"),
            fields.get("invalid_tool_calls"),
            fields.get("tool_call_id"),
        )


@attrs.define(eq=False)
class _LangchainMirror(Mirror):
    def _is_sent_as_read(self, unit: Unit) -> bool:
        # An earlier version stored a summary as a system message.
        is_record = bool(unit.messages) and unit.messages[0].summary is not None
        return not (is_record and isinstance(self.items[unit.start], SystemMessage))


@attrs.define(eq=False)
class LangchainConversation:
    """One conversation, and what a request has besides its messages."""

    view: ListView
    mark: str = attrs.field(default="", init=False)
    """The mark of the state that was stored last."""
    beside: dict[str, Any] = attrs.field(factory=dict, init=False)
    """The system prompt and the tools of the latest request: `before_model` is not told."""

    @property
    def keys(self) -> Sequence[Any]:
        """What tells the messages of the latest list from others."""
        return self.view.mirror.copies

    def state(self) -> dict[str, Any]:
        """Return what must be stored with the conversation, as plain JSON with a new mark."""
        self.mark = uuid.uuid4().hex
        return {"mark": self.mark, "view": self.view.state()["view"]}


@attrs.define(eq=False)
class ConversationPool:
    """The conversations that were used last. Others are restored from their stored state."""

    _parts: ViewParts
    _most: int
    _live: ListPool[LangchainConversation] = attrs.field(factory=ListPool, init=False)
    _lock: Any = attrs.field(factory=threading.Lock, init=False)
    _form: LangchainForm = attrs.field(factory=LangchainForm, init=False)

    def __len__(self) -> int:
        return len(self._live)

    def take(
        self, messages: Sequence[BaseMessage], state: Mapping[str, Any] | None
    ) -> LangchainConversation:
        """Return the conversation of a list of messages.

        `state` is what was stored with it; None if nothing was.
        """
        keys = [] if state is not None else list(map(self._form.facts, messages))
        with self._lock:
            if state is None:
                conversation = self._live.find_continued(keys)
                state = None if conversation else self._borrow(keys)
            else:
                mark = state.get("mark")
                candidates = (one for one in self._live.entries if one.mark and one.mark == mark)
                conversation = next(candidates, None)
            if conversation is not None:
                self._live.discard(conversation)
                return conversation
        # Outside the lock: nobody else has this conversation.
        return self._restored(state)

    def put(self, conversation: LangchainConversation) -> None:
        """Put a conversation back, and forget the one that was used least recently."""
        with self._lock:
            self._live.put(conversation, self._most)

    def _borrow(self, keys: Sequence[Any]) -> dict[str, Any] | None:
        """Return the state of a conversation from which this one was forked or rewound."""
        for each in reversed(self._live.entries):
            length = each.view.view.covered
            if length and begins(keys, each.keys[:length]):
                return {"view": each.view.state()["view"]}
        return None

    def _restored(self, state: Mapping[str, Any] | None) -> LangchainConversation:
        view = ListView(_LangchainMirror(self._form), self._parts)
        if state is not None and state.get("view") is not None:
            try:
                view.restore(state["view"])
            except ConfigError as problem:  # a newer version stored it, and was rolled back
                _log.warning(
                    "the stored state is not used, so a summary is made again: %s", problem
                )
        return LangchainConversation(view)
