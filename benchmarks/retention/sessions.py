"""Recorded sessions: where they lie, how they are read, and which of them are held out."""

import json
import zlib
from pathlib import Path

import attrs

from agentic.messages import Message, leading_system_count
from agentic.replay import read_transcripts
from benchmarks.retention.facts.transcript import Raw

__all__ = ["Session", "read_sessions"]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
LEAST_MESSAGES = 100


@attrs.define
class Session:
    """One recorded conversation, without the system messages at its start."""

    name: str
    messages: list[Message]
    raw: list[Raw]
    """The same messages as they lie in the file."""

    @property
    def family(self) -> str:
        """The agent that made it: the first part of the file's name."""
        return self.name.partition("_")[0]

    @property
    def is_held_out(self) -> bool:
        """Whether it is of the third that is looked at only at the end.

        That is so if the CRC-32 of the file's name can be divided by three.
        """
        return zlib.crc32(f"{self.name}.jsonl".encode()) % 3 == 0

    @property
    def is_long(self) -> bool:
        """Whether it has the hundred messages that the main table asks for."""
        return len(self.messages) >= LEAST_MESSAGES


def read_sessions(folder: Path = FOLDER) -> list[Session]:
    """Read every session; none where the folder is absent."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.name != "index.jsonl"]
    return [_read(path) for path in paths]


def _read(path: Path) -> Session:
    """Read a session without its thinking, which no provider is sent again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    raw = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    if len(raw) != len(messages):
        raise ValueError(f"{path.name}: {len(raw)} lines make {len(messages)} messages")
    start = leading_system_count(messages)
    return Session(path.stem, messages[start:], raw[start:])
