import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbos", reason="DBOS is not installed: pip install 'agentic-weave[durable]'")

HERE = Path(__file__).parent
POSTGRES = HERE.parents[1] / "history" / "postgres" / "server.py"


@pytest.fixture(scope="session")
def agent() -> dict[str, Any]:
    """The parts of the agent that the tests share with their worker processes."""
    return runpy.run_path(str(HERE / "agent.py"), run_name="agent")


def _serve_postgres() -> Iterator[Any]:
    parts = runpy.run_path(str(POSTGRES))
    try:
        running = parts["Server"]().__enter__()
    except parts["Unavailable"] as problem:
        pytest.skip(f"no PostgreSQL: {problem}")
    try:
        yield running
    finally:
        running.__exit__()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A real server."""
    yield from _serve_postgres()


@pytest.fixture
def own_postgres() -> Iterator[Any]:
    """A server that one test may restart."""
    yield from _serve_postgres()
