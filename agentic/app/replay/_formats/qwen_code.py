"""Sessions of Qwen Code: `~/.qwen/projects/<project>/chats/<session>.jsonl`.

By `ChatRecord` in packages/core/src/services/chatRecordingService.ts of
https://github.com/QwenLM/qwen-code (2026-11). A record has a `uuid` and a `parentUuid`, as in
Claude Code, but its `message` is a content of Gemini's API, with a role and parts. A `tool_result`
record answers calls. A `system` record of the subtype `chat_compression` holds the history that the
next request began with; the latest record determines the current branch.
"""

from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._tree import Tree
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.messages._message import Role
from agentic.providers.kit import at, text_at

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool_result": "tool"}


def is_record(data: Entry) -> bool:
    """Return whether an object is a record of Qwen Code with a message.

    >>> content = {"role": "user", "parts": [{"text": "Hi."}]}
    >>> is_record({"uuid": "u", "parentUuid": None, "type": "user", "message": content})
    True
    """
    return (
        "uuid" in data
        and text_at(data, "type") in _ROLES
        and isinstance(at(data, "message", "parts"), list)
    )


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the current branch."""
    entries = [value for value in values if text_at(value.data, "uuid")]
    tree = Tree.of((each.data["uuid"], each.data.get("parentUuid")) for each in entries)
    messages = [each for each in entries if text_at(each.data, "type") in _ROLES]
    chain = tree.chain(messages[-1].data["uuid"] if messages else None)
    tree.note_bridges(chain, reading)
    reading.note_branches(sum(each.data["uuid"] not in chain for each in messages))
    compactions = 0
    for value in entries:
        data, kind = value.data, text_at(value.data, "type")
        if data["uuid"] not in chain:
            continue
        if data.get("subtype") == "chat_compression":
            compactions += 1
            reading.compact(*_view(at(data, "systemPayload", "compressedHistory"), reading))
        elif kind in _ROLES:
            for message in _messages(data, _ROLES[kind], reading):
                reading.add(message, data)
    reading.note_own(compactions, "compactions")


def _messages(data: Entry, role: Role, reading: Reading) -> list[Message]:
    parts = read_parts(at(data, "message", "parts"), reading)
    if role != "assistant":
        return parts.messages(role)
    reading.use_model(data.get("model"))
    counts = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount")
    return parts.messages("assistant", usage=whole_usage(data.get("usageMetadata"), *counts))


def _view(history: Any, reading: Reading) -> list[Message]:
    roles: dict[str, Role] = {"model": "assistant"}
    return [
        message
        for content in objects_at(history)
        for message in read_parts(content.get("parts"), reading).messages(
            roles.get(text_at(content, "role"), "user")
        )
    ]


FORMAT = Format(
    name="Qwen Code session",
    recognizes=is_record,
    read=read,
    places=(Place((".qwen",), "projects/*/chats/*.jsonl"),),
)
