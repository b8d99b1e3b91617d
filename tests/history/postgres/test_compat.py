import asyncio
import runpy
from pathlib import Path

import psycopg
import pytest

from agentic.history.postgres import PostgresSessions

COMPAT = Path(__file__).parents[1] / "compat"
DUMPS = sorted(COMPAT.glob("*/postgres.sql"))
PARTS = runpy.run_path(str(COMPAT / "check.py"))


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.parent.name)
def test_databases_of_earlier_versions_are_read(dsn: str, dump: Path) -> None:
    """A dump that an earlier version's tables left is restored, and holds what it held."""
    with psycopg.connect(dsn) as connection:
        connection.execute(dump.read_bytes())

    expected = PARTS["read_expected"](dump.parent)
    asyncio.run(PARTS["check_keys"](PostgresSessions(dsn), expected))
    asyncio.run(PARTS["check"](PostgresSessions(dsn), expected))
