import itertools
import runpy
from pathlib import Path
from typing import Any

import pytest

from agentic.history.postgres import PostgresStore

RACES = runpy.run_path(str(Path(__file__).parents[2] / "session" / "races.py"))


_WAYS = ("the same store", "another store")
_PAIRS = list(itertools.product(RACES["HISTORIES"], RACES["ACTS"]))
# Each history with each act, by one store or the other in turn.
_CASES = [pytest.param(_WAYS[number % 2], *pair, None) for number, pair in enumerate(_PAIRS)]
_CASES += [pytest.param(by, *pair, 1, marks=pytest.mark.long) for by in _WAYS for pair in _PAIRS]


@pytest.mark.parametrize(
    ("by", "history", "act", "step"),
    _CASES,
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_nothing_is_lost_at_any_moment(
    dsn: str, by: str, history: str, act: Any, step: int | None
) -> None:
    """Whatever is appended or summarized during a summary is in the next view, and archived."""
    numbers = itertools.count()
    # A connection takes hundreds of turns, and each moment of another store makes several.
    step = step or (41 if by == "another store" else 17)

    def make() -> tuple[Any, Any]:
        name = f"s{next(numbers)}"
        other = (lambda: PostgresStore(dsn, name)) if by == "another store" else None
        return PostgresStore(dsn, name), other

    assert RACES["run"](make, RACES["HISTORIES"][history], act, step=step) > 2
