"""Session files of pi: `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`.

The format, as documented by its maker:
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md (versions 1 to
3). The first line is a header. Entries form a tree by `id` and `parentId`, and the last entry
determines the current branch; entries without ids follow one another. A compaction is an entry of
its own and is skipped: the originals are in the file.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentic.messages import Media, Message
from agentic.providers.kit import text_at
from agentic.replay._json_values import Damage, Value, note_branches, note_originals, objects_at
from agentic.replay._message_formats import make_call, make_result
from agentic.usage import Usage

__all__ = ["is_entry", "read"]

_IN_CONTEXT = {"message", "custom_message", "branch_summary"}


def is_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is the header of a session, or one of its messages.

    >>> is_entry({"type": "session", "id": "s1", "cwd": "/src"})
    True
    """
    if data.get("type") == "session":
        return "cwd" in data or "version" in data
    is_message = data.get("type") == "message" and "v" not in data
    return is_message and text_at(data, "message", "role") in _SAID


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the current branch."""
    entries = [value for value in values if value.data.get("type") != "session"]
    standing = _standing(entries)
    spoken = [value for value in standing if text_at(value.data, "type") in _IN_CONTEXT]
    left = sum(text_at(value.data, "type") in _IN_CONTEXT for value in entries) - len(spoken)
    notes = note_branches(left)
    compactions = sum(value.data.get("type") == "compaction" for value in standing)
    notes += note_originals(compactions, "compactions")
    messages = [message for value in spoken if (message := _message(value))]
    return messages, notes


def _standing(entries: list[Value]) -> list[Value]:
    by_id = {value.data["id"]: value for value in entries if isinstance(value.data.get("id"), str)}
    # Version 1 has no ids: its entries follow one another.
    if len(by_id) < len(entries):
        return entries
    chain: set[str] = set()
    at = entries[-1].data["id"] if entries else None
    # The links of a damaged file may form a circle.
    while isinstance(at, str) and at in by_id and at not in chain:
        chain.add(at)
        at = by_id[at].data.get("parentId")
    return [value for value in entries if value.data["id"] in chain]


def _message(value: Value) -> Message | None:
    entry = value.data
    if entry["type"] != "message":  # a branch's summary, or an extension's entry
        return _user({"content": entry.get("summary"), **entry})
    said, role = entry.get("message"), text_at(entry, "message", "role")
    if not isinstance(said, dict) or role not in _SAID:
        found = said.get("role") if isinstance(said, dict) else said
        raise Damage(value.line, f"found {found!r} where the role of a message should be")
    return _SAID[role](said)


def _user(said: dict[str, Any]) -> Message:
    content = said.get("content")
    return Message("user", _text(content), media=_media(content))


def _reply(said: dict[str, Any]) -> Message:
    blocks = objects_at(said, "content")
    calls = [
        make_call(text_at(block, "id"), text_at(block, "name"), block.get("arguments"))
        for block in blocks
        if block.get("type") == "toolCall"
    ]
    thoughts = [text_at(block, "thinking") for block in blocks if block.get("type") == "thinking"]
    return Message(
        "assistant",
        _text(said.get("content"), ""),
        reasoning="\n\n".join(filter(None, thoughts)),
        tool_calls=calls,
        usage=_usage(said.get("usage")),
    )


def _result(said: dict[str, Any]) -> Message:
    content = said.get("content")
    result = make_result(
        text_at(said, "toolCallId"),
        text_at(said, "toolName"),
        _text(content),
        failed=said.get("isError") is True,
        media=_media(content),
    )
    return Message("tool", tool_results=[result])


def _shell(said: dict[str, Any]) -> Message | None:
    """Read a command that the user ran; the model sees it as a user message."""
    if said.get("excludeFromContext"):
        return None
    return Message("user", f"Ran `{text_at(said, 'command')}`\n```\n{text_at(said, 'output')}\n```")


def _text(content: Any, separator: str = "\n") -> str:
    if isinstance(content, str):
        return content
    return separator.join(filter(None, (text_at(each, "text") for each in objects_at(content))))


def _media(content: Any) -> list[Media]:
    return [
        Media(text_at(block, "mimeType") or "image/*", _decoded(block.get("data")))
        for block in objects_at(content)
        if block.get("type") == "image"
    ]


def _decoded(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError):
        # Still a picture, which takes its place in a request.
        return b""


def _usage(given: Any) -> Usage | None:
    """Convert pi's counts, none of which includes another."""
    if not isinstance(given, dict):
        return None
    parts = Usage(
        given.get("input"), given.get("output"), 0, given.get("cacheRead"), given.get("cacheWrite")
    )
    return Usage(
        parts.input + parts.cache_read + parts.cache_write,
        parts.output,
        0,
        parts.cache_read,
        parts.cache_write,
    )


_SAID: Mapping[str, Callable[[dict[str, Any]], Message | None]] = {
    "user": _user,
    "assistant": _reply,
    "toolResult": _result,
    "bashExecution": _shell,
    "custom": _user,
    "hookMessage": _user,
    "branchSummary": lambda said: _user({"content": said.get("summary")}),
    "compactionSummary": lambda _: None,
}
"""The function that reads a message, by role."""
