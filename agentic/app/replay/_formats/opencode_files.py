"""Where OpenCode keeps a session: in the files next to the session's own, or in a database."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic.app.replay._formats._format import SessionFiles
from agentic.app.replay._json_values import Damage, Value

if TYPE_CHECKING:
    import sqlite3

TABLES = {"session", "message", "part"}
"""The tables of its database that are read."""


def is_session_file(path: Path) -> bool:
    """Return whether a path is that of a session, next to the folders of its messages."""
    return path.suffix == ".json" and path.parent.parent.name == "session" and (
        path.parents[2] / "message" / path.stem
    ).is_dir()  # fmt: skip


def belongs(path: Path) -> bool:
    """Return whether a path is that of a message or a part of one, which a session leads to."""
    is_below = len(path.parents) > 2 and path.parents[1].name in {"message", "part"}  # noqa: PLR2004
    return is_below and (path.parents[2] / "session").is_dir()


def read_files(path: Path) -> list[Value]:
    """Return the session and its messages from the files next to the session's own."""
    storage = path.parents[2]
    values = [Value(1, {"session": _read_file(path)})]
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


FILES = SessionFiles(leads=is_session_file, belongs=belongs, read=read_files)


def read_rows(database: "sqlite3.Connection") -> Iterator[tuple[str, list[Value]]]:
    """Yield the id of each session in a database, and its messages with their parts."""
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(session)")}
    # Versions before it had a revert keep none.
    find = "SELECT id, NULL FROM session ORDER BY id"
    if "revert" in columns:
        find = "SELECT id, revert FROM session ORDER BY id"
    for session, revert in database.execute(find).fetchall():
        parts: dict[str, list[Any]] = {}
        find = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
        for part, message, data in database.execute(find, (session,)):
            parts.setdefault(message, []).append(_with_id(part, json.loads(data)))
        find = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        values = [
            Value(1, {"info": _with_id(message, json.loads(data)), "parts": parts.get(message, [])})
            for message, data in database.execute(find, (session,))
        ]
        if values:
            value = json.loads(revert) if revert else None
            yield session, [Value(1, {"session": {"revert": value}}), *values]


def _with_id(ident: Any, data: Any) -> Any:
    # The id is a column of its own, and not in the data.
    return {"id": ident, **data} if isinstance(data, dict) else data
