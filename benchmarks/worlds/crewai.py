"""crewAI's Agent, with its own `respect_context_window` and with the hook of our page's section."""

import contextlib
import time
import types
from collections.abc import Iterator
from functools import partial
from typing import Any

from crewai import Agent as CrewAgent
from crewai.events.event_listener import event_listener
from crewai.hooks import clear_before_llm_call_hooks, register_before_llm_call_hook
from crewai.llms.providers.openai.completion import OpenAICompletion
from crewai.tools import tool

from benchmarks.worlds._run import MODEL, SYSTEM, WINDOW, Agent, output_of, section, texts

__all__ = ["overhead", "ways"]


class _Model(OpenAICompletion):
    """OpenAI's model with the window of the server: crewAI has no option for it."""

    def get_context_window_size(self) -> int:
        """Return the share of the window that crewAI uses of every model."""
        return int(0.85 * WINDOW)


@tool("read")
def read(path: str) -> str:
    """Read a file."""
    return output_of(path)


def ways() -> dict[str, Agent]:
    """Return an agent for each way."""
    return {"own": partial(_talk, ours=False), "ours": partial(_talk, ours=True)}


async def _talk(url: str, requests: Iterator[str], *, ours: bool) -> None:
    budget = _budget(WINDOW)
    if ours:
        register_before_llm_call_hook(budget)
    event_listener.formatter.console.quiet = True  # it prints a box for each run
    agent = CrewAgent(
        role="Reader",
        goal=SYSTEM,
        backstory="You read.",
        tools=[read],
        llm=_Model(model=MODEL, base_url=f"{url}/v1", api_key="none"),
        respect_context_window=not ours,
        cache=False,
    )
    messages: list[Any] = []
    for text in requests:
        with contextlib.suppress(Exception, SystemExit):
            result: Any = await agent.kickoff_async([*messages, {"role": "user", "content": text}])
            # The agent puts its prompt before the messages itself.
            messages = [each for each in result.messages if each["role"] != "system"]


def _budget(window: int) -> Any:
    """Return our hook, without the one that the page's program registers."""
    hook = section("crewAI")["Budget"](window)
    clear_before_llm_call_hooks()
    return hook


def overhead() -> float:
    """Return the milliseconds of a request on top of 2,000 messages, which fit."""
    budget = _budget(100_000_000)
    items: list[Any] = []
    context, spent = types.SimpleNamespace(executor=object(), messages=items), 0.0
    for number, (text, path, output, reply) in enumerate(texts(520)):
        function = {"name": "read", "arguments": f'{{"path": "{path}"}}'}
        call = {"id": f"c{number}", "type": "function", "function": function}
        items.append({"role": "user", "content": text})
        items.append({"role": "assistant", "content": None, "tool_calls": [call]})
        items.append({"role": "tool", "content": output, "tool_call_id": f"c{number}"})
        if number >= 499:
            started = time.process_time()
            budget(context)
            spent += time.process_time() - started if number > 499 else 0.0
        items.append({"role": "assistant", "content": reply})
    return spent * 1_000 / 20
