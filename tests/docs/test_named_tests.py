"""The tests that a decision names as its proof are there."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "design" / "tests.md"
_NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", _PAGE.read_text("utf-8"))


@pytest.mark.parametrize(("path", "name"), _NAMED)
def test_named_test_is_there(path: str, name: str) -> None:
    """A test that is renamed or removed has to be so in the table, too."""
    assert re.search(rf"def {name}\(", (_ROOT / path).read_text("utf-8"))
