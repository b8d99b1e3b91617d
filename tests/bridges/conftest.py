"""What the tests of several bridges share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.context.budget import Compactor
from agentic.messages import Message

_ROOT = Path(__file__).resolve().parents[2]
_HIDE = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"


@pytest.fixture
def complaint(tmp_path: Path) -> Callable[..., str]:
    """Return what runs a program where a package is too old or missing, and returns its error."""

    def run(program: str, package: str, version: str | None) -> str:
        before = ["import attr, attrs, blinker", _HIDE, f"sys.path.insert(0, {str(_ROOT)!r})"]
        if version is not None:
            before = []
            folder = tmp_path / f"{package.replace('-', '_')}-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n")
        done = subprocess.run(
            [sys.executable, "-c", "; ".join([*before, program])],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )
        assert done.returncode == 1
        return done.stderr.strip().rpartition("\n")[2]

    return run


class _FailingCompactor:
    async def compact(self, messages: list[Message], /) -> str:
        raise OSError("no model")


@pytest.fixture
def failing_compactor() -> Compactor:
    """Return a compactor that never summarizes."""
    return _FailingCompactor()
