"""The OpenAI Agents SDK, alone, with a session limit, and with `agentic.bridges.openai_agents`.

`framework` is what the SDK has for long sessions without a server of OpenAI's: `limit` in the
settings of a session, which returns the newest items.
"""

import asyncio
import time
from typing import Any

from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession, function_tool
from agents.run import CallModelData, ModelInputData
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from agentic.bridges.openai_agents import InputFilter, StoreSession
from agentic.context.compactors import Model
from agentic.history import MemoryStore
from benchmarks.bridges._scenario import WINDOW, Figures, Recorder, ScenarioTurn, turns

_LIMIT = 16
"""The newest items that fit the window at the end of the conversation: four turns of four items."""
_LONG = 500
"""Turns of four items each: 2,000 items."""


def run() -> dict[str, Figures]:
    """Return the figures of each way to keep the input within the window."""
    return asyncio.run(_run())


def overhead() -> dict[str, float]:
    """Return the milliseconds of a turn in a conversation of 2,000 items that fits."""
    return asyncio.run(_overhead())


async def _run() -> dict[str, Figures]:
    summarized = Recorder()

    async def ask(prompt: str) -> str:
        await asyncio.sleep(0)
        return summarized.summarize(prompt)

    limited = SQLiteSession("limited", session_settings=SessionSettings(limit=_LIMIT))
    asked = InputFilter(WINDOW, compactor=Model(ask))
    return {
        "none": await _talk(SQLiteSession("none"), None, Recorder()),
        "framework": await _talk(limited, None, Recorder()),
        "bridge": await _talk(StoreSession(MemoryStore()), asked, summarized),
        "bridge, digest": await _talk(StoreSession(MemoryStore()), InputFilter(WINDOW), Recorder()),
    }


async def _overhead() -> dict[str, float]:
    budget, agent = InputFilter(10_000_000), Agent(name="clerk")
    items = [item for turn in turns(_LONG) for item in _items(turn)]

    async def send() -> None:
        # The framework makes new dicts of what a run generated, so nothing is found by identity.
        fresh: Any = [dict(item) for item in items]
        await budget(CallModelData(ModelInputData(fresh, "Be brief."), agent, None))

    await send()
    spent = 0.0
    for turn in turns(100):
        items.extend(_items(turn))
        started = time.perf_counter()
        await send()
        spent += time.perf_counter() - started
    return {"bridge": spent * 1_000 / 100}


async def _talk(session: Any, budget: InputFilter | None, recorder: Recorder) -> Figures:
    for turn in turns():
        agent = _agent(turn, recorder)
        config = RunConfig(call_model_input_filter=budget, tracing_disabled=True)
        await Runner.run(agent, turn.request, session=session, run_config=config)
    return recorder.figures()


def _agent(turn: ScenarioTurn, recorder: Recorder) -> Agent[Any]:
    @function_tool
    def read(path: str) -> str:  # noqa: ARG001
        """Read a file."""
        return turn.output

    def recorded(reply: Any) -> ModelStep:
        def respond(call: ModelCall) -> Any:
            recorder.request(call.input)
            return [reply]

        return ModelStep.respond(respond)

    call = function_call("read", {"path": turn.path}, call_id=turn.call_id)
    reply = assistant_message(turn.reply, item_id=f"msg_{turn.call_id}")
    model = ScriptedModel([recorded(call), recorded(reply)])
    return Agent(name="clerk", instructions="Be brief.", model=model, tools=[read])


def _items(turn: ScenarioTurn) -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": turn.call_id, "name": "read", "arguments": "{}"}
    return [
        {"role": "user", "content": turn.request},
        call,
        {"type": "function_call_output", "call_id": turn.call_id, "output": turn.output},
        {"role": "assistant", "content": turn.reply},
    ]
