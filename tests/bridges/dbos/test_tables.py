"""The tables beside the engine's, without an engine."""

from pathlib import Path

from agentic.bridges.dbos._tables import Tables


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
