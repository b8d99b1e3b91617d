"""What a run stores and reads of its session while the database is away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentic.durable.dbos import DbosSteps
from agentic.durable.dbos._log import RunLog
from agentic.errors import HistoryUnavailable
from agentic.messages import Message


class Away:
    """A writer whose database has not answered for as long as one waits."""

    async def read(self, step: Callable[[Any], Awaitable[Any]]) -> Any:
        """Fail."""
        raise HistoryUnavailable("a", "the server is restarting")


def test_output_that_is_away_ends_the_attempt() -> None:
    """It is no failure of the tool: the history would not be that of an undisturbed run."""
    writer: Any = Away()
    log = RunLog(writer, "run", DbosSteps())

    async def read_and_go_on() -> None:
        with pytest.raises(HistoryUnavailable):
            await log.get("ref")
        await log.append(Message("tool"))

    with pytest.raises(HistoryUnavailable):
        asyncio.run(read_and_go_on())
    assert log.view == []
