"""Connecting one Runner, View, Session or Manager to OpenTelemetry, and disconnecting it."""

import weakref
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias

import attrs
from opentelemetry import context, metrics, trace

from agentic import events
from agentic.bridges.otel._conventions import chosen_conventions, content_is_wanted
from agentic.bridges.otel._run import RunTrace, TracedExecutor
from agentic.bridges.otel._telemetry import OpenSpan, Telemetry, error_type
from agentic.context.budget import Manager
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.loop import Runner
from agentic.session import Session

Target: TypeAlias = "Runner | View | Session | Manager"

_COMPACTION = context.create_key("agentic-compaction")
_RECORDERS: Mapping[type, Callable[[RunTrace, Any], None]] = {
    events.ModelRequestStart: RunTrace.begin_chat,
    events.ModelRequestEnd: RunTrace.end_chat,
    events.MessageUpdate: RunTrace.add_piece,
    events.EpochStart: RunTrace.note_epoch,
    events.ToolExecutionEnd: RunTrace.store_result,
}
"""What records an event in the middle of a run."""


def instrument(
    target: Target,
    *,
    agent_name: str = "",
    provider: str = "",
    conversation_id: str = "",
    capture_content: bool | None = None,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
) -> "Instrumentation":
    """Emit spans and metrics for what a Runner, a View, a Session or a Manager does.

    A Runner's executor is replaced by one that runs each call in its span. A Runner of a session is
    instrumented by itself: the session's own spans are those of the summaries that it makes.

    Args:
        target: what is observed.
        agent_name: the `gen_ai.agent.name`, and part of the name of the agent's span.
        provider: the `gen_ai.provider.name` of requests. By default, it is derived from the
            decider's `name`; one without a name is `unknown`.
        conversation_id: the `gen_ai.conversation.id`. By default, a Runner's `conversation_id` or
            a Session's `session_id`.
        capture_content: whether messages, arguments, results and the texts of errors are recorded.
            By default, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT decides, and otherwise
            they are not. Version 1.36 of the conventions has no place for them.
        tracer_provider: by default the global one, even if it is set later.
        meter_provider: the same for metrics.

    Raises:
        ConfigError: the target is something else, or is already instrumented.
    """
    if not isinstance(target, Runner | View | Session | Manager):
        raise ConfigError(
            "target", target, "a Runner, a View, a Session or a Manager", "pass one of these"
        )
    # Two would count every token twice. It is the one signal that every kind of target sends.
    receivers = events.context_compaction_start.receivers_for(target)
    if any(isinstance(getattr(each, "__self__", None), Instrumentation) for each in receivers):
        raise ConfigError(
            "target",
            target,
            "an object that is not instrumented yet",
            "call uninstrument() of the earlier instrumentation first",
        )
    conventions = chosen_conventions()
    captures = content_is_wanted() if capture_content is None else capture_content
    telemetry = Telemetry.make(
        conventions,
        content=captures and conventions.has_details,
        tracer_provider=tracer_provider,
        meter_provider=meter_provider,
    )
    name = conversation_id or getattr(target, "session_id", "")
    instrumentation = Instrumentation(telemetry, agent_name, provider, name, weakref.ref(target))
    instrumentation._connect(target)  # noqa: SLF001  its other half
    return instrumentation


