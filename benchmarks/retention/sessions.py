"""Recorded sessions: where they lie, how they are read, and which half and family each is of."""

import zlib
from functools import cached_property
from pathlib import Path

import attrs

from agentic.cli.replay import read_transcripts, speaks_in_text
from agentic.messages import Message, leading_system_count

__all__ = ["Session", "read_sessions"]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
LEAST_MESSAGES, LEAST_SHORT = 100, 20


@attrs.define(slots=False)
class Session:
    """One recorded conversation, without the system messages at its start."""

    name: str
    messages: list[Message]

    @property
    def family(self) -> str:
        """The agent that made it: the first part of the file's name."""
        return self.name.partition("_")[0]

    @property
    def half(self) -> str:
        """What it is for, by a checksum of its name: `tune` or `check`."""
        return ("tune", "check")[zlib.crc32(self.name.encode()) & 1]

    @property
    def is_long(self) -> bool:
        """Whether it has the hundred messages that the main table asks for."""
        return len(self.messages) >= LEAST_MESSAGES

    @cached_property
    def speaks_in_text(self) -> bool:
        """Whether actions stand in the replies, and outputs come back as user messages."""
        return speaks_in_text(self.messages)


def read_sessions(folder: Path = FOLDER) -> list[Session]:
    """Read every session of some length; none where the folder is absent."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.name != "index.jsonl"]
    sessions = [Session(path.stem, _read(path)) for path in paths]
    return [session for session in sessions if len(session.messages) >= LEAST_SHORT]


def _read(path: Path) -> list[Message]:
    """Read a session without its thinking, which no provider is sent again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    return messages[leading_system_count(messages) :]
