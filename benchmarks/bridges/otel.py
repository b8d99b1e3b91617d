"""What it costs to observe a run: `bridges.otel` without an SDK, and with one.

It keeps no window, so there is nothing to compare but time. A turn is one request to the model and
one tool call, which is two spans and four metrics or more.
"""

import gc
import time
from collections.abc import Callable, Mapping

import attrs
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentic.bridges import otel
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Message, ToolCall
from agentic.testing import ScriptedExecutor
from agentic.usage import Usage
from benchmarks.bridges._scenario import Figures

__all__ = ["overhead", "run"]

_HISTORY, _TURNS, _RUNS = 2_000, 50, 9
_USED = Usage(1_000, 50, cache_read=900)


@attrs.define
class _Model:
    """Calls one tool in each turn."""

    name: str = "acme:acme-1"

    async def decide(self, request: Input, /) -> Decision:
        if request.turn == _TURNS:
            return Decision("Done.", usage=_USED)
        return Decision("", [ToolCall(f"c{request.turn}", "read")], _USED, response_id="r1")


def run() -> Mapping[str, Figures]:
    """Return nothing: the bridge decides nothing of what is sent."""
    return {}


def overhead() -> dict[str, float]:
    """Return the milliseconds that a turn takes on top of the same turn unobserved."""
    tracers, meters = TracerProvider(), MeterProvider([InMemoryMetricReader()])
    tracers.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))

    def with_sdk(runner: Runner) -> object:
        return otel.instrument(runner, tracer_provider=tracers, meter_provider=meters)

    ways: dict[str, Callable[[Runner], object]] = {
        "unobserved": lambda _: None,
        "no SDK": otel.instrument,
        "SDK, exported to memory": with_sdk,
    }
    # In turn, so that a machine that slows down slows all of them down.
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(_RUNS):
        for way, observe in ways.items():
            times[way].append(_milliseconds(observe))
    bare = min(times.pop("unobserved"))
    return {way: min(found) - bare for way, found in times.items()}


def _milliseconds(observe: Callable[[Runner], object]) -> float:
    """Return the processor time of a turn, with 2,000 messages before it."""
    history = [Message("user", f"m{number}") for number in range(_HISTORY)]
    runner = Runner(_Model(), ScriptedExecutor({"read": "text"}), max_turns=_TURNS)
    observe(runner)
    gc.collect()
    began = time.process_time()
    runner.run_sync(Request("hi", history=history))
    return (time.process_time() - began) / _TURNS * 1_000
