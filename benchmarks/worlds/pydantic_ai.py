"""Pydantic AI, with a history processor as its documentation shows it and with our capability."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import UsageLimits
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage

from agentic.bridges.pydantic_ai import ContextBudget
from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, texts

__all__ = ["overhead", "ways"]

_MOST, _KEPT = 40, 20
"""Beyond so many messages, the newest are kept and a model summarizes the others."""


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, ours=False), "ours": partial(_talk, ours=True)}


async def _talk(url: str, requests: Iterator[str], *, ours: bool) -> None:
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        budget: Any = ContextBudget[None](WINDOW) if ours else ProcessHistory(_summarizing(model))
        agent = PydanticAgent(model, system_prompt=SYSTEM, capabilities=[budget])

        @agent.tool_plain
        def read(path: str) -> str:
            """Read a file."""
            return output_of(path)

        history: list[Any] = []
        for text in requests:
            with contextlib.suppress(Exception):
                limits = UsageLimits(request_limit=None)
                result = await agent.run(text, message_history=history, usage_limits=limits)
                history = result.all_messages()


def _summarizing(model: Any) -> Any:
    """Return a processor that has the oldest messages summarized, as the documentation shows."""
    summarizer = PydanticAgent(model, instructions="Summarize this conversation.")

    async def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        cut = len(messages) - _KEPT
        if len(messages) <= _MOST:
            return messages
        # A result must not be parted from its call, nor a call from its request.
        while cut > 0 and not any(isinstance(p, UserPromptPart) for p in messages[cut].parts):
            cut -= 1
        if not cut:
            return messages
        done = await summarizer.run(message_history=messages[:cut])
        return [ModelRequest([UserPromptPart(f"Summary: {done.output}")]), *messages[cut:]]

    return process


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    return asyncio.run(_overhead())


async def _overhead() -> float:
    budget = ContextBudget[None](10_000_000)
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(api_key="none"))
    history: list[ModelMessage] = []
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        call = ToolCallPart("read", {"path": path}, f"c{number}")
        history += [ModelRequest([UserPromptPart(text)]), ModelResponse([call])]
        history.append(ModelRequest([ToolReturnPart("read", output, f"c{number}")]))
        if number < 499:
            history.append(ModelResponse([TextPart(reply)]))
            continue
        context = RunContext(
            deps=None, model=model, usage=RunUsage(), messages=history, conversation_id="bench"
        )
        request = ModelRequestContext(
            model=model,
            messages=history.copy(),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        started = time.process_time()
        await budget.before_model_request(context, request)
        spent += time.process_time() - started if number > 499 else 0.0
        history.append(ModelResponse([TextPart(reply)]))
    return spent * 1_000 / 20
