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

from agentic.messages import Message, ToolResult
from agentic.providers.kit import at, text_at
from agentic.replay._json_values import Damage, Value, note_originals, objects_at
from agentic.replay._message_formats import make_call, make_result, text_in

if TYPE_CHECKING:
    import sqlite3

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
        parts = objects_at(value.data, "parts")
        if not isinstance(info, dict):
            continue
        # A user's message has a `summary` as well, an object that lists the changed files.
        if info.get("summary") is True:
            summaries += 1
        elif info.get("role") == "user":
            text = _texts(parts, "text")
            messages += [Message("user", text)] if text else []
        else:
            messages += [each for step in _steps(parts) for each in _reply(step)]
    return messages, note_originals(summaries, "summaries")


def read_files(path: Path) -> list[Value]:
    """Read the messages of a session from the files next to the session's own."""
    storage = path.parents[2]
    values = []
    # Their ids ascend with time, so the names of the files are in order.
    for file in _list_files(storage / "message" / path.stem):
        parts = _list_files(storage / "part" / file.stem)
        values.append(Value(1, {"info": _read_file(file), "parts": [*map(_read_file, parts)]}))
    return values


def _list_files(folder: Path) -> list[Path]:
    # No pipe and no device, which may have no end.
    return sorted(file for file in folder.glob("*.json") if file.is_file())


def _read_file(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise Damage(None, f"{path.name} of this session is not JSON ({problem})") from problem


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
        make_call(text_at(part, "callID"), text_at(part, "tool"), at(part, "state", "input"))
        for part in tools
    ]
    text, reasoning = _texts(parts, "text"), _texts(parts, "reasoning")
    if text or reasoning or calls:
        yield Message("assistant", text, reasoning=reasoning, tool_calls=calls)
    # A call that was still running has no result: it is closed like any open call.
    results = [_result(part) for part in tools if text_at(part, "state", "status") in _ENDED]
    if results:
        yield Message("tool", tool_results=results)


def _result(part: dict[str, Any]) -> ToolResult:
    failed = at(part, "state", "status") == "error"
    text = text_at(part, "state", "error" if failed else "output")
    return make_result(text_at(part, "callID"), text_at(part, "tool"), text, failed=failed)


def _texts(parts: list[dict[str, Any]], kind: str) -> str:
    """Return the texts of a kind; those that the user excluded were not sent."""
    found = [part for part in parts if part.get("type") == kind and not part.get("ignored")]
    return text_in(found)
