"""Session files of Gemini CLI, `~/.gemini/tmp/<project>/chats/session-*.json` or `.jsonl`.

The format is that of packages/core/src/services/chatRecordingTypes.ts and chatRecordingService.ts
of https://github.com/google-gemini/gemini-cli (2026-11). An older file is one object with all
`messages`. A newer one has a line for each message; one that changed is written again with the
same `id`. A `$set` line updates the session, perhaps with all `messages`; a `$rewindTo` line takes
back a message and all after it. A reply holds its calls and their results in `toolCalls`. Messages
of the types `info`, `warning` and `error` were shown to the user, never sent.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.replay._json_values import Value

__all__ = ["is_entry", "read"]

_SPOKEN = {"user", "gemini"}
_SHOWN = {"info", "warning", "error"}
_FAILED = {"error", "cancelled"}


def is_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is a line of a session, or one of its messages.

    >>> is_entry({"id": "m1", "timestamp": "", "type": "gemini", "content": "Hello."})
    True
    """
    if "$rewindTo" in data or isinstance(data.get("$set"), dict):
        return True
    if "projectHash" in data and "sessionId" in data:
        return True
    kinds = {"gemini"} if "parentUuid" in data else _SPOKEN | _SHOWN
    return data.get("type") in kinds and "id" in data and "content" in data and "role" not in data


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages that stand, each in its latest version."""
    standing: dict[Any, dict[str, Any]] = {}
    taken_back = 0
    for value in values:
        data = value.data
        if "$rewindTo" in data:
            ids = list(standing)
            gone = ids[ids.index(data["$rewindTo"]) :] if data["$rewindTo"] in standing else ids
            taken_back += len(gone)
            for each in gone:
                del standing[each]
            continue
        update = data.get("$set")
        snapshot = update.get("messages") if isinstance(update, dict) else None
        if isinstance(snapshot, list):
            standing = {each.get("id"): each for each in snapshot if isinstance(each, dict)}
        elif data.get("type") in _SPOKEN:
            standing[data.get("id")] = data
    messages = [message for each in standing.values() for message in _messages(each)]
    notes = [f"{taken_back} messages that were taken back are left out"] if taken_back else []
    return messages, notes


def _messages(said: dict[str, Any]) -> Iterator[Message]:
    if said.get("type") == "user":
        yield Message("user", _text(said.get("content")))
        return
    if said.get("type") != "gemini":
        return
    calls = [each for each in said.get("toolCalls") or () if isinstance(each, dict)]
    thoughts = [each for each in said.get("thoughts") or () if isinstance(each, dict)]
    content = _text(said.get("content"))
    reasoning = "\n\n".join(
        f"{each.get('subject')}: {each.get('description')}" for each in thoughts
    )
    if content or reasoning or calls:
        yield Message(
            "assistant",
            content,
            reasoning=reasoning,
            tool_calls=[
                ToolCall(
                    str(each.get("id")),
                    str(each.get("name")),
                    json.dumps(each.get("args") or {}, ensure_ascii=False),
                )
                for each in calls
            ],
        )
    if calls:
        yield Message("tool", tool_results=[_result(each) for each in calls])


def _result(call: dict[str, Any]) -> ToolResult:
    text = _text(call.get("result"))
    failed = call.get("status") in _FAILED
    return ToolResult(
        str(call.get("id")),
        str(call.get("name")),
        "" if failed else text,
        ToolError(text) if failed else None,
    )


def _text(content: Any) -> str:
    """Return the text in a part or a list of parts; of a tool's response, its output."""
    match content:
        case str(text) | {"text": str(text)}:
            return text
        case list(parts):
            return "\n".join(filter(None, map(_text, parts)))
        case {"functionResponse": {"response": {"output": str(text)} | {"error": str(text)}}}:
            return text
        case {"functionResponse": {"response": response}}:
            return json.dumps(response, ensure_ascii=False)
    return ""