@attrs.define(eq=False)
class Instrumentation:
    """An instrumented object; in a `with` block, until the block is left.

    It lasts as long as the object, whether or not it is kept.
    """

    _telemetry: Telemetry = attrs.field(repr=False)
    _agent_name: str
    _provider: str
    _conversation_id: str
    _target: "weakref.ref[Any]" = attrs.field(repr=False)
    """Weak: a service may make a Runner for each request."""
    _runs: dict[str, RunTrace] = attrs.field(factory=dict, init=False, repr=False)
    """The open runs, by their id."""
    _compactions: set[OpenSpan] = attrs.field(factory=set, init=False, repr=False)
    """The open compactions."""
    _is_active: bool = attrs.field(default=True, init=False)

    @property
    def _receivers(self) -> dict[Any, Any]:
        return {
            events.agent_start: self._on_agent_start,
            events.agent_end: self._on_agent_end,
            events.model_request_start: self._on_run_event,
            events.model_request_end: self._on_run_event,
            events.message_update: self._on_run_event,
            events.epoch_start: self._on_run_event,
            events.tool_execution_end: self._on_run_event,
            events.context_compaction_start: self._on_compaction_start,
            events.context_compaction_end: self._on_compaction_end,
        }

    def uninstrument(self) -> None:
        """Restore the Runner's executor, and begin no more spans.

        Runs and compactions that are under way are recorded to their end. A second time does
        nothing.
        """
        # Spans that are open are ended by their events, so the receivers stay until none is.
        self._is_active = False
        target = self._target()
        if isinstance(target, Runner) and isinstance(target.executor, TracedExecutor):
            target.executor = target.executor.executor
        self._disconnect_if_idle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstrument()

    def _connect(self, target: Target) -> None:
        # A call runs in a task of its own, where no event is sent that could make its span current.
        if isinstance(target, Runner) and target.executor is not None:
            target.executor = TracedExecutor(target.executor)
        for signal, receiver in self._receivers.items():
            # Held by the signal: this object need not be kept, and is released with the target.
            signal.connect(receiver, target, weak=False)
        weakref.finalize(target, self._disconnect).atexit = False

    def _disconnect_if_idle(self) -> None:
        if not (self._is_active or self._runs or self._compactions):
            self._disconnect()

    def _disconnect(self) -> None:
        for signal, receiver in self._receivers.items():
            signal.disconnect(receiver)

    def _on_agent_start(self, _: object, event: events.AgentStart) -> None:
        # Ended in the middle of a run, an instrumentation records that one, and none that follows.
        if not self._is_active:
            return
        run = self._runs[event.run_id] = RunTrace(
            self._telemetry,
            self._agent_name,
            self._provider,
            self._conversation_id or event.conversation_id,
            event.user_message,
            event.run_id,
        )
        run.begin()

    def _on_agent_end(self, _: object, event: events.AgentEnd) -> None:
        run = self._runs.pop(event.run_id, None)
        if run is not None:
            run.end(event)
        self._disconnect_if_idle()

    def _on_run_event(self, _: object, event: Any) -> None:
        run = self._runs.get(event.run_id)
        if run is not None:
            _RECORDERS[type(event)](run, event)

    def _on_compaction_start(self, _: object, event: events.ContextCompactionStart) -> None:
        run = self._runs.get(event.run_id)
        if not self._is_active and run is None:
            return
        conversation_id = self._conversation_id if run is None else run.conversation_id
        attributes = {
            "gen_ai.conversation.id": conversation_id,
            "agentic.compaction.reason": str(event.reason),
            "agentic.compaction.tokens_before": event.tokens_before,
            "agentic.compaction.messages": event.messages,
        }
        dimensions = {"gen_ai.operation.name": "compact_context"}
        span = self._telemetry.start("compact_context", dimensions)
        span.describe(attributes)
        self._compactions.add(span)
        span.attach(**{_COMPACTION: span})

    def _on_compaction_end(self, _: object, event: events.ContextCompactionEnd) -> None:
        # Started in this very coroutine, by whoever compacts: several may do so at a time.
        span = context.get_value(_COMPACTION)
        if not isinstance(span, OpenSpan) or span not in self._compactions:
            return
        self._compactions.discard(span)
        span.span.set_attributes(self._telemetry.usage_attributes(event.usage))
        span.span.set_attribute("agentic.compaction.tokens_after", event.tokens_after)
        if event.declined:
            span.span.set_attribute("agentic.compaction.declined", event.declined)
        kind = "" if event.error is None else error_type(event.error)
        span.end(kind, self._telemetry.text_of(event.error))
        self._disconnect_if_idle()
