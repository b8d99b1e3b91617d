import asyncio
import itertools
import runpy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings

from agentic.history.postgres import PostgresStore

MODEL = runpy.run_path(str(Path(__file__).parents[1] / "test_model.py"))
NAMES = (f"s{number}" for number in itertools.count())


# one database serves them all, each with a session of its own
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=MODEL["STEPS"])
def test_server_store_agrees_with_naive_archive(dsn: str, steps: list[Any]) -> None:
    """After any sequence of steps, reopened anywhere, it gives what a replay gives."""
    name = next(NAMES)

    asyncio.run(MODEL["_walk"](steps, lambda: PostgresStore(dsn, name)))
