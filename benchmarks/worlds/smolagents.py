"""smolagents' ToolCallingAgent, without a compaction of its own and with our page's model."""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool
from smolagents.models import ChatMessage, MessageRole

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, section, texts

__all__ = ["overhead", "ways"]


@tool
def read(path: str) -> str:
    """Read a file.

    Args:
        path: The path of the file.
    """
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, lambda model: model), "ours": partial(_talk, _ours)}


def _ours(model: Any) -> Any:
    return section("smolagents")["BudgetModel"](model, WINDOW)


async def _talk(fit: Callable[[Any], Any], url: str, requests: Iterator[str]) -> None:
    model = OpenAIModel(
        MODEL, api_base=f"{url}/v1", api_key="none", client_kwargs={"max_retries": 0}, retry=False
    )
    agent = ToolCallingAgent(
        [read], fit(model), instructions=SYSTEM, verbosity_level=LogLevel.OFF, max_steps=10
    )
    for text in requests:
        with contextlib.suppress(Exception):
            agent.run(text, reset=False)


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    plain = OpenAIModel(MODEL, api_key="none")
    model: Any = section("smolagents")["BudgetModel"](plain, 100_000_000)
    items: list[ChatMessage] = []
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        call = f"Calling tools:\n{{'name': 'read', 'arguments': {{'path': '{path}'}}}}"
        items.append(_message(MessageRole.USER, text))
        items.append(_message(MessageRole.TOOL_CALL, call))
        items.append(_message(MessageRole.TOOL_RESPONSE, output))
        if number >= 499:
            # For each step, it makes new messages from its memory.
            fresh = [ChatMessage(each.role, [dict(each.content[0])]) for each in items]
            started = time.process_time()
            model.fit(fresh, {})
            spent += time.process_time() - started if number > 499 else 0.0
        items.append(_message(MessageRole.ASSISTANT, reply))
    return spent * 1_000 / 20


def _message(role: MessageRole, text: str) -> ChatMessage:
    return ChatMessage(role, [{"type": "text", "text": text}])
