"""Which versions of LangChain are accepted, and what is said of others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_IMPORT = "import agentic.bridges.langchain"


def _import(*before: str, path: Path | None = None) -> str:
    """Return the last line that a process without the bridge's cache prints as it imports it."""
    program = "; ".join([*before, _IMPORT, "print('imported')"])
    places = {"PYTHONPATH": str(path)} if path else {}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **places},
    )
    return (done.stdout + done.stderr).strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.0", "ImportError: bridges.langchain needs langchain 1.2.10 or newer, found 1.0.0:"),
        ("0.3.27", "ImportError: bridges.langchain needs langchain 1.2.10 or newer, found 0.3.27:"),
        ("1.2.10", "imported"),
        ("2.0.0rc1", "imported"),
    ],
)
def test_an_old_version_is_refused(tmp_path: Path, version: str, expected: str) -> None:
    """One sentence: the version found, the one needed, and how to get it."""
    folder = tmp_path / f"langchain-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: langchain\nVersion: {version}\n"
    )

    said = _import(path=tmp_path)

    assert said.startswith(expected)
    assert said == "imported" or said.endswith(": pip install -U langchain")


def test_an_absent_one_is_named() -> None:
    """With the extra that brings it."""
    hide = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"
    package = f"sys.path.insert(0, {str(Path(__file__).resolve().parents[3])!r})"

    said = _import("import attr, attrs, blinker", hide, package)

    assert said == (
        "ImportError: bridges.langchain needs langchain: pip install 'agentic-weave[langchain]'"
    )
