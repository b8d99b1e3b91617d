"""Microsoft's Agent Framework, with its own compaction by window and with our page's program."""

import asyncio
import contextlib
import time
import types
from collections.abc import Iterator
from typing import Any

import agent_framework as sdk
from agent_framework import ContextWindowCompactionStrategy
from agent_framework_openai import OpenAIChatCompletionClient

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, section, texts

__all__ = ["overhead", "ways"]


@sdk.tool(approval_mode="never_require")
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": _own, "ours": _ours}


async def _own(url: str, requests: Iterator[str]) -> None:
    strategy = ContextWindowCompactionStrategy(
        max_context_window_tokens=WINDOW, max_output_tokens=WINDOW // 4
    )
    await _talk(url, requests, compaction_strategy=strategy)


async def _ours(url: str, requests: Iterator[str]) -> None:
    middleware = section("Microsoft Agent Framework")["BudgetMiddleware"](WINDOW)
    await _talk(url, requests, middleware=[middleware])


async def _talk(url: str, requests: Iterator[str], **options: Any) -> None:
    client = OpenAIChatCompletionClient(model=MODEL, base_url=f"{url}/v1", api_key="none")
    agent = sdk.Agent(client=client, instructions=SYSTEM, tools=[read], **options)
    session = agent.create_session()
    for text in requests:
        with contextlib.suppress(Exception):
            await agent.run(text, session=session)


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    return asyncio.run(_overhead())


async def _overhead() -> float:
    middleware = section("Microsoft Agent Framework")["BudgetMiddleware"](100_000_000)
    items: list[Any] = []
    content, spent = sdk.Content, 0.0

    async def call_next() -> None: ...

    for number, (text, path, output, reply) in enumerate(texts(520)):
        call = content.from_function_call(f"c{number}", "read", arguments=f'{{"path": "{path}"}}')
        result = content.from_function_result(f"c{number}", result=output)
        items += [sdk.Message("user", [content.from_text(text)]), sdk.Message("assistant", [call])]
        items.append(sdk.Message("tool", [result]))
        if number >= 499:
            context = types.SimpleNamespace(messages=items, options={}, session=None)
            started = time.process_time()
            await middleware.process(context, call_next)
            spent += time.process_time() - started if number > 499 else 0.0
        items.append(sdk.Message("assistant", [content.from_text(reply)]))
    return spent * 1_000 / 20
