"""A process that writes a session until it is told to stop: the session's file is its argument."""

import asyncio
import sys

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.history import JsonlStore
from agentic.messages import Message
from agentic.session import Session
from agentic.tokens import CharCounter


async def _write(path: str) -> None:
    store, policy = JsonlStore(path), Policy(0)
    async with Session(
        "s", store, counter=CharCounter(), policy=policy, compactor=Digest()
    ) as session:
        await session.append(Message("user", "Mine."))
        print("writing", flush=True)  # noqa: T201
        sys.stdin.readline()


if __name__ == "__main__":
    asyncio.run(_write(sys.argv[1]))
