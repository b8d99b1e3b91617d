"""The example adapter as a reader meets it: run by itself, and quoted by its page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acme-adapter"


def test_the_example_passes_its_own_tests() -> None:
    """`python -m pytest examples/acme-adapter` is what the page says to run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_page_quotes_the_example_verbatim() -> None:
    """A definition that stands on both is the same on both, so that neither grows old."""
    page = (ROOT / "docs" / "how-to" / "write-an-adapter.md").read_text()
    page = page.partition("\n## Write a decider\n")[0]  # that of another provider
    example = (EXAMPLE / "acme.py").read_text()
    quoted = re.findall(r"^def usage.*?\n\n\n", page, re.MULTILINE | re.DOTALL)
    words = re.findall(r'^        "\w+": StopReason\.\w+,\n', page, re.MULTILINE)

    assert len(quoted) == 1
    assert quoted[0] in example
    assert "".join(words) in example


def test_it_is_read_in_ten_minutes() -> None:
    """One file of at most 420 lines, its docstrings included."""
    assert len((EXAMPLE / "acme.py").read_text().splitlines()) <= 420
