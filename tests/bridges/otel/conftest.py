"""An SDK that keeps in memory what it is given, and knows which spans are still open."""

import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agentic.bridges import otel
from agentic.bridges.otel._instrument import Instrumentation


class _Open(SpanProcessor):
    """Counts the spans that were started and not ended."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.names.append(span.name)

    def on_end(self, span: ReadableSpan) -> None:
        self.names.remove(span.name)


@attrs.define
class Recorded:
    """The spans and metrics of a test."""

    tracer_provider: TracerProvider
    meter_provider: MeterProvider
    _exporter: InMemorySpanExporter
    _reader: InMemoryMetricReader
    _open: _Open

    def instrument(self, target: Any, **options: Any) -> Instrumentation:
        """Instrument an object, with these providers."""
        providers = {
            "tracer_provider": self.tracer_provider,
            "meter_provider": self.meter_provider,
        }
        return otel.instrument(target, **{**providers, **options})

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans, in the order in which they began."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    @property
    def still_open(self) -> list[str]:
        """The names of the spans that have not ended."""
        return self._open.names

    def named(self, start: str) -> list[ReadableSpan]:
        """Return the spans whose name begins so."""
        return [span for span in self.spans if span.name.startswith(start)]

    def tree(self) -> list[str]:
        """Return each span's name, indented under its parent."""
        depth: dict[int, int] = {}
        lines = []
        for span in self.spans:
            above = -1 if span.parent is None else depth.get(span.parent.span_id, -1)
            depth[span.context.span_id] = above + 1
            lines.append("  " * (above + 1) + span.name)
        return lines

    def points(self, metric: str) -> list[dict[str, Any]]:
        """Return a metric's data points, each as its JSON."""
        data = self._reader.get_metrics_data()
        found = [] if data is None else json.loads(data.to_json())["resource_metrics"]
        return [
            point
            for resource in found
            for scope in resource["scope_metrics"]
            for each in scope["metrics"]
            if each["name"] == metric
            for point in each["data"]["data_points"]
        ]

    def total(self, metric: str) -> float:
        """Return the sum over a metric's data points."""
        return sum(point.get("sum", point.get("value")) for point in self.points(metric))


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """Make providers that belong to this test alone."""
    exporter, reader, still_open = InMemorySpanExporter(), InMemoryMetricReader(), _Open()
    tracers, meters = TracerProvider(), MeterProvider([reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    tracers.add_span_processor(still_open)
    yield Recorded(tracers, meters, exporter, reader, still_open)
    tracers.shutdown()
    meters.shutdown()


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of whoever runs the tests change nothing."""
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    monkeypatch.delenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", raising=False)
