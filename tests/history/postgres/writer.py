"""Write to a session of a database without end, as the writer beside this folder does to a file.

writer.py DSN NUMBER MODE: one step after the other, one acknowledgement a line, until killed.
writer.py DSN SESSION COUNT: so many messages to a session of one's own, then an end.
"""

import asyncio
import os
import runpy
import sys
from pathlib import Path

from agentic.history.postgres import PostgresStore
from agentic.messages import Message

STEPS = runpy.run_path(str(Path(__file__).parents[1] / "writer.py"))


async def write_for_ever(dsn: str, number: int, mode: str) -> None:
    """Take one step after the other, and say so after each."""
    async with PostgresStore(dsn, mode) as store:
        while True:
            await STEPS["take_step"](store, number, mode)
            os.write(sys.stdout.fileno(), b"%d\n" % number)
            number += 1


async def write_some(dsn: str, session_id: str, count: int) -> None:
    """Append to a session that nobody else writes."""
    async with PostgresStore(dsn, session_id) as store:
        for number in range(count):
            await store.append(Message("user", f"{session_id} {number}"))


if __name__ == "__main__":
    if sys.argv[2].isdecimal():
        asyncio.run(write_for_ever(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
    else:
        asyncio.run(write_some(sys.argv[1], sys.argv[2], int(sys.argv[3])))
