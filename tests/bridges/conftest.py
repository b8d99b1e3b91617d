"""What the tests of several bridges share."""

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from agentic.app.replay import read_transcripts
from agentic.context.budget import Compactor
from agentic.messages import Message, ToolCall, ToolResult


@pytest.fixture(scope="session")
def transcripts(recorded_path: Callable[[str], Path]) -> dict[str, list[Message]]:
    """Return the recorded sessions of real agents, by their names."""
    paths = sorted(recorded_path("transcripts").glob("*.jsonl"))
    read = [each for path in paths if path.stem != "index" for each in read_transcripts(path)]
    found = {each.name: list(each.messages) for each in read}
    assert len(found) > 30
    return found


@attrs.define
class _Naming:
    """A compactor whose summary names what it stands for, and counts how often it is asked."""

    asked: int = 0
    given: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        self.given += len(messages)
        return f"Summary {self.asked} of {len(messages)} messages."


@pytest.fixture(scope="session")
def naming() -> type[_Naming]:
    """Return a class of compactors that never fail."""
    return _Naming


def _exchange(number: int, *, calls: int = 0, beside: str = "") -> list[Message]:
    made = [Message("user", f"u{number} " + "please " * 12)]
    if calls:
        ids = [f"c{number}_{n}" for n in range(calls)]
        asked = [ToolCall(each, "run", f'{{"n": {number}}}') for each in ids]
        made.append(Message("assistant", f"t{number}", tool_calls=asked))
        output = f"r{number} " + "line " * 20
        made.append(Message("tool", tool_results=[ToolResult(i, "run", output) for i in ids]))
        if beside:
            made.append(Message("user", beside))
    made.append(Message("assistant", f"a{number}" + " done" * 12))
    return made


@pytest.fixture(scope="session")
def exchange() -> Callable[..., list[Message]]:
    """Return what builds a request, its calls, and a reply; every text has its number."""
    return _exchange


class _FailingCompactor:
    async def compact(self, messages: list[Message], /) -> str:
        raise OSError("no model")


@pytest.fixture
def failing_compactor() -> Compactor:
    """Return a compactor that never summarizes."""
    return _FailingCompactor()
