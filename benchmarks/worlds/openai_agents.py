"""The OpenAI Agents SDK, with its own limit of a session's items and with ours."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from agents import Agent as SdkAgent
from agents import (
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    function_tool,
)
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI

from agentic.bridges.openai_agents import InputFilter, StoreSession
from agentic.history import MemoryStore
from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, texts

__all__ = ["overhead", "ways"]

_LIMIT = 16


@function_tool
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, ours=False), "ours": partial(_talk, ours=True)}


async def _talk(url: str, requests: Iterator[str], *, ours: bool) -> None:
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        model = OpenAIChatCompletionsModel(MODEL, client)
        agent: Any = SdkAgent(name="reader", instructions=SYSTEM, model=model, tools=[read])
        budget = InputFilter(WINDOW) if ours else None
        session: Any = StoreSession(MemoryStore())
        if budget is None:
            session = SQLiteSession("own", session_settings=SessionSettings(limit=_LIMIT))
        config = RunConfig(call_model_input_filter=budget, tracing_disabled=True)
        hooks: Any = {"hooks": budget.hooks} if budget else {}
        for text in requests:
            with contextlib.suppress(Exception):
                await Runner.run(agent, text, session=session, run_config=config, **hooks)


def overhead() -> float:
    """Return the milliseconds of a turn on top of 2,000 items, which fit."""
    return asyncio.run(_overhead())


async def _overhead() -> float:
    budget, agent = InputFilter(10_000_000), SdkAgent(name="reader")
    items: list[dict[str, Any]] = []
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        arguments = f'{{"path": "{path}"}}'
        call = {"type": "function_call", "call_id": f"c{number}", "name": "read"}
        items.append({"role": "user", "content": text})
        items.append({**call, "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": output})
        items.append({"role": "assistant", "content": reply})
        if number < 499:
            continue
        # The framework makes new dicts of what a run generated, so nothing is found by identity.
        fresh: Any = [dict(item) for item in items]
        started = time.process_time()
        await budget(CallModelData(ModelInputData(fresh, SYSTEM), agent, None))
        spent += time.process_time() - started if number > 499 else 0.0
    return spent * 1_000 / 20
