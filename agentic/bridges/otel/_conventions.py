"""The names of OpenTelemetry's GenAI conventions, in the two versions that can be written.

PRESENT is version 0.1.0 of https://github.com/open-telemetry/semantic-conventions-genai, the first
in a repository of its own: docs/gen-ai/client-inference.md, gen-ai-token-metrics.md,
gen-ai-agent-spans.md, execute-tool.md, gen-ai-metrics.md and non-normative/migration.md (read on
2026-11-23). V1_36 is what the plan for the transition calls the old version,
https://github.com/open-telemetry/semantic-conventions/blob/v1.36.0/docs/gen-ai/README.md.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from agentic.providers._registry import adapter_names, find_adapter
from agentic.usage import StopReason

_OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"
_LATEST: Final = "gen_ai_latest_experimental"
_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# `true` is the older spelling; the others are those of the package opentelemetry-util-genai
# (2026-11). EVENT_ONLY asks for log events, which the bridge does not write.
_WANTED: Final = {"true", "1", "span_only", "span_and_event"}


def _doubling(first: float, last: float, factor: float = 2) -> list[float]:
    """Return the boundaries of a histogram.

    >>> _doubling(0.1, 0.8)
    [0.1, 0.2, 0.4, 0.8]
    """
    bounds = [first]
    while bounds[-1] < last:
        bounds.append(round(bounds[-1] * factor, 2))
    return bounds


# The boundaries that the conventions give, of what a single call takes.
_CALL_SECONDS, _CALL_TOKENS = _doubling(0.01, 81.92), _doubling(1, 4**13, 4)


@attrs.frozen
class Conventions:
    """One version of the conventions: where it differs, and the metrics that it has."""

    provider: str
    """The attribute with the provider's name."""
    has_details: bool
    """Whether the newer attributes exist: cache and reasoning tokens, streaming, compaction,
    contents."""
    histograms: Mapping[str, tuple[str, str, Sequence[float]]]
    """What is measured -> the metric's name, its unit, its boundaries."""
    counters: Mapping[str, str]
    """A field of `usage.Usage` -> the name of the counter of its tokens."""


PRESENT = Conventions(
    provider="gen_ai.provider.name",
    has_details=True,
    histograms={
        "inference": ("gen_ai.client.inference.duration", "s", _CALL_SECONDS),
        "first_chunk": ("gen_ai.client.inference.time_to_first_chunk", "s", _CALL_SECONDS),
        "next_chunk": ("gen_ai.client.inference.time_per_output_chunk", "s", _CALL_SECONDS),
        "input": ("gen_ai.client.inference.operation.input_tokens", "{token}", _CALL_TOKENS),
        "output": ("gen_ai.client.inference.operation.output_tokens", "{token}", _CALL_TOKENS),
        "agent": ("gen_ai.invoke_agent.duration", "s", _doubling(0.1, 409.6)),
        "inference_calls": (
            "gen_ai.invoke_agent.inference_calls",
            "{inference_call}",
            _doubling(1, 128),
        ),
        "tool_calls": ("gen_ai.invoke_agent.tool_calls", "{tool_call}", _doubling(1, 128)),
        "tool": ("gen_ai.execute_tool.duration", "s", _CALL_SECONDS),
    },
    counters={
        "input": "gen_ai.client.inference.usage.input_tokens",
        "output": "gen_ai.client.inference.usage.output_tokens",
        "cache_read": "gen_ai.client.inference.usage.cache_read.input_tokens",
        "cache_write": "gen_ai.client.inference.usage.cache_write.input_tokens",
        "reasoning": "gen_ai.client.inference.usage.reasoning.output_tokens",
    },
)

V1_36 = Conventions(
    provider="gen_ai.system",
    has_details=False,
    histograms={
        "inference": ("gen_ai.client.operation.duration", "s", _CALL_SECONDS),
        "tokens": ("gen_ai.client.token.usage", "{token}", _CALL_TOKENS),
    },
    counters={},
)


_FINISH_REASONS: Final = {
    StopReason.TOOL: "tool_call",
    StopReason.MAX_TOKENS: "length",
}
"""A reason to stop -> its name in gen-ai-output-messages.json, where that differs."""


def finish_reason(reason: StopReason) -> str:
    """Return a reason to stop as the conventions call it.

    >>> finish_reason(StopReason.TOOL), finish_reason(StopReason.CONTENT_FILTER)
    ('tool_call', 'content_filter')
    """
    return _FINISH_REASONS.get(reason, str(reason))


def chosen_conventions() -> Conventions:
    """Return the version that the environment asks for; by default, the present one."""
    # The old default and its transition are gone from the conventions' own repository
    # (https://github.com/open-telemetry/semantic-conventions-genai/pull/198). The variable still
    # chooses: a list without `gen_ai_latest_experimental` asks for version 1.36.
    names = [part.strip() for part in os.environ.get(_OPT_IN, "").split(",") if part.strip()]
    return V1_36 if names and _LATEST not in names else PRESENT


def content_is_wanted() -> bool:
    """Return whether the environment asks for contents in spans."""
    return os.environ.get(_CONTENT, "").strip().lower() in _WANTED


def well_known_provider(name: str) -> str:
    """Return the provider as the conventions call it.

    The value says whose format the telemetry is in, and need not be who runs the model: a server
    that speaks Chat Completions is `openai`. A name without an adapter is used as it is.

    >>> well_known_provider("bedrock"), well_known_provider("acme"), well_known_provider("")
    ('aws.bedrock', 'acme', 'unknown')
    """
    if name not in adapter_names():
        return name or "unknown"
    return find_adapter(name).trace_name or name
