"""LangChain's agents, with its own `SummarizationMiddleware` and with ours."""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from agentic.bridges.langchain import ContextMiddleware
from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, texts

__all__ = ["overhead", "ways"]


@tool
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, _own), "ours": partial(_talk, _ours)}


def _own(model: Any) -> list[Any]:
    trigger: Any = ("tokens", int(0.8 * WINDOW))
    return [SummarizationMiddleware(model, trigger=trigger, keep=("messages", 20))]


def _ours(_: Any) -> list[Any]:
    return [ContextMiddleware(WINDOW)]


async def _talk(middleware: Any, url: str, requests: Iterator[str]) -> None:
    options: Any = {"model": MODEL, "base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
    model = ChatOpenAI(**options)
    agent: Any = create_agent(
        model,
        [read],
        system_prompt=SYSTEM,
        middleware=middleware(model),
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}, "recursion_limit": 1_000}
    for text in requests:
        with contextlib.suppress(Exception):
            await agent.ainvoke({"messages": [HumanMessage(text)]}, thread)


def overhead() -> float:
    """Return the milliseconds of a turn on top of 2,000 messages, which fit."""
    items: list[Any] = []
    middleware = ContextMiddleware(100_000_000)
    state: Any = {}
    model: Any = ChatOpenAI(model=MODEL, api_key="none")  # type: ignore[arg-type]

    def ask() -> None:
        request = ModelRequest(model=model, messages=items, state=state)
        done = middleware.wrap_model_call(request, lambda _: ModelResponse(result=[]))
        if done.command is not None:
            state.update(done.command.update or {})

    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        call: Any = {"name": "read", "args": {"path": path}, "id": f"c{number}"}
        items = [*items, HumanMessage(text), AIMessage("", tool_calls=[call])]
        items += [ToolMessage(output, tool_call_id=f"c{number}", name="read"), AIMessage(reply)]
        if number < 499:
            continue
        started = time.process_time()
        ask()
        spent += time.process_time() - started if number > 499 else 0.0
    return spent * 1_000 / 20
