"""One instrumented object's tracer and metrics, and a span that is current while it is open."""

import time
from collections.abc import Mapping
from typing import Any

import attrs
from opentelemetry import context, metrics, trace

from agentic.bridges.otel._conventions import Conventions
from agentic.errors import RequestFailed
from agentic.loop import Decision
from agentic.providers.kit import replace_surrogates
from agentic.usage import Usage, normalize

_SCOPE = "agentic.bridges.otel"
_OPEN = context.create_key("agentic-open-span")
_NANO = 1e9

_USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_write.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
"""A field of `Usage` -> the attribute. In both, the input includes the cache, and the output
includes reasoning. Only the first two exist in version 1.36."""

_Attributes = dict[str, Any]


def error_type(error: BaseException) -> str:
    """Return what `error.type` says of an error: the HTTP status, or the name of the exception.

    >>> error_type(RequestFailed("acme", 429, "too fast")), error_type(TimeoutError())
    ('429', 'TimeoutError')
    """
    if isinstance(error, RequestFailed) and error.status is not None:
        return str(error.status)
    return type(error).__qualname__


def stated(attributes: Mapping[str, Any]) -> _Attributes:
    r"""Return the attributes that say something, as texts that can be exported.

    >>> stated({"gen_ai.agent.name": "", "gen_ai.tool.call.id": "c\ud83d"})
    {'gen_ai.tool.call.id': 'c\ufffd'}
    """
    return {key: replace_surrogates(value) for key, value in attributes.items() if value}


@attrs.define(eq=False)
class OpenSpan:
    """A span that has begun. What starts in its context, until it ends, is its child."""

    span: trace.Span
    attributes: _Attributes
    """Those that the metrics of this operation have, too."""
    _began_ns: int
    """Since the epoch. The duration is measured by another clock, which is never set."""
    _clock_ns: int = attrs.field(factory=time.perf_counter_ns, init=False)
    _stopped_ns: int | None = attrs.field(default=None, init=False)
    _token: Any = attrs.field(default=None, init=False)
    # A call ends in its own task, and again with the event of its result, which comes later.
    ended: bool = attrs.field(default=False, init=False)

    def describe(self, attributes: Mapping[str, Any]) -> None:
        """Set the attributes that say something."""
        self.span.set_attributes(stated(attributes))

    def attach(self, **more: Any) -> None:
        """Make the span current in this context, with further values of the context."""
        inside = context.set_value(_OPEN, self, trace.set_span_in_context(self.span))
        for key, value in more.items():
            inside = context.set_value(key, value, inside)
        self._token = context.attach(inside)

    def stop(self) -> None:
        """Take the time now, and leave it to a later `end` to say how it ended."""
        if self._stopped_ns is None:
            self._stopped_ns = time.perf_counter_ns()

    @property
    def seconds(self) -> float:
        """How long it took: until it stopped, or until now."""
        end = time.perf_counter_ns() if self._stopped_ns is None else self._stopped_ns
        return (end - self._clock_ns) / _NANO

    def end(self, kind: str = "", message: str = "") -> None:
        """End the span, as an error if `kind` says so; a second time does nothing."""
        if self.ended:
            return
        self.stop()
        self.ended = True
        if kind:
            self.attributes["error.type"] = kind
            self.span.set_attribute("error.type", kind)
            self.span.set_status(trace.Status(trace.StatusCode.ERROR, message or None))
        end: int = self._stopped_ns  # type: ignore[assignment]  # set by `stop`
        self.span.end(self._began_ns + end - self._clock_ns)
        # Elsewhere the token means nothing, and the API would log that it failed to detach: a run
        # whose loop was closed ends in another context.
        if self._token is not None and context.get_value(_OPEN) is self:
            context.detach(self._token)


@attrs.define(eq=False)
class Telemetry:
    """Starts spans and records metrics, in one version of the conventions."""

    conventions: Conventions
    content: bool
    """Whether contents are recorded: messages, arguments, results, and the texts of errors."""
    tracer: trace.Tracer
    _histograms: Mapping[str, metrics.Histogram]
    _counters: Mapping[str, metrics.Counter]

    @classmethod
    def make(
        cls,
        conventions: Conventions,
        *,
        content: bool,
        tracer_provider: trace.TracerProvider | None,
        meter_provider: metrics.MeterProvider | None,
    ) -> "Telemetry":
        """Create the tracer and the metrics; a provider that is None is the global one."""
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        histograms = {
            key: meter.create_histogram(
                name, unit, explicit_bucket_boundaries_advisory=list(boundaries)
            )
            for key, (name, unit, boundaries) in conventions.histograms.items()
        }
        counters = {
            key: meter.create_counter(name, "{token}") for key, name in conventions.counters.items()
        }
        tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        return cls(conventions, content, tracer, histograms, counters)

    def start(
        self,
        name: str,
        dimensions: _Attributes,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
    ) -> OpenSpan:
        """Start a span with the attributes of its metrics, by which a sampler may decide.

        What only describes it is added where the span is recorded, so that it costs nothing
        elsewhere.
        """
        # Taken here: the end is this time plus the duration that the other clock measured.
        began = time.time_ns()
        span = self.tracer.start_span(name, kind=kind, attributes=dimensions, start_time=began)
        return OpenSpan(span, dimensions, began)

    def text_of(self, error: BaseException | None) -> str:
        """Return what an error says, if contents are recorded: it may quote them."""
        return self.content_of(str(error)) if error is not None else ""

    def content_of(self, text: str) -> str:
        """Return a text that can be exported, if contents are recorded; otherwise nothing."""
        exportable: str = replace_surrogates(text) if self.content else ""
        return exportable

    def measure(self, key: str, amount: float, attributes: Mapping[str, Any]) -> None:
        """Record a value, if the conventions have this metric."""
        histogram = self._histograms.get(key)
        if histogram is not None:
            histogram.record(amount, attributes)

    def count_tokens(self, decision: Decision | None, attributes: Mapping[str, Any]) -> None:
        """Record the tokens of a request; without a report, none."""
        counts = None if decision is None else decision.usage
        usage = normalize(counts)
        if counts is not None:
            for side in ("input", "output"):
                amount = getattr(usage, side)
                self.measure(side, amount, attributes)
                if "tokens" in self._histograms:
                    self.measure("tokens", amount, {**attributes, "gen_ai.token.type": side})
        # A `Usage` does not distinguish tokens by modality.
        labels = {**attributes, "gen_ai.token.modality": "unknown"}
        labels.pop("error.type", None)
        # 0 as well, also for a request that failed: the conventions ask for it, so that rates have
        # a base.
        for field, counter in self._counters.items():
            counter.add(getattr(usage, field), labels)

    def usage_attributes(self, usage: Usage | None, *, sums_only: bool = False) -> _Attributes:
        """Return the attributes of a usage; parts that are 0 may be unknown, and are left out."""
        if usage is None:
            return {}
        sums = ("input", "output")
        fields = _USAGE if self.conventions.has_details and not sums_only else sums
        return {
            _USAGE[field]: amount
            for field in fields
            if (amount := getattr(usage, field)) or field in sums
        }
