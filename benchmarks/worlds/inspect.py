"""Inspect's agent loop, with its own `CompactionSummary` and with the strategy of our page."""

import asyncio
import contextlib
import time
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionSummary,
    compaction,
    execute_tools,
    get_model,
)
from inspect_ai.tool import ToolCall, tool

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, page, texts

__all__ = ["overhead", "ways"]

_THRESHOLD = int(0.8 * WINDOW)


@tool
def read() -> Any:
    """Read a file."""

    async def execute(path: str) -> str:
        """Read a file.

        Args:
            path: the path
        """
        return output_of(path)

    return execute


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {
        "own": partial(_talk, lambda: CompactionSummary(threshold=_THRESHOLD)),
        "ours": partial(_talk, lambda: page("inspect")["Budget"](WINDOW, threshold=_THRESHOLD)),
    }


async def _talk(strategy: Any, url: str, requests: Iterator[str]) -> None:
    model = get_model(f"openai/{MODEL}", base_url=f"{url}/v1", api_key="none", responses_api=False)
    # Its own counting asks the network for a vocabulary; this is what the server counts.
    model.api.count_text_tokens = _count
    tools = [read()]
    messages: list[Any] = [ChatMessageSystem(content=SYSTEM)]
    compact = compaction(strategy(), prefix=messages, tools=tools, model=model)
    for text in requests:
        messages.append(ChatMessageUser(content=text))
        with contextlib.suppress(Exception):
            while True:
                sent, extra = await compact.compact_input(messages)
                if extra is not None:
                    messages.append(extra)
                output = await model.generate(sent, tools=tools)
                await compact.record_output(sent, output)
                messages.append(output.message)
                results, _ = await execute_tools(messages, tools)
                messages += results
                if not results:
                    break


async def _count(text: str) -> int:
    return len(text) // 4


def overhead() -> float:
    """Return the milliseconds of a compaction of 2,000 messages: Inspect asks for nothing else."""
    budget = page("inspect")["Budget"](100_000)
    items: list[Any] = []
    for number, (text, path, output, reply) in enumerate(texts(500)):
        call = ToolCall(id=f"c{number}", function="read", arguments={"path": path})
        items += [
            ChatMessageUser(content=text),
            ChatMessageAssistant(content="", tool_calls=[call]),
        ]
        items.append(ChatMessageTool(content=output, tool_call_id=f"c{number}", function="read"))
        items.append(ChatMessageAssistant(content=reply))
    model: Any = types.SimpleNamespace(name=MODEL)
    started = time.process_time()
    asyncio.run(budget.compact(model, items, []))
    return (time.process_time() - started) * 1_000
