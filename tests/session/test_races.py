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


_CROSS = list(itertools.product(WAYS, RACES["HISTORIES"], RACES["ACTS"]))
# Every fifth of the cross has each way, and each history with each act.
_CASES = [pytest.param(*case, 5) for case in _CROSS[::5]]
_CASES += [pytest.param(*case, 1, marks=pytest.mark.long) for case in _CROSS]


@pytest.mark.parametrize(
    ("way", "history", "act", "step"),
    _CASES,
    ids=lambda value: getattr(value, "__name__", str(value)),
)
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
