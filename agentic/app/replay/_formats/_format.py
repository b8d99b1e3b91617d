"""What is known of one program's sessions: how they are recognized and read, and where they are."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentic.app.replay._json_values import Value
from agentic.app.replay._reading import Reading

Entry = dict[str, Any]
Split = Callable[[Sequence[Value]], Iterator[tuple[str, Sequence[Value]]]]


@attrs.frozen
class Place:
    """Where a program keeps its sessions."""

    folder: tuple[str, ...]
    """Below the home folder."""
    pattern: str
    """The files in it, as `Path.glob` takes it."""
    variable: str = ""
    """The environment variable that moves the folder."""
    in_project: bool = False
    """Whether the folder is below that in which the program works, not below the home folder."""


@attrs.frozen(kw_only=True)
class SessionFiles:
    """Sessions that are several files."""

    leads: Callable[[Path], bool]
    """Whether a file is one that leads to all of a session."""
    belongs: Callable[[Path], bool]
    """Whether another file leads to this one, which is then no session by itself."""
    read: Callable[[Path], list[Value]]
    """Returns the objects of all files; raises Damage if one of them cannot be read."""


@attrs.frozen(kw_only=True)
class Format:
    """One form of sessions."""

    name: str
    """The name in a report."""
    recognizes: Callable[[Entry], bool]
    """Examines one object of the file."""
    read: Callable[[Sequence[Value], Reading], None]
    """Reads the objects of one conversation; raises Damage if none of it can be read."""
    split: Split | None = None
    """Yields the name and the objects of each conversation, if a file may hold several."""
    places: tuple[Place, ...] = ()


def each_document(key: str, title: str = "") -> Split:
    """Return a split for files that hold documents, each with a list of objects under a key.

    The conversation is named after the value of `title`. The document itself, without the list, is
    the first of its values.
    """

    def split(values: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
        for value in values:
            items = value.data.get(key)
            documents = items if isinstance(items, list) else []
            document = {name: each for name, each in value.data.items() if name != key}
            name = document.get(title) if title else None
            objects = [
                Value(value.line, each if isinstance(each, dict) else {"odd": each})
                for each in documents
            ]
            yield name if isinstance(name, str) else "", [Value(value.line, document), *objects]

    return split
