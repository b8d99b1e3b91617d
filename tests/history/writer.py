"""Write to a session without end, one acknowledgement a line: made to be killed.

What step number N does follows from N alone, so that whoever killed it can do the same steps in
memory and compare.
"""

import asyncio
import os
import sys

from agentic.errors import NothingToRestore
from agentic.history import Archive, JsonlStore
from agentic.messages import Message, ToolCall, ToolResult


def make_message(number: int) -> Message:
    """Make a message of a size between some bytes and 600 KB, some of them calls and results."""
    text = f"{number} \ud83d " + "x" * (number * 7919 % 31 * 20_000 if number % 5 == 0 else 40)
    call_id = f"c{number // 3}"
    match number % 3:
        case 0:
            return Message("user", text)
        case 1:
            return Message("assistant", text, tool_calls=[ToolCall(call_id, "run")])
        case _:
            return Message("tool", tool_results=[ToolResult(call_id, "run", text)])


async def take_step(store: Archive, number: int) -> None:
    """Append most of the time, compact every 11th step, and take that back every 97th."""
    if number % 97 == 96:
        try:
            await store.restore()
        except NothingToRestore:
            await store.append(make_message(number))
    elif number % 11 == 10:
        history = await store.load()
        await store.replace([Message("system", f"a summary at step {number}"), *history[-4:]])
    else:
        await store.append(make_message(number))


async def write_for_ever(path: str, number: int) -> None:
    """Take one step after the other, and say so after each. A path with fsync in it gets one."""
    async with JsonlStore(path, fsync="fsync" in path) as store:
        while True:
            await take_step(store, number)
            os.write(sys.stdout.fileno(), b"%d\n" % number)
            number += 1


if __name__ == "__main__":
    asyncio.run(write_for_ever(sys.argv[1], int(sys.argv[2])))
