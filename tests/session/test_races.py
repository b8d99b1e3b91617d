import itertools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore

pytestmark = pytest.mark.slow

RACES = runpy.run_path(str(Path(__file__).with_name("races.py")))
STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda _: MemoryStore(),
    "jsonl": lambda path: JsonlStore(f"{path}.jsonl"),
    "jsonl, fsync": lambda path: JsonlStore(f"{path}.jsonl", fsync=True),
    "sqlite": lambda path: SqliteStore(path.with_name("a.db"), path.name),
    "sqlite, fsync": lambda path: SqliteStore(path.with_name("a.db"), path.name, fsync=True),
}
WAYS = [(kind, False) for kind in STORES] + [(kind, True) for kind in STORES if kind != "memory"]
"""The kind of store, and whether another one on the same session disturbs it."""


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("act", RACES["ACTS"], ids=lambda act: act.__name__)
@pytest.mark.parametrize("history", RACES["HISTORIES"])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nothing_is_lost_at_any_moment(
    tmp_path: Path, way: tuple[str, bool], history: str, act: Any, step: int
) -> None:
    """Whatever is appended or summarized during a summary is in the next view, and archived."""
    kind, by_another = way
    numbers = itertools.count()

    def make() -> tuple[Any, Any]:
        path = tmp_path / f"s{next(numbers)}"
        return STORES[kind](path), (lambda: STORES[kind](path)) if by_another else None

    step = 1 if kind == "memory" else step
    assert RACES["run"](make, RACES["HISTORIES"][history], act, step=step) > 2
