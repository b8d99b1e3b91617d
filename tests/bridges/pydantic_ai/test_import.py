"""Without its framework, or with one that is too old, the bridge says what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
_IMPORT = "import sys; sys.path[:0] = sys.argv[1:]; import agentic.bridges.pydantic_ai"

pytestmark = pytest.mark.slow


def _last_line(*options: str, path: Path = _ROOT) -> str:
    """Return the last line of what Python says when it imports the bridge."""
    command = [sys.executable, *options, "-c", _IMPORT, str(path), str(_ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    return ended.stderr.strip().rpartition("\n")[2]


def test_missing_framework_names_extra() -> None:
    """The error is the line to type."""
    assert _last_line("-I", "-S") == (
        "ImportError: bridges.pydantic_ai needs pydantic-ai-slim: "
        "pip install 'agentic-weave[pydantic-ai]'"
    )


def test_old_framework_is_refused(tmp_path: Path) -> None:
    """The error names the version found and the one needed."""
    folder = tmp_path / "pydantic_ai_slim-2.63.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: pydantic-ai-slim\nVersion: 2.63.0\n")
    assert _last_line("-I", path=tmp_path) == (
        "ImportError: bridges.pydantic_ai needs pydantic-ai-slim 2.64 or newer, found 2.63.0: "
        "pip install -U pydantic-ai-slim"
    )
