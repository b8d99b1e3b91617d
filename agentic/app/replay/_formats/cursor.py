"""Transcripts of Cursor, which are refused: they hold what was said, and no result of any tool.

`~/.cursor/projects/<project>/agent-transcripts/<id>.jsonl`: a role, and a `message` with blocks of
text and calls alone, as readers of others describe it (2026-11).
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Damage, Value, objects_at
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at


def is_line(data: Entry) -> bool:
    """Return whether an object is a line of a transcript of Cursor.

    >>> is_line({"role": "user", "message": {"content": [{"type": "text", "text": "Hi."}]}})
    True
    """
    is_said = text_at(data, "role") in {"user", "assistant"} and "content" not in data
    return is_said and bool(objects_at(data, "message", "content"))


def read(_values: Sequence[Value], _reading: Reading) -> None:
    """Refuse the transcript."""
    message = "found a transcript of Cursor: Cursor's transcripts hold no results"
    raise Damage(None, f"{message}, so nothing can be said about its requests")


FORMAT = Format(name="Cursor transcript", recognizes=is_line, read=read)
