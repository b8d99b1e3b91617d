"""Keeping a number of the newest messages, tool rounds, or message dicts of chat completions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs

from agentic._validate import is_whole, must_be, whole
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.errors import ConfigError
from agentic.messages import Message, Role, ToolCall, ToolResult

__all__ = ["KeepLast", "TrimRounds", "truncate_messages"]
_T = TypeVar("_T", bound=Message | Mapping[str, Any])
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
}


@attrs.frozen(eq=False)
class KeepLast:
    """Keep the system prompt and the last `keep_recent` messages, whole rounds only.

    Pinned messages and the latest user message are also kept, wherever they are. The start of the
    view changes at every turn, so `FitContextWindow` is cheaper if the provider caches prompts.

    >>> said = [Message("user", text) for text in ("one", "two", "three")]
    >>> [message.content for message in KeepLast(2).compact([Message("system", "Count."), *said])]
    ['Count.', 'two', 'three']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    """The number of messages to keep, not counting the system prompt."""
    preserve_system: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether leading system messages are always kept; otherwise they are treated like others."""
    preserve_tool_chains: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether a tool round that lies across the cut is kept as a whole; otherwise it is left out
    as a whole."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "KeepLast":
        """Return a copy for one conversation, with its own cache."""
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

    The task is the latest user message and the request that the current work began with. Pinned
    messages are also kept.

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
        """Return a copy for one conversation, with its own cache."""
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

    A tool round that lies across the cut is left out as a whole, and so is a result without its
    call, because a provider would refuse an incomplete round. Nothing else is considered: even the
    task may be left out. Use a strategy for anything beyond a cut by number.

    >>> talk = [{"role": "system", "content": "Count."}]
    >>> talk += [{"role": "user", "content": str(number)} for number in range(50)]
    >>> [message["content"] for message in truncate_messages(talk, keep=2)]
    ['Count.', '48', '49']

    Raises:
        ConfigError: `keep` is negative, or an item is not a message, or a call in it not a dict.
    """
    is_whole(0, keep, "keep", "pass how many of the newest messages to keep")
    rounds = KnownRounds().of([_skeleton(message) for message in messages])
    system = rounds.leading if preserve_system else []
    start = rounds.start_of_last(keep, after=len(system), stretch=False)
    return list(rounds.view(list(messages), start, set(system)))


def _skeleton(message: Message | Mapping[str, Any]) -> Message:
    """Return a message with only what determines rounds: role, call ids and result ids."""
    if isinstance(message, Message):
        return message
    if not isinstance(message, Mapping):
        raise ConfigError(
            "messages", message, "Messages, or dicts with a role", "pass the conversation itself"
        )
    # An unknown role is a round of its own, as a user's message is.
    given = message.get("role")
    role = _ROLES.get(given, "user") if isinstance(given, str) else "user"
    if role == "tool":
        return Message("tool", tool_results=[ToolResult(str(message.get("tool_call_id", "")))])
    calls = message.get("tool_calls") or () if role == "assistant" else ()
    if not (isinstance(calls, Sequence) and all(isinstance(call, Mapping) for call in calls)):
        raise ConfigError(
            "tool_calls", calls, "a list of dicts", "pass what `model_dump()` of each call returns"
        )
    return Message(role, tool_calls=[ToolCall(str(call.get("id", "")), "") for call in calls])
