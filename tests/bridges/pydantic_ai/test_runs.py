"""Streams, steps, cancellation, refusals and pauses: every way in which a run goes."""

import asyncio
import itertools
from typing import Any

import attrs
import pydantic
import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    NativeOutput,
    exceptions,
)
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from agentic.bridges.pydantic_ai import ContextBudget, to_model_messages
from agentic.context import strategies
from agentic.errors import ConfigError
from agentic.messages import Media, Message


def _long_history(framework: Any, exchanges: int = 12) -> list[Any]:
    return to_model_messages([m for n in range(exchanges) for m in framework.exchange(n, calls=1)])


def test_stream_stays_within_window(framework: Any) -> None:
    """A streamed request is the same as one that is not."""
    model, budget = framework.RecordingModel(), framework.budget()
    agent, history = framework.agent(model, budget), _long_history(framework)

    async def stream() -> str:
        async with agent.run_stream("Go on.", message_history=history) as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    assert asyncio.run(stream()).startswith("a2 done")
    streamed = model.requests
    other = framework.RecordingModel()
    asyncio.run(framework.agent(other, framework.budget()).run("Go on.", message_history=history))
    assert [len(sent) for sent in streamed] == [len(sent) for sent in other.requests]
    assert framework.summaries(streamed[0])


def test_iteration_stays_within_window(framework: Any) -> None:
    """A run in steps is kept within the window, too."""
    model, budget = framework.RecordingModel(), framework.budget()
    agent = framework.agent(model, budget)

    async def iterate() -> int:
        steps = 0
        async with agent.iter("Go on.", message_history=_long_history(framework)) as run:
            async for _ in run:
                steps += 1
        return steps

    assert asyncio.run(iterate()) == 6
    assert all(framework.summaries(sent) for sent in model.requests)


@attrs.define
class _WaitingCompactor:
    """A compactor that waits until it is cancelled, the first time."""

    waiting: asyncio.Event = attrs.field(factory=asyncio.Event)
    asked: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        if self.asked == 1:
            self.waiting.set()
            await asyncio.Event().wait()
        return f"Summary of {len(messages)} messages."


@pytest.mark.parametrize("rewrite", [False, True])
def test_cancelled_summary_changes_nothing(framework: Any, rewrite: bool) -> None:
    """A run that is cancelled while a summary is made leaves the messages as they were."""
    history = _long_history(framework)
    before = framework.through_json(history)

    async def cancel() -> list[Any]:
        compactor, model = _WaitingCompactor(), framework.RecordingModel()
        agent = framework.agent(model, framework.budget(compactor=compactor, rewrite=rewrite))
        run = asyncio.create_task(agent.run("Go on.", message_history=history))
        await compactor.waiting.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert framework.through_json(history) == before
        assert not model.requests
        await agent.run("Go on.", message_history=history)
        return model.requests

    assert framework.summaries(asyncio.run(cancel())[0])


def test_abandoned_stream_leaves_conversation_usable(framework: Any) -> None:
    """After a stream that nobody reads to its end, the conversation goes on."""
    model = framework.RecordingModel(calls=0)
    agent = framework.agent(model, framework.budget())
    started: dict[str, Any] = {"message_history": _long_history(framework), "conversation_id": "c"}

    async def abandon() -> None:
        async with asyncio.timeout(60), agent.iter("Go on.", **started) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            return

    async def go_on() -> list[Any]:
        await abandon()
        return (await agent.run("And now?", **started)).all_messages()

    assert len(asyncio.run(go_on())) == len(started["message_history"]) + 2
    first, second = model.requests
    assert framework.summaries(first)[0].content == framework.summaries(second)[0].content


