"""The spans of one run: the agent's, those of its requests to the model, and those of its tools."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from opentelemetry import context, trace

from agentic import events
from agentic._base._lazy import asyncio
from agentic.bridges.otel._content import asked_content, decided_content, texts_of
from agentic.bridges.otel._conventions import finish_reason, well_known_provider
from agentic.bridges.otel._telemetry import OpenSpan, Telemetry, error_type, stated
from agentic.loop import Decision, Executor
from agentic.messages import ToolCall, ToolResult
from agentic.messages._landmarks import find_summary

if TYPE_CHECKING:
    from agentic.protocols import ToolDefinition

_RUN = context.create_key("agentic-run")


@attrs.define(eq=False)
class RunTrace:
    """The open spans of a run, and what is counted in it."""

    telemetry: Telemetry
    agent_name: str
    provider: str
    """Replaces the provider in the decider's name."""
    conversation_id: str
    user_message: str
    run_id: str
    _agent: OpenSpan = attrs.field(init=False)
    _chat: OpenSpan | None = attrs.field(default=None, init=False)
    _tools: dict[str, OpenSpan] = attrs.field(factory=dict, init=False)
    """By the id of the call, until the result of the call is stored."""
    _epoch: dict[str, Any] = attrs.field(factory=dict, init=False)
    """What the span of the next request says of the epoch that it begins."""
    _inference_calls: int = attrs.field(default=0, init=False)
    _tool_calls: int = attrs.field(default=0, init=False)
    _latest_piece: float | None = attrs.field(default=None, init=False)
    """When the latest piece of a stream came, in seconds after the start of its request."""

    def begin(self) -> None:
        """Start the agent's span, current for the rest of the task that runs it."""
        # The conventions' names: the operation, and what it is about if that is known.
        name = f"invoke_agent {self.agent_name}".rstrip()
        dimensions = {"gen_ai.operation.name": "invoke_agent", **self._agent_attributes}
        self._agent = self.telemetry.start(name, dimensions)
        self._agent.describe({**self._conversation, "agentic.run.id": self.run_id})
        # A Runner may have several runs at a time: the context says whose call an executor runs.
        # Detached by `end`: both events are sent in the run's own task, which has one context.
        self._agent.attach(**{_RUN: self})

    @property
    def _agent_attributes(self) -> dict[str, Any]:
        return {"gen_ai.agent.name": self.agent_name} if self.agent_name else {}

    @property
    def _conversation(self) -> Mapping[str, str]:
        return {"gen_ai.conversation.id": self.conversation_id}

    def note_epoch(self, event: events.EpochStart) -> None:
        """Note that the next request does not extend the last one."""
        self._epoch = {
            "agentic.epoch.changes": list(event.changes),
            "agentic.epoch.reused_tokens": event.reused_tokens,
            "agentic.epoch.tokens": event.tokens,
            "agentic.epoch.stale_replies": event.stale_replies,
        }

    def begin_chat(self, event: events.ModelRequestStart) -> None:
        """Start the span of a request."""
        self._inference_calls += 1
        conventions = self.telemetry.conventions
        dimensions = {
            "gen_ai.operation.name": "chat",
            conventions.provider: self.provider or well_known_provider(event.provider),
        }
        if event.request_model:
            dimensions["gen_ai.request.model"] = event.request_model
            # Only a request knows its model, and the run has begun before.
            self._agent.span.set_attribute("gen_ai.request.model", event.request_model)
        name = f"chat {event.request_model}".rstrip()
        chat = self.telemetry.start(name, dimensions, trace.SpanKind.CLIENT)
        if chat.span.is_recording():
            chat.describe({**self._request_attributes(event), **self._epoch})
        self._epoch = {}
        self._chat, self._latest_piece = chat, None
        chat.attach()

    def _request_attributes(self, event: events.ModelRequestStart) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            **self._conversation,
            "agentic.turn": event.request.turn,
            "agentic.attempt": event.attempt,
        }
        if self.telemetry.conventions.has_details:
            attributes["gen_ai.request.stream"] = event.streamed
            summary = find_summary(event.request.history)
            attributes["gen_ai.conversation.compacted"] = summary is not None
        return (
            {**attributes, **asked_content(event.request)} if self.telemetry.content else attributes
        )

    def add_piece(self, _: events.MessageUpdate) -> None:
        """Measure how long a piece of a stream took."""
        if self._chat is None:
            return
        now = self._chat.seconds
        if self._latest_piece is None:
            self.telemetry.measure("first_chunk", now, self._chat.attributes)
            if self.telemetry.conventions.has_details:
                self._chat.span.set_attribute("gen_ai.response.time_to_first_chunk", now)
        else:
            wait_seconds = now - self._latest_piece
            self.telemetry.measure("next_chunk", wait_seconds, self._chat.attributes)
        self._latest_piece = now

    def end_chat(self, event: events.ModelRequestEnd) -> None:
        """Record how a request ended, and end its span."""
        chat, self._chat = self._chat, None
        # Only a run whose start was seen has a request: half a run would be a trace without a root.
        if chat is None:
            return
        chat.stop()
        decision, error = event.decision, event.error
        if decision is not None:
            chat.attributes |= stated({"gen_ai.response.model": decision.response_model})
            if chat.span.is_recording():
                word = decision.stop_word or finish_reason(decision.stop_reason)
                attributes = {
                    "gen_ai.response.finish_reasons": [word],
                    "gen_ai.response.model": decision.response_model,
                    "gen_ai.response.id": decision.response_id,
                    **_input_transformations(decision),
                    **(decided_content(decision, word) if self.telemetry.content else {}),
                }
                chat.describe(attributes)
                chat.span.set_attributes(self.telemetry.usage_attributes(decision.usage))
        else:
            chat.span.set_attribute("gen_ai.response.finish_reasons", ["error"])
        kind = "" if error is None else error_type(error)
        if kind:
            chat.attributes["error.type"] = kind
        # While the span is current, so that an exemplar of the metric points to it.
        self.telemetry.measure("inference", chat.seconds, chat.attributes)
        self.telemetry.count_tokens(decision, chat.attributes)
        chat.end(kind, self.telemetry.text_of(error))

    def begin_tool(self, call: ToolCall, description: str) -> OpenSpan:
        """Start the span of a call that is about to run."""
        # Here, and not at the event of its start: that is sent before any call of the turn runs.
        self._tool_calls += 1
        dimensions = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            **self._agent_attributes,
        }
        tool = self.telemetry.start(f"execute_tool {call.name}", dimensions)
        if tool.span.is_recording():
            attributes = {
                **self._conversation,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.description": description,
                "gen_ai.tool.call.arguments": self.telemetry.content_of(call.arguments),
            }
            tool.describe(attributes)
        self._tools[call.id] = tool
        tool.attach()
        return tool

    def end_tool(
        self, tool: OpenSpan, result: ToolResult | None = None, *, kind: str = "", text: str = ""
    ) -> None:
        """Record how a call ended, and end its span; a second time does nothing."""
        if tool.ended:
            return
        tool.stop()
        if result is not None and result.error is not None:
            kind, text = result.error.kind, result.error.message
        # An output may hold anything that the tool has read.
        if self.telemetry.content and result is not None:
            output = self.telemetry.content_of(result.text)
            tool.span.set_attribute("gen_ai.tool.call.result", output)
        if kind:
            tool.attributes["error.type"] = kind
        self.telemetry.measure("tool", tool.seconds, tool.attributes)
        tool.end(kind, self.telemetry.content_of(text))

    def store_result(self, event: events.ToolExecutionEnd) -> None:
        """End the span of a call that did not end by itself: it was stopped, and this says why."""
        tool = self._tools.pop(event.call.id, None)
        if tool is not None:
            self.end_tool(tool, event.result)

    def end(self, event: events.AgentEnd) -> None:
        """End the agent's span, and whatever is still open in it."""
        kind = "" if event.error is None else error_type(event.error)
        # Of these calls no event told how they ended, as when the store failed.
        for tool in self._tools.values():
            self.end_tool(tool, kind=kind or "interrupted")
        if self._chat is not None:
            self._chat.end(kind)
        agent, telemetry = self._agent, self.telemetry
        agent.stop()
        if agent.span.is_recording():
            # Of a whole run, the conventions have only the two sums.
            usage = telemetry.usage_attributes(event.usage, sums_only=True)
            word = finish_reason(event.stop_reason)
            attributes = {
                "gen_ai.response.finish_reasons": [word],
                "agentic.run.incomplete": event.incomplete,
                "agentic.run.limit": event.limit,
                **(texts_of(self.user_message, event.reply, word) if telemetry.content else {}),
            }
            agent.describe(attributes)
            agent.span.set_attributes(usage)
        if kind:
            agent.attributes["error.type"] = kind
        telemetry.measure("agent", agent.seconds, agent.attributes)
        telemetry.measure("inference_calls", self._inference_calls, self._agent_attributes)
        telemetry.measure("tool_calls", self._tool_calls, self._agent_attributes)
        agent.end(kind, telemetry.text_of(event.error))


