"""Sessions of Crush: the database `.crush/crush.db` of a project.

By internal/db/migrations and internal/message/message.go of https://github.com/charmbracelet/crush
(2026-11). A row of `messages` has a `role` and JSON `parts`, each a `type` and `data`. A message
with `is_summary_message` is a compaction: the next requests begin with it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._json_values import Value
from agentic.app.replay._parts import read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.messages._message import Role
from agentic.providers.kit import text_at

if TYPE_CHECKING:
    import sqlite3

_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_COLUMNS = {"id", "session_id", "role", "parts", "created_at"}


def is_database(database: "sqlite3.Connection") -> bool:
    """Return whether a database has the table of Crush's messages."""
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(messages)")}
    return columns >= _COLUMNS


def read_rows(database: "sqlite3.Connection") -> Iterator[tuple[str, list[Value]]]:
    """Yield the id of each session in a database, and its messages."""
    columns = {name for _, name, *_ in database.execute("PRAGMA table_info(messages)")}
    extra = [name if name in columns else "NULL" for name in ("model", "is_summary_message")]
    find = "SELECT DISTINCT session_id FROM messages ORDER BY session_id"
    for (session,) in database.execute(find).fetchall():
        # The names of the columns are those above.
        find = (
            f"SELECT role, parts, {extra[0]}, {extra[1]} FROM messages "  # noqa: S608
            "WHERE session_id = ? ORDER BY created_at, rowid"
        )
        yield (
            session,
            [
                Value(
                    1,
                    {
                        "crush": True,
                        "role": role,
                        "parts": json.loads(parts),
                        "model": model,
                        "is_summary": bool(summary),
                    },
                )
                for role, parts, model, summary in database.execute(find, (session,))
            ],
        )


def is_row(data: Entry) -> bool:
    """Return whether an object is a row as `read_rows` returns it."""
    return data.get("crush") is True


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of one session."""
    summaries = 0
    for value in values:
        role = _ROLES.get(text_at(value.data, "role"))
        if role is None:
            sentence = f"found the role {value.data.get('role')!r} of a message"
            reading.skip_entry(None, sentence, value.data)
            continue
        parts = read_parts(value.data.get("parts"), reading)
        if value.data["is_summary"]:
            summaries += 1
            reading.compact(Message("user", "\n".join(parts.texts)))
            continue
        if role == "assistant":
            reading.use_model(value.data.get("model"))
        for message in parts.messages(role):
            reading.add(message)
    reading.note_own(summaries, "summaries")


FORMAT = Format(
    name="Crush session",
    recognizes=is_row,
    read=read,
    places=(Place((".crush",), "crush.db", in_project=True),),
)
