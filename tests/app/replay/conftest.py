"""The recorded sessions beside the checkout."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MISSING = object()
ODD = (MISSING, None, [], {}, 5, "x", [[]], [{}], {"type": []})
"""Values that no agent writes where another one belongs."""


@pytest.fixture(scope="session")
def corpus(recorded_path: Callable[[str], Path]) -> Path:
    """Return the folder of recorded sessions, which lies beside the checkout."""
    return recorded_path("transcripts")


@pytest.fixture(scope="session")
def odd_copies() -> Callable[[list[Any], int], Iterator[bytes]]:
    """Return what makes copies of a file, in each of which one value is missing or is another.

    With a step of 3, a place has a third of the odd values, and its neighbours have the others.
    """

    def copies(lines: list[Any], step: int) -> Iterator[bytes]:
        for number, place in enumerate(_places(lines)):
            for odd in ODD[number % step :: step]:
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
