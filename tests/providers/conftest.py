"""What the tests of every adapter need: the loop's message, and recorded traffic."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.loop import Decision
from agentic.messages import Message


@pytest.fixture(scope="session")
def as_message() -> Callable[[Decision], Message]:
    """Return what makes the message that the loop makes of a decision."""

    def make(decision: Decision) -> Message:
        return Message(
            "assistant",
            decision.reply,
            reasoning=decision.reasoning,
            tool_calls=decision.tool_calls,
            media=decision.media,
            native=decision.native,
        )

    return make


@pytest.fixture(scope="session")
def traffic(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> Callable[..., list[dict[str, Any]]]:
    """Return what reads the recorded exchanges of these files, or of all files."""

    def read(*names: str) -> list[dict[str, Any]]:
        folder = recorded_path("provider_responses")
        paths = [folder / name for name in names] or sorted(folder.glob("*.jsonl"))
        return [line for path in paths for line in read_lines(path)]

    return read
