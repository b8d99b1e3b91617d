"""Recorded sessions: where they lie, how they are read, and which of them are held out."""

import json
import re
import zlib
from pathlib import Path

import attrs

from agentic.app.replay import read_transcripts
from agentic.messages import Message, leading_system_count
from benchmarks.retention.facts.transcript import Raw

__all__ = ["Session", "read_session", "read_sessions"]

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
LEAST_MESSAGES = 100
_STATED = re.compile(
    r"<returncode>(-?\d+)</returncode>\n?(?:<output>\n?)?(.*?)(?:</output>)?\Z", re.DOTALL
)
"""How mini-swe-agent shows an exit code and an output."""


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

    def write_flagged(self, path: Path) -> None:
        """Write the session with exit codes as Claude Code stores them: a flag, and a caption."""
        lines = [json.dumps(_flagged(message), ensure_ascii=False) for message in self.raw]
        path.write_text("\n".join(lines) + "\n", "utf-8")


def _flagged(message: Raw) -> Raw:
    stated = _STATED.match(str(message.get("content"))) if message.get("role") == "tool" else None
    if not stated:
        return message
    code, output = stated[1], stated[2]
    failed = code != "0"
    content = f"Exit code {code}\n{output}" if failed else output
    return {**message, "content": content, "x_is_error": failed}


def read_sessions(folder: Path = FOLDER) -> list[Session]:
    """Read every session; none where the folder is absent."""
    paths = [path for path in sorted(folder.glob("*.jsonl")) if path.name != "index.jsonl"]
    return [read_session(path) for path in paths]


def read_session(path: Path) -> Session:
    """Read a session without its thinking, which no provider is sent again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    raw = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    if len(raw) != len(messages):
        raise ValueError(f"{path.name}: {len(raw)} lines make {len(messages)} messages")
    start = leading_system_count(messages)
    return Session(path.stem, messages[start:], raw[start:])
