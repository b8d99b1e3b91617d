"""Spans and metrics of OpenTelemetry for what an agent does, by its GenAI conventions.

Start with `instrument`.

It needs only the API, opentelemetry-api (the extra `otel`). Where no SDK is
configured, nothing is recorded and little is spent.

>>> from agentic import loop, testing
>>> runner = loop.Runner(testing.ScriptedDecider("Hello."))
>>> with instrument(runner, agent_name="greeter"):
...     runner.run_sync("Hi.").reply
'Hello.'
"""

from agentic._base import _imports
from agentic._base._versions import require as _require

# The first version in which a histogram is created with its boundaries.
_require("bridges.otel", "opentelemetry-api", "otel", "1.30")

with _imports.quietly():
    from agentic.bridges.otel._instrument import instrument

__all__ = ["instrument"]
