"""Runs every Python snippet of the README and the docs, each page in a folder of its own.

Tests marked `corpus` run without coverage: it measures the project's own tests.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

settings.register_profile("agentic", settings(), deadline=None)  # a busy machine is no failure
settings.load_profile("agentic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Trace no test that reads real material: it would take four times as long."""
    for item in items:
        if item.get_closest_marker("corpus"):
            item.add_marker("no_cover")


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[None]:
    """Keep what a page writes out of the checkout."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        yield
        os.chdir(before)


def _start(namespace: dict[str, Any]) -> None:
    namespace["__name__"] = "__main__"


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=_start,
    fixtures=["elsewhere"],
).pytest()
