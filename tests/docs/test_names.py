"""The names and files that the docs point to."""

import importlib
import re
from pathlib import Path

import pytest

import agentic

ROOT = Path(agentic.__file__).parents[1]

NAME = re.compile(r"`(agentic(?:\.\w+)+)[^`]*`")
FILE = re.compile(r"agentic/[\w/]+\.py")


def _names(page: str) -> list[str]:
    return NAME.findall((ROOT / page).read_text(encoding="utf-8"))


def _resolve(name: str) -> object:
    """Import as much of a dotted name as is a module, and look up the rest in it."""
    first, *rest = name.split(".")
    found: object = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    return found


def _missing(names: list[str]) -> list[str]:
    missing = []
    for name in names:
        try:
            _resolve(name)
        except (AttributeError, ModuleNotFoundError):
            missing.append(name)
    return missing


def test_a_wrong_name_is_found() -> None:
    """A module, a class or a field that does not exist is reported, and what exists is not."""
    right = ["agentic.truncate.head", "agentic.context.budget.Policy.reserve_tokens"]
    wrong = ["agentic.trim", "agentic.truncate.heads", "agentic.context.budget.Policy.reserves"]

    assert _missing([*right, *wrong]) == wrong


def test_names_for_newcomers_exist() -> None:
    """Every name of this package on the page for users of other systems can be imported."""
    pytest.importorskip("psycopg")
    names = _names("docs/coming-from.md")

    assert len(names) > 100
    assert _missing(names) == []


def test_files_in_the_design_exist() -> None:
    """Every module that the design follows a message through is there."""
    files = FILE.findall((ROOT / "docs" / "design.md").read_text(encoding="utf-8"))

    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).is_file()] == []
