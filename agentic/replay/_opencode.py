"""Sessions of OpenCode, in each of the three forms that its versions have.

The format is that of packages/opencode/src/session/message-v2.ts of https://github.com/sst/opencode
(2026-11). A message is an `info` with a `role`, and `parts`; a tool part holds the call and its
result. They are stored below `$XDG_DATA_HOME/opencode` (by default ~/.local/share/opencode):

- a database, `opencode.db`, with a row of JSON for each message and each part;
- before 2026, a file for each: `storage/session/<project>/<session>.json`,
  `storage/message/<session>/<message>.json` and `storage/part/<message>/<part>.json`;
- `opencode export` writes one object with all `messages`.

A compaction is a user message with a `compaction` part, answered by a reply whose `summary` is
true. Both are skipped: the originals are stored.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.replay._json_values import Value

if TYPE_CHECKING:
    import sqlite3

__all__ = ["TABLES", "is_message", "is_session_file", "read", "read_files", "read_rows"]

TABLES = {"session", "message", "part"}
"""The tables of its database that are read."""
_ENDED = {"completed", "error"}


def is_message(data: dict[str, Any]) -> bool:
    """Return whether an object is a message with its parts.

    >>> is_message({"info": {"role": "user"}, "parts": [{"type": "text", "text": "Hello."}]})
    True
    """
    return isinstance(data.get("info"), dict) and isinstance(data.get("parts"), list)


def is_session_file(path: Path) -> bool:
    """Return whether a path is that of a session, next to the folders of its messages."""
    return path.suffix == ".json" and path.parent.parent.name == "session" and (
        path.parents[2] / "message" / path.stem
    ).is_dir()  # fmt: skip


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages; each step of a reply is a message, followed by its results."""
    messages: list[Message] = []
    summaries = 0
    for value in values:
        info = value.data.get("info")
        parts = [part for part in value.data.get("parts") or () if isinstance(part, dict)]
        if not isinstance(info, dict):
            continue
        if info.get("summary") is True:
            summaries += 1
        elif info.get("role") == "user":
            text = _texts(parts, "text")
            messages += [Message("user", text)] if text else []
        else:
            messages += [each for step in _steps(parts) for each in _reply(step)]
    was = "summary is" if summaries == 1 else "summaries are"
    told = f"{summaries} of its own {was} left out: the originals are replayed"
    return messages, [told] if summaries else []


def read_files(path: Path) -> list[Value]:
    """Read the messages of a session from the files next to the session's own."""
    storage = path.parents[2]
    values = []
    for file in sorted((storage / "message" / path.stem).glob("*.json")):
        parts = sorted((storage / "part" / file.stem).glob("*.json"))
        listed = [json.loads(part.read_bytes()) for part in parts]
        values.append(Value(1, {"info": json.loads(file.read_bytes()), "parts": listed}))
    return values


def read_rows(database: "sqlite3.Connection") -> Iterator[tuple[str, list[Value]]]:
    """Yield the id of each session in a database, and its messages with their parts."""
    for (session,) in database.execute("SELECT id FROM session ORDER BY id").fetchall():
        parts: dict[str, list[Any]] = {}
        find = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"
        for message, data in database.execute(find, (session,)):
            parts.setdefault(message, []).append(json.loads(data))
        find = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        values = [
            Value(1, {"info": json.loads(data), "parts": parts.get(message, [])})
            for message, data in database.execute(find, (session,))
        ]
        if values:
            yield session, values


def _steps(parts: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the parts of each step: every step was one request to the model."""
    step: list[dict[str, Any]] = []
    for part in parts:
        if part.get("type") == "step-start" and step:
            yield step
            step = []
        step.append(part)
    yield step


def _reply(parts: list[dict[str, Any]]) -> Iterator[Message]:
    tools = [part for part in parts if part.get("type") == "tool"]
    calls = [
        ToolCall(
            str(part.get("callID")),
            str(part.get("tool")),
            json.dumps(_state(part).get("input") or {}, ensure_ascii=False),
        )
        for part in tools
    ]
    text, reasoning = _texts(parts, "text"), _texts(parts, "reasoning")
    if text or reasoning or calls:
        yield Message("assistant", text, reasoning=reasoning, tool_calls=calls)
    results = [_result(part) for part in tools if _state(part).get("status") in _ENDED]
    if results:
        yield Message("tool", tool_results=results)


def _result(part: dict[str, Any]) -> ToolResult:
    state, call_id, name = _state(part), str(part.get("callID")), str(part.get("tool"))
    if state.get("status") == "error":
        return ToolResult(call_id, name, "", ToolError(str(state.get("error"))))
    return ToolResult(call_id, name, str(state.get("output") or ""))


def _state(part: dict[str, Any]) -> dict[str, Any]:
    state = part.get("state")
    return state if isinstance(state, dict) else {}


def _texts(parts: list[dict[str, Any]], kind: str) -> str:
    """Return the texts of a kind; those that the user excluded were not sent."""
    found = [part for part in parts if part.get("type") == kind and not part.get("ignored")]
    return "\n".join(part["text"] for part in found if isinstance(part.get("text"), str))
