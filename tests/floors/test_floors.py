"""Every extra is tried at its floor and at its newest release by `make test-floors`."""

import importlib
import tomllib
from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def test_each_extra_has_a_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so has the core without any."""
    project = tomllib.loads((_HERE.parents[1] / "pyproject.toml").read_text())["project"]
    monkeypatch.syspath_prepend(_HERE)

    uses = importlib.import_module("uses").USES

    assert uses.keys() == {"core", *project["optional-dependencies"]} - {"all"}
