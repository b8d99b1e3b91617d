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

from agentic.messages import Message, ToolResult
from agentic.providers.kit import text_at
from agentic.replay._json_values import Value, note, objects_at
from agentic.replay._message_formats import make_call, make_result

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
    # An entry of Claude Code has the type `user`, too.
    kinds = {"gemini"} if "parentUuid" in data else _SPOKEN | _SHOWN
    is_line = text_at(data, "type") in kinds and "role" not in data
    return is_line and "id" in data and "content" in data


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages that stand, each in its latest version."""
    standing: dict[str, dict[str, Any]] = {}
    taken_back = 0
    for value in values:
        data = value.data
        if "$rewindTo" in data:
            # As Gemini CLI does, a message that is not known takes back all of them.
            ids, first = list(standing), text_at(data, "$rewindTo")
            gone = ids[ids.index(first) :] if first in standing else ids
            taken_back += len(gone)
            for each in gone:
                del standing[each]
            continue
        # An empty list replaces nothing (`loadConversationRecord` in chatRecordingService.ts).
        if snapshot := objects_at(data, "$set", "messages"):
            standing = {text_at(each, "id"): each for each in snapshot}
        elif text_at(data, "type") in _SPOKEN:
            standing[text_at(data, "id")] = data
    messages = [message for each in standing.values() for message in _messages(each)]
    return messages, note(
        taken_back,
        "message that was taken back is left out",
        "messages that were taken back are left out",
    )


def _messages(said: dict[str, Any]) -> Iterator[Message]:
    if said.get("type") == "user":
        yield Message("user", _text(said.get("content")))
        return
    if said.get("type") != "gemini":
        return
    calls = objects_at(said, "toolCalls")
    content = _text(said.get("content"))
    reasoning = "\n\n".join(
        f"{each.get('subject')}: {each.get('description')}" for each in objects_at(said, "thoughts")
    )
    if content or reasoning or calls:
        yield Message(
            "assistant",
            content,
            reasoning=reasoning,
            tool_calls=[
                make_call(text_at(each, "id"), text_at(each, "name"), each.get("args"))
                for each in calls
            ],
        )
    if calls:
        yield Message("tool", tool_results=[_result(each) for each in calls])


def _result(call: dict[str, Any]) -> ToolResult:
    text, failed = _text(call.get("result")), text_at(call, "status") in _FAILED
    return make_result(text_at(call, "id"), text_at(call, "name"), text, failed=failed)


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
