"""Where OpenHands keeps a conversation: one file an event, `events/event-<number>-<id>.json`."""

import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentic.app.replay._formats._format import SessionFiles
from agentic.app.replay._json_values import Damage, Value

_FILE = re.compile(r"event-(\d{1,9})-.*\.json", re.DOTALL)


def is_event_file(path: Path) -> bool:
    """Return whether a path is that of an event; each leads to the whole conversation."""
    return path.parent.name == "events" and bool(_FILE.fullmatch(path.name))


def belongs(path: Path) -> bool:
    """Return whether a path is that of an event which is not the first one of its folder."""
    return is_event_file(path) and path.name != _first_in(path.parent)


@lru_cache(maxsize=1)
def _first_in(folder: Path) -> str:
    # The files of a folder are asked about one after the other.
    return _names_in(folder)[0]


def _names_in(folder: Path) -> list[str]:
    """Return the names of the events in a folder, in order."""
    with os.scandir(folder) as entries:
        names = [each.name for each in entries if _FILE.fullmatch(each.name) and each.is_file()]
    return sorted(names, key=lambda name: (int(name.split("-")[1]), name))


def read_files(path: Path) -> list[Value]:
    """Return the events of the conversation of one of them, in order."""
    return [Value(1, _read_file(path.parent / name)) for name in _names_in(path.parent)]


def _read_file(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise Damage(None, f"{file.name} of this session is not JSON ({problem})") from problem
    return data if isinstance(data, dict) else {}


FILES = SessionFiles(leads=is_event_file, belongs=belongs, read=read_files)