def _input_transformations(decision: Decision) -> dict[str, Any]:
    """Return what the provider did to the input, if anything: the conventions have no name."""
    changes = decision.input_transformations
    if not changes:
        return {}
    return {
        "agentic.input.transformations": len(changes),
        "agentic.input.transformation_kinds": sorted({each.kind for each in changes}),
        "agentic.input.transformation_reasons": sorted({each.reason for each in changes}),
    }


@attrs.define(eq=False)
class TracedExecutor:
    """Runs each call in a span of its own, which is current in the call's own task.

    It takes the place of an executor, and passes on everything else that the executor has.
    """

    executor: Executor
    _descriptions: dict[str, str] = attrs.field(factory=dict, init=False)

    async def list_tools(self) -> "Sequence[ToolDefinition]":
        """Return the executor's tools, and remember their descriptions."""
        tools = await self.executor.list_tools()
        self._descriptions = {tool.name: tool.description for tool in tools}
        return tools

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run one call; outside an instrumented run, without a span."""
        run = context.get_value(_RUN)
        if not isinstance(run, RunTrace):
            return await self.executor.execute(call)
        tool = run.begin_tool(call, self._descriptions.get(call.name, ""))
        try:
            result = await self.executor.execute(call)
        except asyncio.CancelledError:
            # Whether for a timeout or for the end of the run, the event that follows says: only the
            # loop knows.
            tool.stop()
            raise
        except BaseException as exception:
            run.end_tool(tool, kind=error_type(exception), text=str(exception))
            raise
        if isinstance(result, ToolResult):
            run.end_tool(tool, result)
        else:
            tool.stop()  # the loop makes it a failure, and reports that
        return result

    def __getattr__(self, name: str) -> Any:
        # A copy asks before `executor` is set; looking that up here would never end.
        if name.startswith("__") or name == "executor":
            raise AttributeError(name)
        return getattr(self.executor, name)
