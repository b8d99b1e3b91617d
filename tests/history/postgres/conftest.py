import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PARTS = runpy.run_path(str(Path(__file__).with_name("server.py")))


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """A real server, for all tests of this folder."""
    try:
        running = PARTS["Server"]().__enter__()
    except PARTS["Unavailable"] as problem:
        pytest.skip(f"no PostgreSQL: {problem}")
    try:
        yield running
    finally:
        running.__exit__()


@pytest.fixture(scope="session")
def databases(server: Any) -> list[str]:
    """The addresses of a few databases, in whatever state."""
    return [server.make_database() for _ in range(4)]


@pytest.fixture
def dsn(server: Any, databases: list[str]) -> str:
    """The address of an empty database."""
    return str(server.empty(databases[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a server of its own out of what `make quick` runs."""
    for item in items:
        if (
            "server" in getattr(item, "fixturenames", ())
            and Path(__file__).parent in item.path.parents
        ):
            item.add_marker("slow")
