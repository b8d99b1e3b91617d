import itertools
from pathlib import Path
from typing import Any

import pytest

from agentic import testing
from agentic.history import Archive, JsonlSessions, OutputStore, Sessions
from agentic.history.postgres import PostgresSessions, PostgresStore


@pytest.mark.parametrize("fsync", [False, True])
def test_the_store_keeps_its_promises(dsn: str, *, fsync: bool) -> None:
    """PostgresStore passes the contract suite, and passes it opened again."""
    names = (f"s{number}" for number in itertools.count())

    testing.check_store(
        lambda: PostgresStore(dsn, next(names), fsync=fsync),
        reopen=lambda store: PostgresStore(dsn, store.session_id, fsync=fsync),
    )


def test_session_database_keeps_its_promises(
    server: Any, databases: list[str], tmp_path: Path
) -> None:
    """PostgresSessions passes the contract suite, and changes sessions with a folder."""
    places = itertools.cycle(databases)
    folders = (tmp_path / str(number) for number in itertools.count())

    testing.check_sessions(
        lambda: PostgresSessions(server.empty(next(places))),
        other=lambda: JsonlSessions(next(folders)),
    )


def test_what_is_looked_for_is_found(dsn: str) -> None:
    """A budget, an undo and a recall tool find the protocols that they ask for."""
    assert isinstance(PostgresStore(dsn), Archive)
    assert isinstance(PostgresStore(dsn), OutputStore)
    assert isinstance(PostgresSessions(dsn), Sessions)
