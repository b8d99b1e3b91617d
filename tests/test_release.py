"""What `make release` refuses before anything is built."""

import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).with_name("release.py")))
MODULE, CHANGELOG = '__version__ = "1.2.0"', "# Changelog\n\n## 1.2.0, 2027-01-31\n\n## 1.1.0\n"


def test_a_dated_committed_version_may_be_released() -> None:
    """Nothing is complained about."""
    assert list(SCRIPT["find_mistakes"]("1.2.0", MODULE, CHANGELOG, "")) == []


@pytest.mark.parametrize(
    ("module", "changelog", "status", "mistake"),
    [
        ('__version__ = "1.1.0"', CHANGELOG, "", "another version than pyproject.toml"),
        (MODULE, "## 1.2.0, unreleased\n", "", "begins with '1.2.0, unreleased'"),
        (MODULE, "## 1.3.0, 2027-01-31\n", "", "write '1.2.0, YEAR-MONTH-DAY'"),
        (MODULE, "", "", "begins with 'no heading'"),
        (MODULE, CHANGELOG, " M README.md\n", "not everything is committed"),
    ],
)
def test_a_mistake_is_named(module: str, changelog: str, status: str, mistake: str) -> None:
    """One sentence each."""
    (sentence,) = SCRIPT["find_mistakes"]("1.2.0", module, changelog, status)

    assert mistake in sentence
