"""The recorded sessions beside the checkout, and a browser to look at pages with."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MISSING = object()
ODD = (MISSING, None, [], {}, 5, "x", [[]], [{}], {"type": []})
"""Values that no agent writes where another one belongs."""
ROOT = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())


@pytest.fixture(scope="session")
def corpus(recorded_path: Callable[[str], Path]) -> Path:
    """Return the folder of recorded sessions, which lies beside the checkout."""
    return recorded_path("transcripts")


@pytest.fixture(scope="session")
def odd_copies() -> Callable[[list[Any]], Iterator[bytes]]:
    """Return what makes copies of a file, in each of which one value is missing or is another."""

    def copies(lines: list[Any]) -> Iterator[bytes]:
        for place in _places(lines):
            for odd in ODD:
                copied = json.loads(json.dumps(lines))
                holder = copied
                for key in place[:-1]:
                    holder = holder[key]
                holder[place[-1]] = odd
                if odd is MISSING:
                    del holder[place[-1]]
                yield b"".join(json.dumps(line).encode() + b"\n" for line in copied)

    return copies


def _places(value: Any) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, each in value.items() if isinstance(value, dict) else ():
        yield (key,)
        yield from ((key, *rest) for rest in _places(each))


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
