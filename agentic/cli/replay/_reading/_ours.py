"""Sessions of agentic itself: the entries of a store or an export, and messages in their JSON form.

Of a store's entries only those that append a message are read: together they are the archive. Views
that replaced it are left out, so that a policy meets the conversation as it was said.
"""

from collections.abc import Sequence
from typing import Any

from agentic.cli.replay._reading._transcript import Damage
from agentic.cli.replay._reading._values import Value
from agentic.errors import ConfigError
from agentic.messages import Message, from_plain

__all__ = ["is_entry", "is_plain", "read_entries", "read_plain"]

_VIEWS = {"replace", "restore"}


def is_entry(data: dict[str, Any]) -> bool:
    """Tell whether an object is an entry of a store.

    >>> is_entry({"v": 1, "type": "message", "message": {}}), is_entry({"v": 1, "role": "user"})
    (True, False)
    """
    return isinstance(data.get("v"), int) and data.get("type") in {"message", *_VIEWS}


def is_plain(data: dict[str, Any]) -> bool:
    """Tell whether an object is a message as `messages.to_plain` gives it."""
    return isinstance(data.get("v"), int) and isinstance(data.get("role"), str)


def read_entries(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read what was appended, in order."""
    views = sum(value.data.get("type") == "replace" for value in values)
    messages = [
        _message(value.data.get("message"), value.line)
        for value in values
        if value.data.get("type") == "message"
    ]
    if not views:
        return messages, []
    was = "compaction is" if views == 1 else "compactions are"
    return messages, [f"{views} stored {was} passed over: the originals are replayed"]


def read_plain(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read messages, one a line."""
    return [_message(value.data, value.line) for value in values], []


def _message(data: Any, line: int) -> Message:
    try:
        return from_plain(data)
    except ConfigError as problem:
        raise Damage(line, str(problem)) from problem
