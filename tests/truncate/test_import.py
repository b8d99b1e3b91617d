"""Somebody who only truncates pays for nothing else."""

import subprocess
import sys

import pytest

from agentic import truncate

LOADED = "import sys, agentic.truncate; print(*sys.modules)"


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Return which modules a fresh interpreter has loaded."""
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("name", ["asyncio", "blinker", "json", "logging", "pathlib", "tempfile"])
def test_nothing_heavy_is_loaded(loaded: set[str], name: str) -> None:
    """No event loop, no signals, nothing that attrs does not load."""
    assert name not in loaded


def test_no_other_room_is_loaded(loaded: set[str]) -> None:
    """Of this library only this room, and the errors when there is one."""
    ours = {name for name in loaded if name.startswith("agentic.")}

    assert {name for name in ours if not name.startswith("agentic.truncate")} <= {"agentic.errors"}


def test_all_is_sorted_and_exact() -> None:
    """What is public is listed, and what is listed is there."""
    public = {name for name in vars(truncate) if not name.startswith("_")}

    assert truncate.__all__ == sorted(truncate.__all__)
    assert set(truncate.__all__) == public
