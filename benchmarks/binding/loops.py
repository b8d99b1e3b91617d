"""The package's own loop: Runner and Session, on the adapters and on LiteLLM, by the real SDKs."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from agentic.context.budget import Manager
from agentic.context.compactors import Digest
from agentic.errors import AgenticError
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.loop import Runner
from agentic.providers import anthropic, openai_chat, openai_responses
from agentic.session import Session
from agentic.tools import Registry, tool
from benchmarks.binding._case import COUNTER, Case, Entry, output_of, requests

__all__ = ["ENTRIES"]

_SYSTEM = "You read files, and say what they do. Be brief."
_REPLY_TOKENS = 1_000
_TURNS = 300
_Make = Callable[[str, ModelLimits], AbstractAsyncContextManager[Any]]
"""Makes a decider from a base URL and limits, and closes its client."""


@tool
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


@asynccontextmanager
async def _anthropic(url: str, limits: ModelLimits) -> AsyncIterator[Any]:
    from anthropic import AsyncAnthropic  # noqa: PLC0415  an extra

    async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield anthropic.Decider(client, "claude-fable-5-2", limits=limits)


@asynccontextmanager
async def _responses(url: str, limits: ModelLimits) -> AsyncIterator[Any]:
    from openai import AsyncOpenAI  # noqa: PLC0415  an extra

    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield openai_responses.Decider(client, "gpt-6.2-sol", limits=limits)


@asynccontextmanager
async def _chat(url: str, limits: ModelLimits) -> AsyncIterator[Any]:
    from openai import AsyncOpenAI  # noqa: PLC0415  an extra

    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield openai_chat.Decider(client, "gpt-5", limits=limits)


@asynccontextmanager
async def _litellm(url: str, limits: ModelLimits) -> AsyncIterator[Any]:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network
    import litellm as library  # noqa: PLC0415  an extra

    from agentic.bridges import litellm  # noqa: PLC0415

    options = {"api_base": url, "api_key": "none", "max_tokens": _REPLY_TOKENS, "num_retries": 0}
    try:
        yield litellm.Decider("anthropic/claude-fable-5-2", options=options, limits=limits)
    finally:
        untyped: Any = library
        await untyped.close_litellm_async_clients()  # it keeps them for the next call


async def _with_runner(make: _Make, case: Case) -> None:
    limits = ModelLimits(case.window, _REPLY_TOKENS)
    with case.server.serve() as url:
        async with make(url, limits) as decider:
            runner = Runner(
                decider,
                Registry([read]),
                MemoryStore(),
                Manager(COUNTER, case.compactor() or Digest(), case.policy),
                strategies=case.strategies(),
                max_turns=_TURNS,
                system_prompt=_SYSTEM,
            )
            await _talk(runner, case)


async def _with_session(make: _Make, case: Case) -> None:
    limits = ModelLimits(case.window, _REPLY_TOKENS)
    with case.server.serve() as url:
        session = Session(
            "bench",
            MemoryStore(),
            counter=COUNTER,
            policy=case.policy,
            compactor=case.compactor() or Digest(),
            strategies=case.strategies(),
            system_prompt=_SYSTEM,
            executor=Registry([read]),
        )
        async with session, make(url, limits) as decider:
            await _talk(session.runner(decider, max_turns=_TURNS), case)


async def _talk(runner: Runner, case: Case) -> None:
    for text in requests(case):
        with contextlib.suppress(AgenticError):
            await runner.run(text)


ENTRIES: dict[str, Entry] = {
    "Runner (Anthropic)": partial(_with_runner, _anthropic),
    "Runner (Responses)": partial(_with_runner, _responses),
    "Runner (Chat Completions)": partial(_with_runner, _chat),
    "Session (Anthropic)": partial(_with_session, _anthropic),
    "Session (Responses)": partial(_with_session, _responses),
    "LiteLLM (Anthropic)": partial(_with_runner, _litellm),
}
