"""An agent of Pydantic AI alone, with the middleware of its own project, and with our budget.

`framework, filter` is a history processor that keeps the newest messages and has the others
summarized, as its documentation shows. `framework` is SummarizingCompaction of
`pydantic-ai-harness`, where that is installed.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, RunContext
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
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage

from agentic.bridges.pydantic_ai import ContextBudget
from agentic.context.compactors import Model
from benchmarks.bridges._scenario import WINDOW, Figures, Recorder, ScenarioTurn, turns

try:
    from pydantic_ai_harness.compaction import (  # type: ignore[import-not-found,unused-ignore]
        SummarizingCompaction,
    )
except ImportError:
    SummarizingCompaction = None

_CHARS = 4 * WINDOW
_KEPT = 6
"""How many of the newest messages the filter keeps."""
_LONG, _MORE = 500, 4
"""Turns of four messages each: 2,000 messages, and those that are timed."""
_TOKENS = 40
"""What the timed model reports for each message: to estimate it would take longer than a turn."""


def run() -> dict[str, Figures]:
    """Return the figures of each way to keep the requests within the window."""
    return asyncio.run(_run())


async def _run() -> dict[str, Figures]:
    filtered, summarized, theirs = Recorder(), Recorder(), Recorder()

    async def ask(prompt: str) -> str:
        await asyncio.sleep(0)
        return summarized.summarize(prompt)

    model = FunctionModel(lambda messages, _: _reply(theirs.summarize(_text(messages))))
    found = {
        "none": await _talk([], Recorder()),
        "framework, filter": await _talk([ProcessHistory(_filter(filtered))], filtered),
    }
    if SummarizingCompaction is not None:
        limit = SummarizingCompaction(
            model, max_tokens=WINDOW * 3 // 4, keep_tokens=WINDOW // 4, tool_return_max_chars=None
        )
        found["framework"] = await _talk([limit], theirs)
    ours = ContextBudget[None](WINDOW, compactor=Model(ask))
    found["bridge"] = await _talk([ours], summarized)
    found["bridge, digest"] = await _talk([ContextBudget[None](WINDOW)], Recorder())
    return found


def overhead() -> dict[str, float]:
    """Return the milliseconds of a turn of two requests: the framework's, and ours beside it."""
    return {
        "framework alone": asyncio.run(_time_framework()),
        "bridge": asyncio.run(_time_bridge(ContextBudget[None](10_000_000))),
        "bridge, with summaries": asyncio.run(_time_bridge(ContextBudget[None](WINDOW))),
    }


async def _talk(capabilities: list[Any], recorder: Recorder) -> Figures:
    history: list[ModelMessage] = []

    def measure(messages: list[ModelMessage]) -> int:
        recorder.request([_text([message]) for message in messages])
        return len(recorder.sent[-1]) // 4

    agent = _agent(capabilities, measure)
    for turn in turns():
        result = await agent.run(turn.request, message_history=history)
        history = result.all_messages()
    return recorder.figures()


async def _time_framework() -> float:
    history = _long_history()
    agent = _agent([], lambda messages: _TOKENS * len(messages))
    started = time.perf_counter()
    for turn in turns()[:_MORE]:
        history = (await agent.run(turn.request, message_history=history)).all_messages()
    return (time.perf_counter() - started) * 1_000 / _MORE


async def _time_bridge(budget: ContextBudget[None]) -> float:
    history = _long_history()
    await _fit(budget, history)
    seconds = 0.0
    for turn in turns():
        request, call, returned, reply = _messages(turn)
        history.append(request)
        seconds += await _fit(budget, history)
        history += [call, returned]
        seconds += await _fit(budget, history)
        history.append(reply)
    return seconds * 1_000 / len(turns())


async def _fit(budget: ContextBudget[None], history: list[ModelMessage]) -> float:
    """Return how many seconds of the processor the capability takes for one request."""
    model, usage = FunctionModel(lambda *_: _reply("")), RunUsage()
    context = RunContext(
        deps=None, model=model, usage=usage, messages=history, conversation_id="bench"
    )
    request = ModelRequestContext(
        model=model,
        messages=history.copy(),
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    started = time.process_time()
    await budget.before_model_request(context, request)
    return time.process_time() - started


def _long_history() -> list[ModelMessage]:
    script = (turns() * (_LONG // len(turns()) + 1))[:_LONG]
    return [message for turn in script for message in _messages(turn)]


def _agent(capabilities: list[Any], measure: Callable[[list[ModelMessage]], int]) -> Any:
    """Return an agent whose model plays the scenario, whatever it is shown of it."""
    by_request = {turn.request: turn for turn in turns()}
    by_path = {turn.path: turn for turn in turns()}
    by_call = {turn.call_id: turn for turn in turns()}

    def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        usage = RequestUsage(input_tokens=measure(messages), output_tokens=10)
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse([TextPart(by_call[last.tool_call_id].reply)], usage=usage)
        turn = by_request[str(getattr(last, "content", ""))]
        return ModelResponse([ToolCallPart("read", {"path": turn.path}, turn.call_id)], usage=usage)

    agent = Agent(FunctionModel(reply, model_name="bench"), capabilities=capabilities)

    @agent.tool_plain
    def read(path: str) -> str:
        return by_path[path].output

    return agent


def _filter(recorder: Recorder) -> Callable[[list[ModelMessage]], list[ModelMessage]]:
    """Return a processor that summarizes all but the newest messages when there are too many."""

    def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        if len(_text(messages)) <= _CHARS * 3 // 4:
            return messages
        cut = len(messages) - _KEPT
        while cut < len(messages) and not _begins_turn(messages[cut]):
            cut += 1
        if cut == len(messages):
            cut = next(at for at in range(cut - 1, -1, -1) if _begins_turn(messages[at]))
        summary = recorder.summarize(_text(messages[:cut]))
        return [
            ModelRequest([UserPromptPart(f"Summary of what was before:\n{summary}")]),
            *messages[cut:],
        ]

    return process


def _begins_turn(message: ModelMessage) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _messages(turn: ScenarioTurn) -> list[ModelMessage]:
    call = ToolCallPart("read", {"path": turn.path}, turn.call_id)
    return [
        ModelRequest([UserPromptPart(turn.request)]),
        ModelResponse([call]),
        ModelRequest([ToolReturnPart("read", turn.output, turn.call_id)]),
        _reply(turn.reply),
    ]


def _reply(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)])


def _text(messages: list[ModelMessage]) -> str:
    """Return what messages say, as the text that arrives at a model."""
    return "\n".join(
        str(part.args if isinstance(part, ToolCallPart) else getattr(part, "content", ""))
        for message in messages
        for part in message.parts
    )
