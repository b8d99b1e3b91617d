"""Sessions of Factory's Droid: `~/.factory/sessions/<project>/<session>.jsonl`.

The maker does not document the format. Readers of others describe it, such as
https://github.com/Dicklesworthstone/coding_agent_session_search (connectors/factory.rs) and the
type definitions of https://github.com/ain3sh/systemzero (2026-11): a `session_start` line, and
`message` lines whose `message` has a role and Anthropic's blocks. `todo_state` and `session_end`
lines were never sent; a `compaction_state` holds the summary that the next request began with, and
names the last message that it covers in `anchorMessage`.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats.apis import read_blocks
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import text_at

_ROLES = {"user", "assistant"}
_BLOCKS = {"tool_use", "tool_result"}
_SILENT = {"session_start", "todo_state", "session_end", "settings", "agent_turn_outcome"}


def is_line(data: Entry) -> bool:
    """Return whether an object is a line of a session of Droid.

    >>> is_line({"type": "session_start", "id": "s1", "title": "Read", "cwd": "/src"})
    True
    """
    if data.get("type") == "session_start":
        return True
    blocks = objects_at(data, "message", "content") if data.get("type") == "message" else []
    return "v" not in data and any(text_at(block, "type") in _BLOCKS for block in blocks)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages in the order of the file."""
    ends: dict[str, int] = {}
    compactions = 0
    for value in values:
        kind, message = text_at(value.data, "type"), value.data.get("message")
        if kind == "message" and text_at(message, "role") in _ROLES and isinstance(message, dict):
            read_blocks([message], [None], reading)
            ends[text_at(value.data, "id")] = len(reading.messages)
        elif kind == "compaction_state":
            compactions += 1
            data = value.data
            summary = text_at(data, "summaryText") or text_at(data, "summary")
            # What follows the anchor is sent behind the summary.
            anchor = ends.get(text_at(data, "anchorMessage", "id"))
            if summary:
                reading.compact(Message("user", summary), resumes=anchor)
        elif kind == "message":
            role = text_at(message, "role")
            reading.skip_entry(value.line, f"found the role {role!r} of a message", value.data)
        elif kind not in _SILENT:
            reading.skip(f"line of the type {kind!r}", value.data)
    reading.note_own(compactions, "compactions")


FORMAT = Format(
    name="Droid session",
    recognizes=is_line,
    read=read,
    places=(Place((".factory",), "sessions/**/*.jsonl"),),
)
