"""How many connections a busy worker has: a server allows 100 by default, for all workers."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentic.durable.dbos import Service
from agentic.history.postgres import PostgresSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall
from agentic.testing import ScriptedExecutor

PARTS = runpy.run_path(str(Path(__file__).with_name("fleet.py")))
COUNT = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
pytestmark = pytest.mark.long


class Busy:
    """A model that calls many tools at once."""

    async def decide(self, request: Input, /) -> Decision:
        """Do it in four turns."""
        calls = [ToolCall("", "look", "{}") for _ in range(10)]
        return Decision("Done.", calls if request.turn < 5 else [])


def test_four_busy_workers_fit_a_server(postgres: Any) -> None:
    """One has a quarter of the connections, however much it does at once."""
    dsn = postgres.make_database()
    url = PARTS["as_url"](dsn)
    agent = Runner(Busy(), ScriptedExecutor({"look": "it"}))
    most = 0

    async def serve() -> None:
        nonlocal most
        service = Service(agent, sessions=PostgresSessions(url), database_url=url)
        with psycopg.connect(dsn, autocommit=True) as watcher:
            async with service, service.worker():
                runs = [await service.submit(f"s{number}", "look") for number in range(40)]
                waiting = asyncio.gather(*(service.result(run) for run in runs))
                while not waiting.done():
                    row = watcher.execute(COUNT).fetchone()
                    most = max(most, (row[0] if row else 0) - 1)
                    await asyncio.sleep(0.02)
                assert {each.state for each in await waiting} == {"done"}

    asyncio.run(serve())

    assert 10 < most <= (100 - 3) // 4  # three are reserved for administrators
