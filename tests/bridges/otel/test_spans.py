"""Which spans a run has, what they are children of, and what they say."""

import asyncio
from typing import Any

import attrs
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow, RequestFailed
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, InputTransformation, Request, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider, ScriptedExecutor, StreamingScriptedDecider
from agentic.tokens import CharCounter
from agentic.tools import Registry, ToolDefinition, tool
from agentic.usage import StopReason, Usage

_TWO_CALLS = Decision("I look.", [ToolCall("c1", "read"), ToolCall("c2", "run")], Usage(10, 5))
_LONG = tuple(Message("assistant", "word " * 200) for _ in range(10))


class Named(ScriptedDecider):
    """A decider that says whose model it asks."""

    name = "anthropic:claude-1"


def _runner(*steps: Any, **options: Any) -> Runner:
    return Runner(Named(*steps), ScriptedExecutor({"read": "text", "run": "1 passed"}), **options)


def test_run_holds_its_requests_and_tools(recorded: Any) -> None:
    """Requests and tools are children of the agent's span, not of each other."""
    runner = _runner(_TWO_CALLS, "Done.")

    recorded.instrument(runner)
    runner.run_sync("Why is it red?")

    assert recorded.tree() == [
        "invoke_agent",
        "  chat claude-1",
        "  execute_tool read",
        "  execute_tool run",
        "  chat claude-1",
    ]
    assert recorded.still_open == []


def test_span_kinds_follow_the_conventions(recorded: Any) -> None:
    """A request goes to another process, everything else stays in this one."""
    runner = _runner(_TWO_CALLS, "Done.")

    recorded.instrument(runner, agent_name="mender")
    runner.run_sync("Why is it red?")

    kinds = {span.name: span.kind for span in recorded.spans}
    assert kinds == {
        "invoke_agent mender": SpanKind.INTERNAL,
        "chat claude-1": SpanKind.CLIENT,
        "execute_tool read": SpanKind.INTERNAL,
        "execute_tool run": SpanKind.INTERNAL,
    }


def test_request_names_models_reply_and_conversation(recorded: Any) -> None:
    """All that the decision and the Runner know."""
    told = Decision(
        "Done.",
        usage=Usage(100, 20, cache_read=60, cache_write=30, reasoning=8),
        stop_word="end_turn",
        response_id="msg_1",
        response_model="claude-1-20260101",
    )
    runner = _runner(told, conversation_id="s1")

    recorded.instrument(runner)
    runner.run_sync("hi")

    (chat,) = recorded.named("chat")
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-1",
        "gen_ai.conversation.id": "s1",
        "gen_ai.response.model": "claude-1-20260101",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_write.input_tokens": 30,
        "gen_ai.usage.reasoning.output_tokens": 8,
        "agentic.turn": 1,
        "agentic.attempt": 1,
    }


def test_requests_span_says_what_was_removed_from_the_input(recorded: Any) -> None:
    """How much, and why, in the provider's words."""
    changes = [
        InputTransformation(kind="thinking_dropped", place=f"messages.{n}.content.0", reason="x")
        for n in (1, 3)
    ]
    runner = _runner(Decision("Done.", input_transformations=changes))

    recorded.instrument(runner)
    runner.run_sync("hi")

    (chat,) = recorded.named("chat")
    assert chat.attributes["agentic.input.transformations"] == 2
    assert chat.attributes["agentic.input.transformation_kinds"] == ("thinking_dropped",)
    assert chat.attributes["agentic.input.transformation_reasons"] == ("x",)


def test_agents_span_sums_the_run_up(recorded: Any) -> None:
    """Its usage is that of all requests; it has no provider, which is the request's."""
    runner = _runner(_TWO_CALLS, Decision("Done.", usage=Usage(20, 1)), conversation_id="s1")

    recorded.instrument(runner, agent_name="mender")
    runner.run_sync("hi")

    (agent,) = recorded.named("invoke_agent")
    told = dict(agent.attributes)
    assert len(told.pop("agentic.run.id")) == 32
    assert told == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "mender",
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "claude-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 6,
    }


