"""Sessions of agentic: the entries of its stores, exports, and messages in plain form.

Of a store's or an export's entries, those that append a message are read: together they are the
archive. Views that replaced it are compactions of the agent's own.
"""

from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._json_values import Damage, Value, objects_at
from agentic.app.replay._reading import Reading
from agentic.errors import ConfigError
from agentic.messages import Message, from_plain
from agentic.providers.kit import text_at

_VIEWS = {"replace", "restore"}


def is_store_entry(data: Entry) -> bool:
    """Return whether an object is an entry of a store.

    >>> is_store_entry({"v": 1, "type": "message", "message": {}})
    True
    >>> is_store_entry({"v": 1, "role": "user"})
    False
    """
    return isinstance(data.get("v"), int) and text_at(data, "type") in {"message", *_VIEWS}


def is_plain(data: Entry) -> bool:
    """Return whether an object is a message in the form of `messages.to_plain`."""
    return isinstance(data.get("v"), int) and isinstance(data.get("role"), str)


def _read_entries(values: Sequence[Value], reading: Reading) -> None:
    views = 0
    for value in values:
        kind = value.data.get("type")
        if kind == "message":
            _add(value.data.get("message"), value.line, reading)
        elif kind == "replace":
            views += 1
            reading.compact(*_view(value.data))
        elif kind == "restore":
            reading.compact(resumes=0)
    reading.note_own(views, "compactions")


def _view(data: Entry) -> list[Message]:
    view = []
    for each in objects_at(data, "messages"):
        try:
            view.append(from_plain(each))
        except ConfigError:
            return []
    return view


def _read_plain(values: Sequence[Value], reading: Reading) -> None:
    for value in values:
        _add(value.data, value.line, reading)


def _add(data: Any, line: int, reading: Reading) -> None:
    try:
        message = from_plain(data)
    except ConfigError as problem:
        reading.skip_damage(Damage(line, str(problem)), data)
        return
    reading.use_model(message.extra.get("model"))
    reading.add(message)


_OWN = (".agentic", "sessions")
STORE = Format(
    name="agentic store",
    recognizes=is_store_entry,
    read=_read_entries,
    places=(
        Place(_OWN, "**/*.jsonl", in_project=True),
        Place(_OWN, "**/*.db", in_project=True),
    ),
)
PLAIN = Format(name="agentic messages", recognizes=is_plain, read=_read_plain)
