"""Somebody who only truncates pays for nothing else."""

from collections.abc import Callable

import pytest

_SMALL = ("_base._lazy", "_base._short_repr")
LOADED = "import sys, agentic.truncate; print(*sys.modules)"


@pytest.fixture(scope="module")
def loaded(run_python: Callable[[str], str]) -> set[str]:
    """Return which modules a fresh interpreter has loaded."""
    return set(run_python(LOADED).split())


@pytest.mark.parametrize("name", ["asyncio", "blinker", "json", "logging", "pathlib", "tempfile"])
def test_nothing_heavy_is_loaded(loaded: set[str], name: str) -> None:
    """No event loop, no signals, nothing that attrs does not load."""
    assert name not in loaded


def test_no_other_room_is_loaded(loaded: set[str]) -> None:
    """Of this library only this room, what loads it, and the errors when there is one."""
    ours = {name for name in loaded if name.startswith("agentic.")}

    others = {name for name in ours if not name.startswith("agentic.truncate")}
    assert others <= {f"agentic.{name}" for name in ("_base", *_SMALL, "errors")}
