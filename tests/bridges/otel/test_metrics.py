"""The metrics of requests, runs and tools, in both versions of the conventions."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentic.errors import RequestFailed
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.usage import Usage

_OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN"
_USED = Usage(100, 20, cache_read=60, cache_write=30, reasoning=8)
_CALLS = Decision("", [ToolCall("c1", "t"), ToolCall("c2", "t")], _USED, response_model="m-1")
_INFERENCE = "gen_ai.client.inference"
_NAMES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "m",
}


_KINDS = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read.input_tokens": 60,
    "cache_write.input_tokens": 30,
    "reasoning.output_tokens": 8,
}


class Named(ScriptedDecider):
    """A decider that says whose model it asks."""

    name = "anthropic:m"


def _run(recorded: Any, *steps: Any, **options: Any) -> None:
    runner = Runner(Named(*steps), ScriptedExecutor({"t": "fine"}))
    with recorded.instrument(runner, **options):
        runner.run_sync("hi")


@pytest.mark.parametrize(("metric", "total"), _KINDS.items())
def test_tokens_are_counted_by_their_kind(recorded: Any, metric: str, total: int) -> None:
    """The parts are counted beside the sums that include them; no modality is known."""
    _run(recorded, Decision("Done.", usage=_USED, response_model="m-1"))

    (point,) = recorded.points(f"{_INFERENCE}.usage.{metric}")
    assert point["value"] == total
    assert point["attributes"] == {
        **_NAMES,
        "gen_ai.response.model": "m-1",
        "gen_ai.token.modality": "unknown",
    }


def test_operations_tokens_are_a_distribution(recorded: Any) -> None:
    """With the boundaries that the conventions give, from 1 to 64 M."""
    _run(recorded, Decision("Done.", usage=_USED))

    (point,) = recorded.points(f"{_INFERENCE}.operation.input_tokens")
    assert (point["count"], point["sum"]) == (1, 100)
    assert point["explicit_bounds"][:3] == [1, 4, 16]
    assert point["explicit_bounds"][-1] == 67_108_864
    assert recorded.total(f"{_INFERENCE}.operation.output_tokens") == 20


def test_failed_request_counts_no_tokens(recorded: Any) -> None:
    """It counts as 0, so that rates have a base, and is in no distribution."""
    with pytest.raises(RequestFailed):
        _run(recorded, RequestFailed("anthropic", 500, "down"))

    for kind in _KINDS:
        (point,) = recorded.points(f"{_INFERENCE}.usage.{kind}")
        assert point["value"] == 0
        assert point["attributes"] == {**_NAMES, "gen_ai.token.modality": "unknown"}
    assert recorded.points(f"{_INFERENCE}.operation.input_tokens") == []
    (point,) = recorded.points(f"{_INFERENCE}.duration")
    assert point["attributes"] == {**_NAMES, "error.type": "500"}


def test_duration_is_that_of_its_span(recorded: Any) -> None:
    """To the nanosecond, of requests, tools and the agent."""
    _run(recorded, _CALLS, "Done.", agent_name="mender")

    for metric, name in (
        (f"{_INFERENCE}.duration", "chat"),
        ("gen_ai.execute_tool.duration", "execute_tool"),
        ("gen_ai.invoke_agent.duration", "invoke_agent"),
    ):
        spans = recorded.named(name)
        lasted = sum(span.end_time - span.start_time for span in spans) / 1e9
        assert recorded.total(metric) == pytest.approx(lasted, abs=1e-9 * len(spans))


def test_calls_are_counted_by_the_run(recorded: Any) -> None:
    """Requests to the model, a failed one included, and tools that ran."""
    _run(recorded, _CALLS, "Done.", agent_name="mender")
    _run(recorded, "Done.", agent_name="mender")

    (requests,) = recorded.points("gen_ai.invoke_agent.inference_calls")
    (tools,) = recorded.points("gen_ai.invoke_agent.tool_calls")
    assert (requests["count"], requests["sum"]) == (2, 3)
    assert (tools["count"], tools["sum"], tools["min"]) == (2, 2, 0)
    assert requests["attributes"] == tools["attributes"] == {"gen_ai.agent.name": "mender"}


def test_tool_is_measured_by_name(recorded: Any) -> None:
    """Its call and its arguments would be too many values."""
    _run(recorded, _CALLS, "Done.")

    (point,) = recorded.points("gen_ai.execute_tool.duration")
    assert point["count"] == 2
    assert point["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.type": "function",
    }


def test_pieces_of_stream_are_measured(recorded: Any) -> None:
    """The first from the request on, the others from one another; without streaming nothing."""

    class Streaming(Named):
        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            await asyncio.sleep(0.02)
            for piece in ("It ", "is ", "green."):
                yield piece
            yield Decision("It is green.")

    runner = Runner(Streaming())
    recorded.instrument(runner)
    runner.run_sync("hi")

    (chat,) = recorded.named("chat")
    first = chat.attributes["gen_ai.response.time_to_first_chunk"]
    assert first >= 0.02
    assert chat.attributes["gen_ai.request.stream"] is True
    assert recorded.total(f"{_INFERENCE}.time_to_first_chunk") == first
    assert recorded.points(f"{_INFERENCE}.time_per_output_chunk")[0]["count"] == 2


@pytest.mark.parametrize(
    ("asked", "present"),
    [
        (None, True),
        ("", True),
        ("gen_ai_latest_experimental", True),
        ("http, gen_ai_latest_experimental", True),
        ("http", False),
        ("http/dup,database", False),
    ],
)
def test_the_environment_chooses_the_version(
    recorded: Any, monkeypatch: pytest.MonkeyPatch, asked: str | None, present: bool
) -> None:
    """Without a wish the present one; a list that leaves it out asks for version 1.36."""
    if asked is not None:
        monkeypatch.setenv(_OPT_IN, asked)

    _run(recorded, Decision("Done.", usage=_USED))

    (chat,) = recorded.named("chat")
    assert ("gen_ai.provider.name" in chat.attributes) is present
    assert ("gen_ai.system" in chat.attributes) is not present
    assert bool(recorded.points("gen_ai.client.inference.duration")) is present
    assert bool(recorded.points("gen_ai.client.operation.duration")) is not present


def test_old_version_has_its_own_names(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of what came later: contents in spans, cached tokens, tools' durations."""
    monkeypatch.setenv(_OPT_IN, "http")

    told = Decision("Done.", usage=_USED, response_id="r1", response_model="m-1")
    _run(recorded, _CALLS, told, capture_content=True)

    chat = recorded.named("chat")[-1]
    assert dict(chat.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "anthropic",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": "r1",
        "gen_ai.response.model": "m-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "agentic.turn": 2,
        "agentic.attempt": 1,
    }
    points = recorded.points("gen_ai.client.token.usage")
    sums = {point["attributes"]["gen_ai.token.type"]: point["sum"] for point in points}
    assert sums == {"input": 200, "output": 40}
    assert recorded.points("gen_ai.execute_tool.duration") == []
    (tool, _) = recorded.named("execute_tool")
    assert "gen_ai.tool.call.arguments" not in tool.attributes