def test_tools_span_describes_the_tool(recorded: Any) -> None:
    """By what the executor says of it."""

    def read(path: str) -> str:
        """Read a file."""
        return path

    call = ToolCall("c1", "read", '{"path": "a.py"}')
    runner = Runner(ScriptedDecider(Decision("", [call]), "Done."), Registry([tool(read)]))

    recorded.instrument(runner)
    runner.run_sync("hi")

    (span,) = recorded.named("execute_tool")
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Read a file.",
        "gen_ai.tool.call.id": "c1",
    }


def test_tool_starts_children_of_its_span(recorded: Any) -> None:
    """Parallel calls each have their own current span, across awaits."""
    tracer = recorded.tracer_provider.get_tracer("test")

    @attrs.define
    class Tracing:
        async def list_tools(self) -> list[ToolDefinition]:
            return [ToolDefinition("read"), ToolDefinition("run")]

        async def execute(self, call: ToolCall, /) -> ToolResult:
            await asyncio.sleep(0.01)
            with tracer.start_as_current_span(f"inside {call.name}"):
                await asyncio.sleep(0.01)
            return ToolResult(call.id, call.name, "fine")

    runner = Runner(Named(_TWO_CALLS, "Done."), Tracing())
    recorded.instrument(runner)
    runner.run_sync("hi")

    parents = {span.context.span_id: span.name for span in recorded.spans}
    inside = {span.name: parents[span.parent.span_id] for span in recorded.named("inside")}
    assert inside == {"inside read": "execute_tool read", "inside run": "execute_tool run"}


def test_decider_starts_children_of_its_request(recorded: Any) -> None:
    """As an instrumented HTTP client does; streamed or not."""
    tracer = recorded.tracer_provider.get_tracer("test")

    class Sending(StreamingScriptedDecider):
        async def stream(self, request: Input, /) -> Any:
            with tracer.start_as_current_span("POST"):
                async for item in super().stream(request):
                    yield item

    runner = Runner(Sending(["Do", "ne.", Decision("Done.")]))
    recorded.instrument(runner)
    runner.run_sync("hi")

    assert recorded.tree() == ["invoke_agent", "  chat", "    POST"]


def test_run_continues_the_callers_trace(recorded: Any) -> None:
    """And leaves the caller's span current behind it."""
    tracer = recorded.tracer_provider.get_tracer("test")
    runner = _runner("Done.")
    recorded.instrument(runner)

    async def serve() -> bool:
        with tracer.start_as_current_span("GET /chat") as outer:
            await runner.run("hi")
            return trace.get_current_span() is outer

    assert asyncio.run(serve())
    assert recorded.tree() == ["GET /chat", "  invoke_agent", "    chat claude-1"]


def test_overflow_and_retry_are_two_spans(recorded: Any) -> None:
    """With the summary between them; what follows it says that the context is compacted."""
    overflow = ContextOverflow("claude-1", 9_000, 8_000)
    budget = Manager(CharCounter(), Digest(), Policy(8_000))
    runner = Runner(Named(overflow, "Done."), budget=budget)

    recorded.instrument(runner)
    runner.run_sync(Request("hi", history=_LONG))

    assert recorded.tree() == [
        "invoke_agent",
        "  chat claude-1",
        "  compact_context",
        "  chat claude-1",
    ]
    first, second = recorded.named("chat")
    assert first.status.status_code is StatusCode.ERROR
    assert first.attributes["error.type"] == "ContextOverflow"
    assert first.attributes["gen_ai.response.finish_reasons"] == ("error",)
    assert "gen_ai.conversation.compacted" not in first.attributes
    assert second.status.status_code is StatusCode.UNSET
    assert second.attributes["gen_ai.conversation.compacted"] is True
    assert second.attributes["agentic.attempt"] == 2


