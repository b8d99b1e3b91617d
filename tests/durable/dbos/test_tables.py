"""The tables beside the engine's, without an engine."""

import contextlib
import runpy
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic.durable.dbos._tables import Tables, engine_url
from agentic.errors import ConfigError

PARTS = runpy.run_path(str(Path(__file__).with_name("fleet.py")))


def test_service_takes_only_its_own_workers(tmp_path: Path) -> None:
    """Whoever takes over a worker of another agent cannot go on with its runs."""
    tables = Tables(f"sqlite:///{tmp_path}/runs.db")
    tables.create()
    tables.register("worker-of-a", "a", -1.0)
    tables.register("worker-of-b", "b", -1.0)

    assert tables.take_over("a", 60.0) == ["worker-of-a"]
    assert tables.take_over("a", 60.0) == []
    assert tables.take_over("b", 60.0) == ["worker-of-b"]
    tables.close()


def test_forgotten_runs_leave_no_row(tmp_path: Path) -> None:
    """A run that was given up keeps its count of attempts until it is removed."""
    tables = Tables(f"sqlite:///{tmp_path}/runs.db")
    tables.create()
    counts = [tables.count_attempt(run) for run in ("given-up", "given-up", "other")]

    tables.forget_runs(["given-up"])

    assert counts == [1, 2, 1]
    assert [tables.attempts(run) for run in ("given-up", "other")] == [0, 1]
    tables.close()


def test_stopped_writer_does_not_keep_an_event(postgres: Any) -> None:
    """The next attempt at a run stores the same events, and would wait for the one under way."""
    url = PARTS["as_url"](postgres.make_database())
    tables = Tables(engine_url(url), 0.2)
    tables.create()
    store = "INSERT INTO agentic_events (run, key, body) VALUES ('run', 'key', '{}')"
    with tables.engine.connect() as stopped:
        stopped.exec_driver_sql(store)

        tables.add_events("run", [("key", {"type": "turn_start"})])

        assert [body for _, body in tables.events("run", 0)] == [{"type": "turn_start"}]
        stopped.invalidate()
    tables.close()


@pytest.mark.parametrize(
    ("python", "sqlite", "is_refused"),
    [((3, 12, 1), (3, 40, 1), True), ((3, 12, 1), (3, 42, 0), False), ((3, 11), (3, 40), False)],
)
def test_too_old_sqlite_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    python: tuple[int, ...],
    sqlite: tuple[int, ...],
    is_refused: bool,
) -> None:
    """In one sentence, before the engine's first insert fails; PostgreSQL is no matter of it."""
    monkeypatch.setattr(sys, "version_info", python)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", sqlite)

    expected = pytest.raises(ConfigError, match=r"need SQLite 3\.42 or newer on this Python")
    with expected if is_refused else contextlib.nullcontext():
        engine_url("sqlite:////srv/runs.db")
    assert engine_url("postgresql://host/name")