def test_failing_summary_still_sends(
    framework: Any, failing_compactor: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """If the compactor fails, the request is cut instead, and a note and the log say so."""
    model, budget = framework.RecordingModel(calls=0), framework.budget(compactor=failing_compactor)
    agent = framework.agent(model, budget)
    result = asyncio.run(agent.run("Go on.", message_history=_long_history(framework)))
    latest = budget.latest(result.all_messages()[-1].conversation_id)
    assert latest.fits
    assert [note.kind for note in latest.notes] == ["summary_failed"]
    assert "summary failed: nothing was summarized (OSError: no model)" in caplog.text
    assert len(model.requests[0]) < 20
    assert model.requests[0][0].parts[0].content == "Continue."


_OVERFLOWS = [
    ModelContextWindowExceededError("m", "the input is too long"),
    ModelHTTPError(400, "m", {"code": "context_length_exceeded", "message": "too long"}),
]


@pytest.mark.parametrize("error", _OVERFLOWS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("streamed", [False, True])
def test_overflow_is_retried_smaller(framework: Any, error: Exception, streamed: bool) -> None:
    """A request that was refused as too large is sent once more, strictly smaller."""
    if streamed and not hasattr(exceptions, "RetryModelRequest"):
        pytest.skip("before pydantic-ai 2.64, a stream cannot be begun again")
    model = framework.RecordingModel(calls=0, errors=[error])
    agent = framework.agent(model, framework.budget(5_000))
    history = _long_history(framework)

    async def run() -> Any:
        if not streamed:
            return await agent.run("Go on.", message_history=history)
        async with agent.run_stream("Go on.", message_history=history) as result:
            await result.get_output()
            return result

    result = asyncio.run(run())
    refused, sent = model.requests
    assert len(sent) < len(refused)
    assert framework.summaries(sent)
    assert len(result.all_messages()) == len(history) + 2


def test_refused_images_are_left_out(framework: Any) -> None:
    """Once, in a request that has all messages."""
    error = ModelHTTPError(400, "m", {"error": {"message": "too many images: 12 + 0 > 8"}})
    model = framework.RecordingModel(calls=0, errors=[error])
    photo = Media("image/png", b"pixels")
    history = to_model_messages([Message("user", f"Look {n}.", media=[photo]) for n in range(12)])
    agent = framework.agent(model, framework.budget(1_000_000))

    asyncio.run(agent.run("Go on.", message_history=history))

    assert [str(sent).count("pixels") for sent in model.requests] == [12, 6]


def test_refused_bytes_are_left_out(framework: Any) -> None:
    """By a summary, although the window has room for them."""
    error = ModelHTTPError(413, "m", {"error": {"message": "Request entity too large"}})
    model = framework.RecordingModel(calls=0, errors=[error])
    agent = framework.agent(model, framework.budget(100_000))

    asyncio.run(agent.run("Go on.", message_history=_long_history(framework)))

    refused, sent = model.requests
    assert len(sent) < len(refused)
    assert framework.summaries(sent)


@pytest.mark.parametrize("rewrite", [False, True])
def test_parallel_overflows_retry_their_own(framework: Any, rewrite: bool) -> None:
    """Two runs of one conversation that are refused at the same time are both sent once more."""
    refused, retried = dict[str, int](), dict[str, int]()
    both = asyncio.Barrier(2)

    async def reply(messages: list[Any], _: AgentInfo) -> ModelResponse:
        name = messages[-1].parts[-1].content
        if name not in refused:
            refused[name] = len(messages)
            await both.wait()
            raise _OVERFLOWS[0]
        retried[name] = len(messages)
        return ModelResponse([TextPart(f"{name} is done")])

    agent = Agent(FunctionModel(reply), capabilities=[framework.budget(5_000, rewrite=rewrite)])

    async def run(name: str) -> str:
        history = _long_history(framework)
        return (await agent.run(name, message_history=history, conversation_id="c")).output

    async def run_both() -> list[str]:
        return await asyncio.gather(run("One"), run("Two"))

    assert asyncio.run(run_both()) == ["One is done", "Two is done"]
    assert all(retried[name] < refused[name] for name in ("One", "Two"))


def test_second_overflow_is_raised(framework: Any) -> None:
    """There is one retry for each request."""
    model = framework.RecordingModel(calls=0, errors=[_OVERFLOWS[0]] * 2)
    agent = framework.agent(model, framework.budget(5_000))
    with pytest.raises(ModelContextWindowExceededError):
        asyncio.run(agent.run("Go on.", message_history=_long_history(framework)))
    assert len(model.requests) == 2


def test_smallest_request_is_not_retried(framework: Any) -> None:
    """Where nothing can be left out, the provider's refusal is what the caller sees."""
    model = framework.RecordingModel(calls=0, errors=[_OVERFLOWS[0]])
    with pytest.raises(ModelContextWindowExceededError):
        asyncio.run(framework.agent(model, framework.budget()).run("Go on."))
    assert len(model.requests) == 1


def test_other_errors_pass(framework: Any) -> None:
    """An error that is no overflow is not retried."""
    model = framework.RecordingModel(errors=[ModelHTTPError(500, "m", "down")])
    with pytest.raises(ModelHTTPError, match="500"):
        asyncio.run(framework.agent(model, framework.budget()).run("Go on."))
    assert len(model.requests) == 1


def test_instructions_and_tools_count(framework: Any) -> None:
    """What is sent beside the messages is part of the size."""
    sizes = []
    for instructions in ("", "Be brief. " * 40):
        model, budget = framework.RecordingModel(calls=0), framework.budget()
        agent = framework.agent(model, budget, instructions=instructions or None)
        result = asyncio.run(agent.run("Why?"))
        sizes.append(budget.latest(result.all_messages()[-1].conversation_id).tokens)
    assert sizes[0] > 20  # the tool `read`
    assert sizes[1] - sizes[0] == 100


def test_output_schema_counts() -> None:
    """The schema of a structured output is sent beside the messages, too."""

    class Report(pydantic.BaseModel):
        """A long report of what was found, and where."""

        title: str
        findings: list[str]

    sizes = []
    for output in (str, NativeOutput(Report)):
        budget = ContextBudget[None](8_000)
        reply = FunctionModel(lambda *_: ModelResponse([TextPart('{"title": "", "findings": []}')]))
        agent = Agent(reply, output_type=output, capabilities=[budget])
        asyncio.run(agent.run("Why?", conversation_id="c"))
        latest = budget.latest("c")
        assert latest is not None
        sizes.append(latest.tokens)
    assert sizes[1] > sizes[0] + 20


def test_empty_first_request_is_sent(framework: Any) -> None:
    """An agent may have instructions only, and no words of a user's."""
    model = framework.RecordingModel(calls=0)
    agent = framework.agent(model, framework.budget(), instructions="Write a poem.")
    assert asyncio.run(agent.run()).output.startswith("a1")
    assert model.requests[0][0].instructions == "Write a poem."


def test_outputs_are_cleared_by_strategy(framework: Any) -> None:
    """A strategy shortens old returns; calls and their returns stay paired."""
    model = framework.RecordingModel(calls=8)
    clear = strategies.ClearToolOutputs(120, counter=framework.budget().counter, keep_rounds=1)
    agent = framework.agent(model, framework.budget(4_000, strategies=[clear]))
    result = asyncio.run(agent.run("Read them."))
    last = model.requests[-1]
    outputs = [str(m.parts[0].content) for m in last[2::2]]
    assert outputs[0] != outputs[-1]
    assert outputs[-1].endswith("line ")
    assert not framework.unpaired(last)
    assert str(result.all_messages()[2].parts[0].content).endswith("line ")


def test_explain_names_framework_positions(framework: Any) -> None:
    """What was left out is named by its position in the framework's messages."""
    model, budget = framework.RecordingModel(calls=0), framework.budget()
    agent, history = framework.agent(model, budget), _long_history(framework)
    result = asyncio.run(agent.run("Go on.", message_history=history))
    [removal] = budget.explain(result.all_messages()[-1].conversation_id)
    assert removal.part == "compaction"
    assert removal.positions[0] == 0
    assert len(history) - len(removal.positions) == len(model.requests[0]) - 2
    assert budget.explain("unknown") == []


@pytest.mark.parametrize("errors", [[], _OVERFLOWS[:1]], ids=["accepted", "refused"])
def test_paused_reply_stays_last(framework: Any, errors: list[Exception]) -> None:
    """A provider that paused its reply gets the request that it began with, and the pause."""
    requests: list[list[Any]] = []

    def reply(messages: list[Any], _: AgentInfo) -> ModelResponse:
        requests.append(messages)
        if len(requests) <= len(errors):
            raise errors[0]
        return ModelResponse([TextPart("and more.")])

    history = [
        *_long_history(framework),
        ModelRequest([UserPromptPart("Search.")]),
        ModelResponse([TextPart("Searching ")], state="suspended"),
    ]
    agent = Agent(FunctionModel(reply), capabilities=[framework.budget()])
    result = asyncio.run(agent.run(message_history=history))
    assert "and more." in result.output
    assert all(framework.summaries(sent) for sent in requests)
    assert all(sent[-1] is history[-1] for sent in requests)


def test_budget_takes_model_name() -> None:
    """The window of a known model need not be given."""
    assert ContextBudget("gpt-4.1")._parts.policy.context_window == 1_047_576
    agent = Agent(TestModel(), capabilities=[ContextBudget("gpt-4.1")])
    assert asyncio.run(agent.run("Why?")).output


def test_wrong_arguments_raise_at_once() -> None:
    """The error names the argument and what it takes."""
    with pytest.raises(ConfigError, match="window"):
        ContextBudget("gpt-unknown")
    with pytest.raises(ConfigError, match="max_conversations"):
        ContextBudget(8_000, max_conversations=0)
    with pytest.raises(ConfigError, match="max_conversations"):
        ContextBudget(8_000, max_conversations="4")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="strateg"):
        ContextBudget(8_000, strategies=[3])  # type: ignore[list-item]


def _long_turns(rounds: int) -> FunctionModel:
    """Return a model that asks for two tools at once, then for one in each round, then replies."""
    numbers = itertools.count()

    def reply(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        number = next(numbers)
        step = number % (rounds + 2)
        if step > rounds:
            return ModelResponse([TextPart("done " * 12)])
        names = ["read"] if step else ["read", "write"]
        calls = [ToolCallPart(name, {"path": "a"}, f"{name}{number}") for name in names]
        return ModelResponse(calls)

    return FunctionModel(reply)


def test_approval_costs_no_second_summary(framework: Any) -> None:
    """The next run joins the results of plain and of approved calls, which were two requests."""
    budget = framework.budget()
    agent = Agent(_long_turns(20), capabilities=[budget], output_type=[str, DeferredToolRequests])

    def work(path: str) -> str:
        return f"{path} " + "line " * 24

    agent.tool_plain(work, name="read")
    agent.tool_plain(work, name="write", requires_approval=True)

    async def talk() -> None:
        history: list[ModelMessage] = []
        for number in range(4):
            words = f"u{number} " + "please " * 12
            run = await agent.run(words, message_history=history, conversation_id="c")
            approvals = {each.tool_call_id: True for each in run.output.approvals}
            run = await agent.run(
                message_history=run.all_messages(),
                deferred_tool_results=DeferredToolResults(approvals=approvals),
                conversation_id="c",
            )
            history = run.all_messages()

    asyncio.run(talk())

    # Of 45 messages where one begins anew after an approval.
    assert budget.compactor.asked > 5
    assert budget.compactor.given < 20 * budget.compactor.asked
