"""What the tests of this bridge share."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic.messages import Message
from agentic.replay import read_transcripts

_NAME = "tests_bridges_pydantic_ai_framework"


@pytest.fixture(scope="session")
def framework() -> Any:
    """Return what the tests of this bridge need of the framework."""
    spec = importlib.util.spec_from_file_location(_NAME, Path(__file__).with_name("framework.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Framework


@pytest.fixture(scope="session")
def transcripts() -> dict[str, list[Message]]:
    """Return the recorded sessions, which lie beside the checkout."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    folder = root.parent / "shared" / "data" / "transcripts"
    if not folder.is_dir():
        pytest.skip("the recorded sessions do not lie beside this checkout")
    return {
        found.name: list(found.messages)
        for path in sorted(folder.glob("*.jsonl"))
        if path.name != "index.jsonl"
        for found in read_transcripts(path)
    }
