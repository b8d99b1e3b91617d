"""Summaries that outlive the proxy: one file for each conversation, in a folder that was named.

A file holds what a `Conversation` keeps between processes (its latest summary, which quotes the
conversation), the hashes by which the conversation is found, and the hash of its credential. Only
the owner of the process can read it.
"""

import json
import logging
import operator
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.history._disk import write_private

_log = logging.getLogger(__name__)
_VERSION = 1
_DAMAGED = (KeyError, OSError, OverflowError, RecursionError, TypeError, ValueError)
"""What it raises to read a file that somebody else wrote, or removes in the same moment."""


@attrs.frozen
class SavedConversation:
    """What a file holds."""

    path: Path
    owner: str
    hashes: list[bytes]
    size: int
    state: Mapping[str, Any]


@attrs.frozen
class StateFolder:
    """A folder of saved conversations, which is made if it does not exist.

    Raises:
        ConfigError: the folder cannot be made or read.
    """

    path: Path

    def __attrs_post_init__(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            list(self.path.iterdir())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            requirement = f"a folder that can be written ({reason})"
            raise ConfigError("store", str(self.path), requirement, "name another one") from error

    def load(self) -> Iterator[SavedConversation]:
        """Yield what was saved, the latest last; a damaged file is passed over with a warning."""
        entries: list[tuple[float, SavedConversation]] = []
        for path in self.path.glob("*.json"):
            try:
                entries.append((path.stat().st_mtime, _read(path)))
            except _DAMAGED as error:
                _log.warning("%s is skipped: %s", path, error)
        yield from (conversation for _, conversation in sorted(entries, key=operator.itemgetter(0)))

    def save(
        self, path: Path | None, owner: str, hashes: list[bytes], size: int, state: Any
    ) -> Path:
        """Write a conversation to its file, a new one if it has none; return the path."""
        plain = {
            "v": _VERSION,
            "owner": owner,
            "hashes": [each.hex() for each in hashes],
            "size": size,
            "state": state,
        }
        path = path or self.path / f"{uuid.uuid4().hex}.json"
        # Not forced to the disk: what a crash of the machine loses is made again.
        write_private(path, json.dumps(plain).encode(), fsync=False)
        return path

    def forget(self, path: Path) -> None:
        """Remove a file; one that stays is found by the next process, and forgotten by it."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("%s is not removed: %s", path, error)


def _read(path: Path) -> SavedConversation:
    plain = json.loads(path.read_bytes())
    if plain["v"] != _VERSION:
        raise ValueError(f"its version is {plain['v']}, not {_VERSION}")
    hashes = [bytes.fromhex(each) for each in plain["hashes"]]
    return SavedConversation(path, plain["owner"], hashes, int(plain["size"]), dict(plain["state"]))
