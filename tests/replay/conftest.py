"""The recorded sessions beside the checkout, and a browser to look at pages with."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())


@pytest.fixture(scope="session")
def corpus(recorded_path: Callable[[str], Path]) -> Path:
    """Return the folder of recorded sessions, which lies beside the checkout."""
    return recorded_path("transcripts")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start a headless Chromium."""
    pytest.importorskip("aiohttp", reason="the browser is driven by aiohttp")
    spec = importlib.util.spec_from_file_location("browser", ROOT / "docs/pictures/browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with module.Browser(program) as started:
        yield started
