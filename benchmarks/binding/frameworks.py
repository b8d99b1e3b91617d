"""Agents of other frameworks with our bridges, each on its own client for Anthropic or OpenAI."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.binding._case import Case, Entry, output_of, requests

__all__ = ["ENTRIES"]

_SYSTEM = "You read files, and say what they do. Be brief."
_MODEL = "claude-fable-5-2"
_STEPS = 1_000


async def _langchain(hook: Any, case: Case) -> None:
    from langchain.agents import create_agent  # noqa: PLC0415  an extra, as all of these
    from langchain_anthropic import ChatAnthropic  # noqa: PLC0415
    from langchain_core.messages import HumanMessage  # noqa: PLC0415
    from langchain_core.tools import tool  # noqa: PLC0415
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    from agentic.bridges.langchain import ContextMiddleware  # noqa: PLC0415

    @tool
    def read(path: str) -> str:
        """Read a file."""
        return output_of(path)

    with case.server.serve() as url:
        options: Any = {"model": _MODEL, "base_url": url, "api_key": "none"}
        model = ChatAnthropic(**options, max_retries=0)
        middleware = ContextMiddleware(
            case.policy, hook=hook, compactor=case.compactor(), strategies=case.strategies()
        )
        agent: Any = create_agent(
            model,
            [read],
            system_prompt=_SYSTEM,
            middleware=[middleware],
            checkpointer=InMemorySaver(),
        )
        thread = {"configurable": {"thread_id": "1"}, "recursion_limit": _STEPS}
        for text in requests(case):
            with contextlib.suppress(Exception):
                await agent.ainvoke({"messages": [HumanMessage(text)]}, thread)
        await model._async_client.close()  # noqa: SLF001  nothing public closes it


async def _pydantic_ai(case: Case) -> None:
    from anthropic import AsyncAnthropic  # noqa: PLC0415
    from pydantic_ai import Agent, UsageLimits  # noqa: PLC0415
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    from agentic.bridges.pydantic_ai import ContextBudget  # noqa: PLC0415

    with case.server.serve() as url:
        client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
        model = AnthropicModel(_MODEL, provider=AnthropicProvider(anthropic_client=client))
        budget = ContextBudget[None](
            case.policy, compactor=case.compactor(), strategies=case.strategies()
        )
        agent = Agent(model, system_prompt=_SYSTEM, capabilities=[budget])

        @agent.tool_plain
        def read(path: str) -> str:
            """Read a file."""
            return output_of(path)

        history: list[Any] = []
        for text in requests(case):
            with contextlib.suppress(Exception):
                limits = UsageLimits(request_limit=None)
                result = await agent.run(text, message_history=history, usage_limits=limits)
                history = result.all_messages()
        await client.close()


async def _openai_agents(session_of: Callable[[], Any], case: Case) -> None:
    from agents import (  # noqa: PLC0415
        Agent,
        OpenAIResponsesModel,
        RunConfig,
        Runner,
        function_tool,
    )
    from openai import AsyncOpenAI  # noqa: PLC0415

    from agentic.bridges.openai_agents import InputFilter  # noqa: PLC0415

    @function_tool
    def read(path: str) -> str:
        """Read a file."""
        return output_of(path)

    with case.server.serve() as url:
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        model = OpenAIResponsesModel("gpt-6.2-sol", client)
        agent: Any = Agent(name="reader", instructions=_SYSTEM, model=model, tools=[read])
        budget = InputFilter(case.policy, compactor=case.compactor(), strategies=case.strategies())
        config = RunConfig(call_model_input_filter=budget, tracing_disabled=True)
        session = session_of()
        for text in requests(case):
            with contextlib.suppress(Exception):
                await Runner.run(
                    agent,
                    text,
                    session=session,
                    run_config=config,
                    hooks=budget.hooks,
                    max_turns=_STEPS,
                )
        await client.close()


def _store_session() -> Any:
    from agentic.bridges.openai_agents import StoreSession  # noqa: PLC0415
    from agentic.history import MemoryStore  # noqa: PLC0415

    return StoreSession(MemoryStore())


ENTRIES: dict[str, Entry] = {
    "LangChain, wrap_model_call (Anthropic)": partial(_langchain, "wrap_model_call"),
    "LangChain, before_model (Anthropic)": partial(_langchain, "before_model"),
    "Pydantic AI (Anthropic)": _pydantic_ai,
    "OpenAI Agents (Responses)": partial(_openai_agents, _store_session),
}