def test_a_compaction_says_what_it_freed(recorded: Any) -> None:
    """Sizes, reason and how many messages; the conventions have no span for it."""
    budget = Manager(CharCounter(), Digest(), Policy(1_000))
    runner = Runner(Named("Done."), store=MemoryStore(), budget=budget, conversation_id="s1")

    recorded.instrument(runner)
    runner.run_sync(Request("hi", history=_LONG))

    (span,) = recorded.named("compact_context")
    told = dict(span.attributes)
    before = told.pop("agentic.compaction.tokens_before")
    assert 0 < told.pop("agentic.compaction.tokens_after") < before
    assert told.pop("agentic.compaction.messages") > 0
    assert told == {
        "gen_ai.operation.name": "compact_context",
        "gen_ai.conversation.id": "s1",
        "agentic.compaction.reason": "window",
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 0,
    }


def test_summarizing_model_is_inside_the_span(recorded: Any) -> None:
    """Whatever the compactor starts is a child of the compaction."""
    tracer = recorded.tracer_provider.get_tracer("test")

    class Asking:
        async def compact(self, messages: list[Message], /) -> str:
            with tracer.start_as_current_span("ask"):
                return "They spoke."

    budget = Manager(CharCounter(), Asking(), Policy(1_000))
    runner = Runner(Named("Done."), budget=budget)
    recorded.instrument(runner)
    runner.run_sync(Request("hi", history=_LONG))

    assert recorded.tree()[1:3] == ["  compact_context", "    ask"]


def test_parallel_runners_do_not_mix(recorded: Any) -> None:
    """Each request and each tool belongs to its own agent, in one loop and interleaved."""

    async def slowly(_: ToolCall) -> str:
        await asyncio.sleep(0.001)
        return "fine"

    def make(name: str, calls: int) -> Runner:
        steps = [Decision("", [ToolCall(f"c{at}", "t")]) for at in range(calls)]
        runner = Runner(ScriptedDecider(*steps, "Done."), ScriptedExecutor({"t": slowly}))
        recorded.instrument(runner, agent_name=name)
        return runner

    async def both() -> None:
        one, other = make("one", 3), make("other", 5)
        await asyncio.gather(one.run("hi"), other.run("hi"))

    asyncio.run(both())

    agents = {span.context.span_id: span.name for span in recorded.named("invoke_agent")}
    tools = [agents[span.parent.span_id] for span in recorded.named("execute_tool")]
    assert sorted(tools) == ["invoke_agent one"] * 3 + ["invoke_agent other"] * 5
    assert len({span.context.trace_id for span in recorded.spans}) == 2


def test_parallel_runs_are_told_apart(recorded: Any) -> None:
    """Without a store, one Runner serves many requests at once."""

    class Patient:
        async def decide(self, request: Input, /) -> Decision:
            await asyncio.sleep(0.001)
            return Decision(request.user_message)

    runner = Runner(Patient())
    recorded.instrument(runner, capture_content=True)

    async def many() -> None:
        await asyncio.gather(*[runner.run(f"q{at}") for at in range(10)])

    asyncio.run(many())

    agents = {span.context.span_id: span for span in recorded.named("invoke_agent")}
    for chat in recorded.named("chat"):
        asked = agents[chat.parent.span_id].attributes["gen_ai.input.messages"]
        assert chat.attributes["gen_ai.input.messages"] == asked


def test_agent_as_a_tool_is_inside_it(recorded: Any) -> None:
    """The inner run is a child of the call, and its calls are its own."""
    inner = Runner(ScriptedDecider("Found."))

    async def ask(_: ToolCall) -> str:
        return (await inner.run("find it")).reply

    outer = Runner(
        ScriptedDecider(Decision("", [ToolCall("c1", "ask")]), "Done."),
        ScriptedExecutor({"ask": ask}),
    )
    recorded.instrument(inner, agent_name="inner")
    recorded.instrument(outer, agent_name="outer")
    outer.run_sync("hi")

    assert recorded.tree() == [
        "invoke_agent outer",
        "  chat",
        "  execute_tool ask",
        "    invoke_agent inner",
        "      chat",
        "  chat",
    ]


