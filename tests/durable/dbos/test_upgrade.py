"""Runs that an earlier version began are finished by this one, and by every later one."""

import asyncio
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

COMPAT = Path(__file__).with_name("compat")
WRITE = COMPAT / "agentic-1" / "write.py"
"""What wrote the records of each folder, by the version of its time."""
VERSIONS = sorted(path.parent for path in COMPAT.glob("*/expected.json"))


@pytest.mark.slow
@pytest.mark.parametrize("records", VERSIONS, ids=lambda path: path.name)
def test_runs_in_flight_are_finished(records: Path, tmp_path: Path) -> None:
    """One was killed in the middle of a turn, one waits for an answer, and one was never begun.

    Times, ids and keys are as they were recorded; a call is made again with its former key.
    """
    parts = runpy.run_path(str(WRITE), run_name="write")
    expected = json.loads((records / "expected.json").read_text())
    parts["load"](records, tmp_path)
    again: dict[str, str] = {}

    async def upgrade() -> Any:
        service = parts["open_service"](tmp_path, parts["make_runner"](again.__setitem__))
        async with service, service.worker(), asyncio.timeout(60):
            return await parts["finish"](service, expected["runs"])

    found = {**expected, **asyncio.run(upgrade()), "again": again}

    assert _without_new_times(found) == _without_new_times(expected)


def _without_new_times(found: dict[str, Any]) -> dict[str, Any]:
    histories = [*found["histories"].values(), found["archive"]]
    for message in [message for history in histories for message in history]:
        if message.get("timestamp", "") > found["written"]:
            message["timestamp"] = "later"
        # What a summary begins with, and what a usage says, may change from version to version.
        if "summary" in message:
            message["content"] = message["summary"]["content"]
    for outcome in found["outcomes"].values():
        outcome["usage"].pop("summed", None)
    return found
