"""Recorded sessions: where they lie, how they are read, and which half and family each is of."""

import json
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from agentic.messages import Message, ToolCall, ToolFailure, ToolResult, leading_system_count

__all__ = ["Session", "read_sessions"]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
LEAST_MESSAGES, LEAST_SHORT = 100, 20


@attrs.define(slots=False)
class Session:
    """One recorded conversation, without the system messages at its start."""

    name: str
    messages: list[Message]

    @property
    def family(self) -> str:
        """The agent that made it: the first part of the file's name."""
        return self.name.partition("_")[0]

    @property
    def half(self) -> str:
        """What it is for, by a checksum of its name: `tune` or `check`."""
        return ("tune", "check")[zlib.crc32(self.name.encode()) & 1]

    @property
    def is_long(self) -> bool:
        """Whether it has the hundred messages that the main table asks for."""
        return len(self.messages) >= LEAST_MESSAGES

    @cached_property
    def speaks_in_text(self) -> bool:
        """Whether actions stand in the replies, and outputs come back as user messages."""
        return not any(message.tool_calls for message in self.messages)


def read_sessions(folder: Path = FOLDER) -> list[Session]:
    """Read every session of some length; none where the folder is absent."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.name != "index.jsonl"]
    sessions = [Session(path.stem, _read(path)) for path in paths]
    return [session for session in sessions if len(session.messages) >= LEAST_SHORT]


def _read(path: Path) -> list[Message]:
    with path.open(encoding="utf-8") as lines:
        messages = [_message(json.loads(line)) for line in lines]
    return messages[leading_system_count(messages) :]


def _message(chat: dict[str, Any]) -> Message:
    content = chat.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text") or "" for part in content)
    if chat["role"] == "tool":
        error = ToolFailure(content) if chat.get("x_is_error") else None
        name = chat.get("name") or ""
        result = ToolResult(chat["tool_call_id"], name, "" if error else content, error)
        return Message("tool", tool_results=[result])
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"] or "")
        for call in chat.get("tool_calls") or ()
    ]
    return Message(chat["role"], content, tool_calls=calls)
