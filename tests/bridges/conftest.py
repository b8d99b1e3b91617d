"""What the tests of several bridges share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.context.budget import Compactor
from agentic.messages import Message
from agentic.replay import read_transcripts


@pytest.fixture(scope="session")
def transcripts(recorded_path: Callable[[str], Path]) -> dict[str, list[Message]]:
    """Return the recorded sessions of real agents, by their names."""
    paths = sorted(recorded_path("transcripts").glob("*.jsonl"))
    read = [each for path in paths if path.stem != "index" for each in read_transcripts(path)]
    found = {each.name: list(each.messages) for each in read}
    assert len(found) > 30
    return found


class _FailingCompactor:
    async def compact(self, messages: list[Message], /) -> str:
        raise OSError("no model")


@pytest.fixture
def failing_compactor() -> Compactor:
    """Return a compactor that never summarizes."""
    return _FailingCompactor()
