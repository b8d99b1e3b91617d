"""LlamaIndex' FunctionAgent, with its own `Memory` and with the memory of our page's section."""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.llms.openai_like import OpenAILike

from agentic.context import budget
from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, section, texts

__all__ = ["overhead", "ways"]

_TURN = 4_000
"""The tokens of a turn's own calls, which come after what the memory returns."""


def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, _own), "ours": partial(_talk, _ours)}


def _own() -> Any:
    return Memory.from_defaults(token_limit=WINDOW - _TURN, tokenizer_fn=_tokens)


def _tokens(text: str) -> list[str]:
    """Return as many items as the server counts tokens."""
    return [text] * (len(text) // 4)


def _ours() -> Any:
    return section("LlamaIndex")["BudgetMemory"](budget.Policy(WINDOW, reserve_tokens=_TURN))


async def _talk(make: Callable[[], Any], url: str, requests: Iterator[str]) -> None:
    model = OpenAILike(
        model=MODEL,
        api_base=f"{url}/v1",
        api_key="none",
        context_window=WINDOW,
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )
    agent = FunctionAgent(llm=model, tools=[read], system_prompt=SYSTEM, streaming=False)
    memory = make()
    for text in requests:
        with contextlib.suppress(Exception):
            await agent.run(text, memory=memory)


def overhead() -> float:
    """Return the milliseconds of a turn on top of 2,000 messages, which fit."""
    memory = section("LlamaIndex")["BudgetMemory"](100_000_000)
    spent = 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        memory.put(ChatMessage(role="user", content=text))
        if number >= 499:
            started = time.process_time()
            memory.get()
            spent += time.process_time() - started if number > 499 else 0.0
        call = ToolCallBlock(
            tool_call_id=f"c{number}", tool_name="read", tool_kwargs={"path": path}
        )
        memory.put(ChatMessage(role="assistant", blocks=[call]))
        result = {"tool_call_id": f"c{number}"}
        memory.put(ChatMessage(role="tool", content=output, additional_kwargs=result))
        memory.put(ChatMessage(role="assistant", blocks=[TextBlock(text=reply)]))
    return spent * 1_000 / 20
