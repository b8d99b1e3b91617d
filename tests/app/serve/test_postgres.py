"""Several workers on one PostgreSQL, which also keeps the sessions."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from agentic.app.cli import main

pytestmark = pytest.mark.long
SERVER = Path(__file__).parents[2] / "history" / "postgres" / "server.py"


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database on a real server."""
    parts = runpy.run_path(str(SERVER))
    try:
        running = parts["Server"]().__enter__()
    except parts["Unavailable"] as problem:
        pytest.skip(f"no PostgreSQL: {problem}")
    try:
        of = conninfo_to_dict(running.make_database())
        whom, where = f"{of['user']}:{of['password']}", f"{of['host']}:{of['port']}"
        yield f"postgresql://{whom}@{where}/{of['dbname']}"
    finally:
        running.__exit__()


def test_killed_worker_is_followed_by_another(
    place: Any, database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of three workers one is killed and one stopped: every run ends, and no file is written."""
    (gate := place.folder / "gate").touch()
    server = place.serve("--database", database)
    workers = [place.start("work", "--database", database) for _ in range(2)]
    runs = [server.submit("write notes: 1", session=f"s{number}") for number in range(6)]
    for run_id in runs:
        server.watch_until(run_id, '"turn": 2')
    workers[0].process.kill()
    workers[1].process.terminate()
    gate.unlink()

    replies = [server.watch(run_id).count('"reply": "Done."') for run_id in runs]

    assert replies == [1] * 6
    assert workers[1].process.wait(timeout=60) == 0
    assert main(["sessions", database, "--json"]) == 0
    assert '"s5"' in capfd.readouterr().out
    assert not (place.folder / ".agentic").exists()
    assert database.rpartition("@")[0] not in server.said


def test_an_empty_place_shows_no_password(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The address is repeated, because it may have a mistake."""
    status = main(["context", database])

    said = capfd.readouterr().err
    assert (status, "has no sessions yet" in said) == (1, True)
    assert str(conninfo_to_dict(database)["password"]) not in said
