"""Spans and metrics of OpenTelemetry for what an agent does, by its GenAI conventions.

Start with `instrument`, which returns an `Instrumentation`.

It needs only the API, opentelemetry-api (pip install 'agentic-weave[otel]'). Where no SDK is
configured, nothing is recorded and little is spent.

>>> from agentic import loop, testing
>>> runner = loop.Runner(testing.ScriptedDecider("Hello."))
>>> with instrument(runner, agent_name="greeter"):
...     runner.run_sync("Hi.").reply
'Hello.'
"""

try:
    from opentelemetry.metrics import Meter as _Meter
except ImportError as problem:
    raise ImportError(
        "bridges.otel needs opentelemetry-api: pip install 'agentic-weave[otel]'"
    ) from problem

if "explicit_bucket_boundaries_advisory" not in (_Meter.create_histogram.__kwdefaults__ or {}):
    from importlib.metadata import version as _version

    raise ImportError(
        "bridges.otel needs opentelemetry-api 1.30 or newer, and finds "
        f"{_version('opentelemetry-api')}: pip install -U 'agentic-weave[otel]'"
    )

from agentic.bridges.otel._instrument import Instrumentation, instrument

__all__ = ["Instrumentation", "instrument"]
