"""Agno, with its own `Compaction` and with the program of our page."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from agno.agent import Agent as AgnoAgent
from agno.compaction import Compaction
from agno.db.in_memory import InMemoryDb
from agno.db.sqlite import SqliteDb
from agno.models.message import Message
from agno.models.openai import OpenAIChat

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, page, texts

__all__ = ["overhead", "ways"]


def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": _own, "ours": _ours}


async def _own(url: str, requests: Iterator[str]) -> None:
    # Its database must store what was compacted, and characters are what the server counts.
    compaction = Compaction(
        compact_at_tokens=int(0.8 * WINDOW), on_context_overflow=True, token_counter=_count
    )
    model = OpenAIChat(id=MODEL, base_url=f"{url}/v1", api_key="none", max_retries=0)
    await _talk(model, requests, db=SqliteDb(db_file=":memory:"), compaction=compaction)


async def _ours(url: str, requests: Iterator[str]) -> None:
    made: Any = type("Model", (page("agno")["Budgeted"], OpenAIChat), {"window": WINDOW})
    model = made(id=MODEL, base_url=f"{url}/v1", api_key="none", max_retries=0)
    await _talk(model, requests, db=InMemoryDb(), num_history_runs=1_000)


async def _talk(model: Any, requests: Iterator[str], **options: Any) -> None:
    agent = AgnoAgent(
        model=model,
        tools=[read],
        instructions=SYSTEM,
        add_history_to_context=True,
        telemetry=False,
        **options,
    )
    for text in requests:
        with contextlib.suppress(Exception):
            agent.run(text, session_id="1")


def _count(messages: Any, tools: Any) -> int:
    return (sum(len(str(each.content)) for each in messages) + len(str(tools))) // 4


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    fit = type("Model", (page("agno")["Budgeted"],), {"window": 100_000_000, "id": MODEL})().fit
    items: list[Message] = []
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        function = {"name": "read", "arguments": f'{{"path": "{path}"}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        items += [Message(role="user", content=text), Message(role="assistant", tool_calls=[call])]
        items.append(Message(role="tool", content=output, tool_call_id=f"c{number}"))
        if number >= 499:
            started = time.process_time()
            fit(items, {})
            spent += time.process_time() - started if number > 499 else 0.0
        items.append(Message(role="assistant", content=reply))
    return spent * 1_000 / 20
