"""Haystack's Agent, with its own `CompactionHook` and with the hook of our page's section."""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
from haystack.components.agents import Agent as HaystackAgent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SummarizationCompactor
from haystack.tools import tool
from haystack.utils import Secret

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, section, texts

__all__ = ["overhead", "ways"]


@tool
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, _own), "ours": partial(_talk, _ours)}


def _own(model: Any) -> Any:
    return CompactionHook(SummarizationCompactor(model), context_window=WINDOW)


def _ours(_: Any) -> Any:
    return section("Haystack")["BudgetHook"](WINDOW, [read])


async def _talk(make: Callable[[Any], Any], url: str, requests: Iterator[str]) -> None:
    model = OpenAIChatGenerator(
        api_key=Secret.from_token("none"), model=MODEL, api_base_url=f"{url}/v1", max_retries=0
    )
    agent = HaystackAgent(
        chat_generator=model,
        tools=[read],
        system_prompt=SYSTEM,
        hooks={"before_llm": [make(model)]},
    )
    messages: list[ChatMessage] = []
    for text in requests:
        with contextlib.suppress(Exception):
            result = agent.run(messages=[*messages, ChatMessage.from_user(text)])
            # The agent puts its prompt before the messages itself.
            messages = [each for each in result["messages"] if each.role.value != "system"]


@attrs.define(eq=False)
class _State:
    data: dict[str, Any]


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    hook = section("Haystack")["BudgetHook"](100_000_000, [read])
    items: list[ChatMessage] = []
    state, spent = _State({"messages": items}), 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        call = ToolCall("read", {"path": path}, id=f"c{number}")
        items += [ChatMessage.from_user(text), ChatMessage.from_assistant(tool_calls=[call])]
        items.append(ChatMessage.from_tool(output, call))
        if number >= 499:
            started = time.process_time()
            hook.run(state)
            spent += time.process_time() - started if number > 499 else 0.0
        items.append(ChatMessage.from_assistant(reply))
    return spent * 1_000 / 20
