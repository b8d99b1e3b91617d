"""What the tests of several rooms need: real material, JSON lines, a conversation that grows."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message, ToolCall, ToolResult


@pytest.fixture(scope="session")
def recorded_path() -> Callable[[str], Path]:
    """Return what finds a file or folder of real material, which lies beside the checkout."""
    data = Path(__file__).resolve().parents[2] / "shared" / "data"

    def find(name: str) -> Path:
        if not (data / name).exists():
            pytest.skip(f"{name} does not lie beside this checkout")
        return data / name

    return find


@pytest.fixture(scope="session")
def read_lines() -> Callable[[Path], list[Any]]:
    """Return what reads a file of JSON lines."""

    def read(path: Path) -> list[Any]:
        # Not splitlines(): a JSON string may hold the other ends of lines that it knows.
        return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]

    return read


class CountingCounter:
    """Counts characters, and how often it was asked for each text."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def count(self, text: str, /) -> int:
        """Return the number of characters."""
        self.asked[text] += 1
        return len(text)


@pytest.fixture
def counter() -> CountingCounter:
    """Return a counter of characters that knows what it was asked, in `asked`."""
    return CountingCounter()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write JSON values into a file, one a line; bytes as they are."""

    def written(lines: Iterable[Any] | bytes, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        if not isinstance(lines, bytes):
            lines = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        path.write_bytes(lines)
        return path

    return written


@pytest.fixture
def talk() -> Callable[..., list[Message]]:
    """Make a conversation: a system prompt, a task, and turns that read a file each."""

    def make(turns: int, *, words: int = 200) -> list[Message]:
        messages = [Message("system", "You mend code."), Message("user", "Mend src/parser_0.py.")]
        for number in range(turns):
            path = f"src/parser_{number}.py"
            output = f"{path} imports src/parser_{number + 1}.py\n" + "def parse(text):\n" * words
            call = ToolCall(f"c{number}", "read", json.dumps({"path": path}))
            messages += [
                Message("assistant", f"I read {path}.", tool_calls=[call]),
                Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
            ]
        return [*messages, Message("assistant", "Done.")]

    return make
