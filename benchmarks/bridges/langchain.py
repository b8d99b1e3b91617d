"""An agent of LangChain, with its own SummarizationMiddleware and with `agentic.bridges.langchain`.

`framework` is SummarizationMiddleware at 80 % of the window, with its default of 20 messages kept;
`framework, our summarizer` is the same with a Digest as its model.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agentic.bridges.langchain import ContextMiddleware, summarizer
from agentic.context.compactors import Digest, Model
from benchmarks.bridges._scenario import WINDOW, Figures, Recorder, ScenarioTurn, turns

_LONG = 500
"""Turns of four messages each: 2,000 messages."""


class _Agent(BaseChatModel):
    """The agent's model: it calls the tool, and then replies, as the scenario says."""

    recorder: Any
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scenario"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "_Agent":
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        self.recorder.request([_text(message) for message in messages])
        return ChatResult(generations=[ChatGeneration(message=next(self.script))])


class _Summarizing(BaseChatModel):
    """The model that SummarizationMiddleware asks."""

    recorder: Any

    @property
    def _llm_type(self) -> str:
        return "scenario-summary"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        text = self.recorder.summarize("\n".join(message.text for message in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def run() -> dict[str, Figures]:
    """Return the figures of each way to keep the state, or the request, within the window."""
    ways: dict[str, Figures] = {"none": _talk([], Recorder())}
    recorder = Recorder()
    ways["framework"] = _talk([_framework(_Summarizing(recorder=recorder))], recorder)
    ways["framework, our summarizer"] = _talk([_framework(summarizer(Digest()))], Recorder())
    for hook in ("wrap_model_call", "before_model"):
        ways[f"bridge, {hook}"] = _bridge(hook)
    ways["bridge, digest"] = _talk([ContextMiddleware(WINDOW)], Recorder())
    return ways


def overhead() -> dict[str, float]:
    """Return the milliseconds of processor time of a turn at 2,000 messages, which fit."""
    items: list[Any] = [item for turn in turns(_LONG) for item in _items(turn)]
    middleware, model = ContextMiddleware(100_000_000), _Agent(recorder=Recorder(), script=iter(()))
    state: Any = {}

    def ask() -> None:
        request = ModelRequest(model=model, messages=items, state=state)
        done = middleware.wrap_model_call(request, lambda _: ModelResponse(result=[]))
        if done.command is not None:
            state.update(done.command.update)

    ask()
    spent = 0.0
    for turn in turns(100):
        items = [*items, *_items(turn)]
        started = time.process_time()
        ask()
        spent += time.process_time() - started
    return {"bridge": spent * 1_000 / 100}


def _framework(model: BaseChatModel) -> AgentMiddleware[Any, Any, Any]:
    return SummarizationMiddleware(
        model,
        trigger=("tokens", int(0.8 * WINDOW)),
        keep=("messages", 20),
        trim_tokens_to_summarize=None,
    )


def _bridge(hook: Any) -> Figures:
    recorder = Recorder()

    async def ask(prompt: str) -> str:
        return recorder.summarize(prompt)

    return _talk([ContextMiddleware(WINDOW, hook=hook, compactor=Model(ask))], recorder)


def _talk(middleware: list[AgentMiddleware[Any, Any, Any]], recorder: Recorder) -> Figures:
    script = turns()
    outputs = {turn.path: turn.output for turn in script}

    @tool
    def read(path: str) -> str:
        """Read a file."""
        return outputs[path]

    replies: Iterator[BaseMessage] = iter([r for turn in script for r in _items(turn)[1::2]])
    agent: Any = create_agent(
        _Agent(recorder=recorder, script=replies),
        [read],
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )
    for turn in script:
        agent.invoke(
            {"messages": [HumanMessage(turn.request)]}, {"configurable": {"thread_id": "1"}}
        )
    return recorder.figures()


def _items(turn: ScenarioTurn) -> list[BaseMessage]:
    call = {"name": "read", "args": {"path": turn.path}, "id": turn.call_id}
    return [
        HumanMessage(turn.request),
        AIMessage("", tool_calls=[call]),
        ToolMessage(turn.output, tool_call_id=turn.call_id, name="read"),
        AIMessage(turn.reply),
    ]


def _text(message: BaseMessage) -> str:
    calls = [call["args"] for call in getattr(message, "tool_calls", ())]
    return "".join([message.text, *(str(each) for each in calls)])
