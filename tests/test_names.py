"""The names that the design and the rows promise can be imported from where they say."""

import ast
import importlib
from pathlib import Path

import pytest

_PAGE = ast.parse(Path(__file__).with_name("typing").joinpath("names.py").read_text())
_MODULES = {
    alias.asname or alias.name: f"{node.module}.{alias.name}"
    for node in ast.walk(_PAGE)
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
_NAMES = [
    (_MODULES[node.value.id], node.attr)
    for node in ast.walk(_PAGE)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
]


def test_the_list_is_read() -> None:
    """It has the names of every room, and each of them once."""
    assert {room.split(".")[1] for room, _ in _NAMES} >= {"truncate", "events", "loop", "compat"}
    assert len(_NAMES) == len(set(_NAMES)) > 200


def test_every_promised_name_is_there() -> None:
    """From the room itself, whether or not the room lists it."""
    pytest.importorskip("psycopg")

    assert [
        (room, name) for room, name in _NAMES if not hasattr(importlib.import_module(room), name)
    ] == []