@pytest.mark.parametrize(
    ("options", "provider"),
    [({}, "anthropic"), ({"provider": "aws.bedrock"}, "aws.bedrock")],
)
def test_the_provider_can_be_named(recorded: Any, options: Any, provider: str) -> None:
    """Of a server that speaks another's wire, only the caller knows who it is."""
    runner = _runner("Done.")

    recorded.instrument(runner, **options)
    runner.run_sync("hi")

    assert recorded.named("chat")[0].attributes["gen_ai.provider.name"] == provider


def test_error_has_the_providers_status(recorded: Any) -> None:
    """Few values, so that they can be counted; the text may quote contents, and is left out."""
    runner = _runner(RequestFailed("anthropic", 529, "overloaded: secret"))

    recorded.instrument(runner)
    with pytest.raises(RequestFailed):
        runner.run_sync("hi")

    (chat,), (agent,) = recorded.named("chat"), recorded.named("invoke_agent")
    assert chat.attributes["error.type"] == agent.attributes["error.type"] == "529"
    assert chat.status.description is agent.status.description is None


def test_a_refusal_is_a_reply(recorded: Any) -> None:
    """No error, but a reason to end."""
    runner = _runner(Decision("", stop_reason=StopReason.CONTENT_FILTER, stop_word="refusal"))

    recorded.instrument(runner)
    runner.run_sync("hi")

    (chat,), (agent,) = recorded.named("chat"), recorded.named("invoke_agent")
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("refusal",)
    assert agent.attributes["agentic.run.incomplete"] == "the reply was withheld or refused"
    assert chat.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        (StopReason.STOP, "stop"),
        (StopReason.TOOL, "tool_call"),
        (StopReason.MAX_TOKENS, "length"),
        (StopReason.CONTENT_FILTER, "content_filter"),
        (StopReason.ERROR, "error"),
        (StopReason.ABORT, "abort"),
        (StopReason.OTHER, "other"),
    ],
)
def test_reasons_to_stop_are_the_conventions_words(
    recorded: Any, reason: StopReason, word: str
) -> None:
    """Where the provider has none of its own; the conventions have five, and allow others."""
    runner = _runner(Decision("Done.", stop_reason=reason))

    recorded.instrument(runner)
    runner.run_sync("hi")

    (chat,), (agent,) = recorded.named("chat"), recorded.named("invoke_agent")
    assert chat.attributes["gen_ai.response.finish_reasons"] == (word,)
    assert agent.attributes["gen_ai.response.finish_reasons"] == (word,)


def test_a_request_for_tools_stops_for_a_tool_call(recorded: Any) -> None:
    """Unless the provider calls it something else."""
    runner = _runner(_TWO_CALLS, "Done.")

    recorded.instrument(runner)
    runner.run_sync("hi")

    words = [each.attributes["gen_ai.response.finish_reasons"] for each in recorded.named("chat")]
    assert words == [("tool_call",), ("stop",)]


def test_a_request_names_the_epoch_that_it_begins(recorded: Any) -> None:
    """Only the first request of an epoch, and why it does not extend the last one."""
    words = "so it goes. " * 40
    runner = Runner(
        ScriptedDecider(*[f"Reply {number}: {words}" for number in range(12)]),
        store=MemoryStore(),
        budget=Manager(CharCounter(), Digest(), Policy(2_000)),
    )

    recorded.instrument(runner)
    for _ in range(12):
        runner.run_sync(words)

    chats = recorded.named("chat")
    begun = [each.attributes for each in chats if "agentic.epoch.changes" in each.attributes]
    assert 0 < len(begun) < len(chats)
    assert begun[0]["agentic.epoch.changes"] == ("compaction",)
    assert begun[0]["agentic.epoch.tokens"] > 1_000
