"""A system prompt and tools that changed within an epoch, as messages in place.

Such a message is no part of the owner's history. It is marked, so that an owner who keeps what was
sent does not send it once more behind a prefix that has the change already.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Message
from agentic.protocols import RequestPrefix, ToolDefinition

_MARK = "prefix_change"
_TOOL_FIELDS = ("name", "description", "allowed_callers", "annotations", "retry")


def mark_changes(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield messages that say what has changed, marked as such.

    >>> is_change(next(mark_changes([Message("system", "Be brief.")])))
    True
    """
    for message in messages:
        # Evolved, not replaced, which would leave out the payload.
        yield attrs.evolve(message, extra={**message.extra, _MARK: True})


def is_change(message: Message) -> bool:
    """Return whether a message says what has changed in front of an epoch."""
    return message.role == "system" and _MARK in message.extra


def without_changes(messages: list[Message]) -> list[Message]:
    """Return messages without those that say what has changed; the same list if there are none."""
    rest = [message for message in messages if not is_change(message)]
    return messages if len(rest) == len(messages) else rest


def takes_change(messages: Sequence[Message]) -> bool:
    """Return whether a change may be appended: behind a user message or results.

    Anthropic takes it nowhere else:
    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    (2026-11).
    """
    return bool(messages) and messages[-1].role in {"user", "tool"}


def tools_on_wire(prefix: RequestPrefix, latest: RequestPrefix) -> tuple[ToolDefinition, ...]:
    """Return all tools whose definitions a request holds, in front of it or in a message."""
    return (*prefix.tools, *(tool for tool in latest.tools if tool not in prefix.tools))


def prefix_to_plain(prefix: RequestPrefix) -> dict[str, Any]:
    """Return the JSON form.

    >>> prefix_from_plain(prefix_to_plain(RequestPrefix("Be brief."))).system_prompt
    'Be brief.'
    """
    return {"system_prompt": prefix.system_prompt, "tools": list(map(_tool_to_plain, prefix.tools))}


def prefix_from_plain(plain: Mapping[str, Any]) -> RequestPrefix:
    """Build one from its JSON form.

    Raises:
        KeyError, TypeError or ValueError: `prefix_to_plain` did not return this.
    """
    tools = tuple(ToolDefinition(**tool) for tool in plain["tools"])
    return RequestPrefix(str(plain["system_prompt"]), tools)


def _tool_to_plain(tool: ToolDefinition) -> dict[str, Any]:
    fields = {name: _plain(getattr(tool, name)) for name in _TOOL_FIELDS}
    return {**fields, "parameters": _plain(tool.parameters)}


def _plain(value: Any) -> Any:
    """Return JSON data as dicts and lists: a schema may be made of any Mappings."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
