"""Strands, with its own `SummarizingConversationManager` and with the program of our page."""

import contextlib
import time
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

import strands as sdk
from strands.agent.conversation_manager import SummarizingConversationManager
from strands.models.openai import OpenAIModel

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, page, texts

__all__ = ["overhead", "ways"]


@sdk.tool
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    ours = page("strands")["BudgetManager"]
    return {
        "own": partial(_talk, SummarizingConversationManager),
        "ours": partial(_talk, partial(ours, WINDOW)),
    }


async def _talk(manager: Any, url: str, requests: Iterator[str]) -> None:
    client = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
    model = OpenAIModel(client_args=client, model_id=MODEL)
    agent = sdk.Agent(
        model,
        tools=[read],
        system_prompt=SYSTEM,
        conversation_manager=manager(),
        callback_handler=None,
    )
    for text in requests:
        with contextlib.suppress(Exception):
            await agent.invoke_async(text)


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    manager = page("strands")["BudgetManager"](100_000_000)
    registry = types.SimpleNamespace(get_all_tool_specs=list)
    agent: Any = types.SimpleNamespace(messages=[], system_prompt=SYSTEM, tool_registry=registry)
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        use = {"toolUseId": f"c{number}", "name": "read", "input": {"path": path}}
        result = {"toolUseId": f"c{number}", "status": "success", "content": [{"text": output}]}
        agent.messages += [
            {"role": "user", "content": [{"text": text}]},
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]
        if number >= 499:
            started = time.process_time()
            manager.fit(agent)
            spent += time.process_time() - started if number > 499 else 0.0
        agent.messages.append({"role": "assistant", "content": [{"text": reply}]})
    return spent * 1_000 / 20
