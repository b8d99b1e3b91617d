"""Keeping the newest, by number: messages, tool rounds, or the dicts of chat completions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs

from agentic._validate import is_whole, must_be, whole
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.errors import ConfigError
from agentic.messages import Message, Role, ToolCall, ToolResult

__all__ = ["KeepLast", "TrimRounds", "truncate_messages"]
_T = TypeVar("_T", bound=Message | Mapping[str, Any])
_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
}


@attrs.frozen(eq=False)
class KeepLast:
    """Keep the system prompt and the last `keep_recent` messages, whole rounds only.

    Pinned messages and the latest user message stay too, whatever their place. The view begins
    elsewhere at every turn: where the provider's prompt cache matters, `FitContextWindow` is
    cheaper.

    >>> said = [Message("user", text) for text in ("one", "two", "three")]
    >>> [message.content for message in KeepLast(2).compact([Message("system", "Count."), *said])]
    ['Count.', 'two', 'three']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    """How many messages; the system prompt is not one of them."""
    preserve_system: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether the leading system messages stay; otherwise they are messages like any other."""
    preserve_tool_chains: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether a tool round that lies across the cut stays whole; otherwise it goes whole."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "KeepLast":
        """Return this for one conversation, with a memory of its own."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        always = {*rounds.pinned, *rounds.task.requests[-1:]}
        system = rounds.leading if self.preserve_system else []
        start = rounds.start_of_last(
            self.keep_recent, after=len(system), stretch=self.preserve_tool_chains
        )
        return rounds.view(messages, start, always.union(system))


@attrs.frozen(eq=False)
class TrimRounds:
    """Keep the system prompt, the task, and the newest tool rounds with what stands between them.

    The task is the latest user message, and the request that the work began with; pinned messages
    stay too.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> talk = [Message("user", "Count.")]
    >>> for name in ("a", "b"):
    ...     talk.append(Message("assistant", name, tool_calls=[ToolCall(name, "next")]))
    ...     talk.append(Message("tool", tool_results=[ToolResult(name, "next", "done")]))
    >>> [message.content for message in TrimRounds(1).compact(talk)]
    ['Count.', 'b', '']
    """

    max_rounds: int = attrs.field(validator=whole(1, remedy="pass how many tool rounds to keep"))
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "TrimRounds":
        """Return this for one conversation, with a memory of its own."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        cut = len(rounds.tool_rounds) > self.max_rounds
        start = rounds.tool_rounds[-self.max_rounds] if cut else 0
        task = rounds.task.requests
        return rounds.view(messages, start, {*rounds.leading, *rounds.pinned, *task})


def truncate_messages(
    messages: Sequence[_T], keep: int = 10, preserve_system: bool = True
) -> list[_T]:
    """Return the system prompt and the last `keep` messages: a new list of the same objects.

    A tool round that lies across the cut is left out whole, and so is a result without its call: a
    provider would refuse the rest. Nothing else is looked at; the task may be among what goes. For
    more than a cut by number, see the strategies.

    >>> talk = [{"role": "system", "content": "Count."}]
    >>> talk += [{"role": "user", "content": str(number)} for number in range(50)]
    >>> [message["content"] for message in truncate_messages(talk, keep=2)]
    ['Count.', '48', '49']

    Raises:
        ConfigError: a number below 0, or something that is no message.
    """
    is_whole(0, keep, "keep", "pass how many of the newest messages to keep")
    rounds = KnownRounds().of([_skeleton(message) for message in messages])
    system = rounds.leading if preserve_system else []
    start = rounds.start_of_last(keep, after=len(system), stretch=False)
    return list(rounds.view(list(messages), start, set(system)))


def _skeleton(message: Message | Mapping[str, Any]) -> Message:
    """Return what decides on rounds: the role, the ids of calls and of results."""
    if isinstance(message, Message):
        return message
    if not isinstance(message, Mapping):
        raise ConfigError(
            "messages", message, "Messages, or dicts with a role", "pass the conversation itself"
        )
    role = _ROLES.get(message.get("role"), "user")
    if role == "tool":
        return Message("tool", tool_results=[ToolResult(str(message.get("tool_call_id", "")))])
    calls = message.get("tool_calls") or () if role == "assistant" else ()
    return Message(role, tool_calls=[ToolCall(str(call.get("id", "")), "") for call in calls])
