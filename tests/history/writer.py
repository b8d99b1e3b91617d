"""Write to a session without end, one acknowledgement a line: made to be killed.

What step number N does follows from N and the mode alone, so that whoever killed it can do the same
steps in memory and compare. The mode says what is done most: append, replace or keep. In the mode
"keyed" each step appends with keys, so that any step may be repeated. Both append a whole round of
messages at once at every fourth step.
"""

import asyncio
import os
import sys
from typing import Any

from agentic.errors import NothingToRestore
from agentic.history import JsonlStore
from agentic.history.sqlite import SqliteStore
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


def make_step(number: int) -> list[Message]:
    """Make what a step appends: at every fourth a round, and then a round message by message."""
    start = count_messages(number)
    return [make_message(each) for each in range(start, count_messages(number + 1))]


def count_messages(steps: int) -> int:
    """Return how many messages the first steps append."""
    blocks, place = divmod(steps, 4)
    return 6 * blocks + (place + 2 if place else 0)


def make_output(number: int) -> str:
    """Make an output of a size between some bytes and 2 MB."""
    return f"output {number} \ud83d " + "y" * (number * 7919 % 31 * 64_000)


async def take_step(store: Any, number: int, mode: str = "append") -> None:
    """Do mostly what the mode says, compact every 11th step, and take that back every 97th."""
    if mode == "keyed":
        messages = make_step(number)
        keys = [f"run/{number}/{place}" for place in range(len(messages))]
        await store.append(*messages, key=keys)
    elif number % 97 == 96:
        try:
            await store.restore()
        except NothingToRestore:
            await store.append(make_message(number))
    elif number % 11 == 10 or (mode == "replace" and number % 3):
        history = await store.load()
        await store.replace([Message("system", f"a summary at step {number}"), *history[-4:]])
    elif is_keep(number, mode):
        await store.put(make_output(number))
    elif mode == "append":
        await store.append(*make_step(number))
    else:
        await store.append(make_message(number))


def is_keep(number: int, mode: str) -> bool:
    """Return whether a step keeps an output."""
    return mode == "keep" and number % 97 != 96 and number % 11 != 10 and number % 5 != 0


def open_store(path: str) -> Any:
    """Open a session by the ending of its name: a `.db` is a database. With fsync in it, so."""
    kind = SqliteStore if path.endswith(".db") else JsonlStore
    return kind(path, fsync="fsync" in path)


async def write_for_ever(path: str, number: int, mode: str) -> None:
    """Take one step after the other, and say so after each."""
    async with open_store(path) as store:
        while True:
            await take_step(store, number, mode)
            os.write(sys.stdout.fileno(), b"%d\n" % number)
            number += 1


if __name__ == "__main__":
    asyncio.run(write_for_ever(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
