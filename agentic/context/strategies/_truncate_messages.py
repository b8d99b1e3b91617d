"""The simplest cut, on messages or on dicts in the form of chat completions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from agentic._validate import is_whole
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.errors import ConfigError
from agentic.messages import Message, Role, ToolCall, ToolResult

__all__ = ["truncate_messages"]

_T = TypeVar("_T", bound=Message | Mapping[str, Any])
_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
}


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
