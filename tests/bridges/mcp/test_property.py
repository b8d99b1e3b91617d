"""Whatever a server answers, and however damaged the ids of parallel calls are."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic import loop
from agentic.bridges.mcp import McpServer, McpTools
from agentic.messages import ToolCall
from agentic.providers import anthropic, gemini, openai_chat, openai_responses
from agentic.testing import ScriptedDecider

pytestmark = pytest.mark.slow

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_PICTURES = st.binary(min_size=1, max_size=9)


def _picture(data: bytes) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    return {"type": "image", "mimeType": "image/png", "data": text}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


_RESULTS = st.builds(
    lambda texts, pictures, structured, failed: {
        "content": [*map(_text, texts), *map(_picture, pictures)],
        **({"structuredContent": structured} if structured else {}),
        "isError": failed,
    },
    st.lists(_TEXTS, max_size=2),
    st.lists(_PICTURES, max_size=2),
    st.dictionaries(_TEXTS, st.integers(0, 9), max_size=2),
    st.booleans(),
)
_CALLS = st.lists(st.tuples(st.sampled_from(["c1", "c1", "c2", ""]), _RESULTS), max_size=4)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Return one event loop for all examples, and so one connection."""
    with asyncio.Runner() as one:
        yield one


def test_parallel_calls_get_their_own_results(
    odd: Callable[..., McpServer], runner: asyncio.Runner
) -> None:
    """Through the SDK's types and the wire of each provider: texts, media, structured content."""
    tools = McpTools(odd("echo"))

    @given(_CALLS)
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    def check(calls: list[tuple[str, dict[str, Any]]]) -> None:
        asked = [ToolCall(each, "first", json.dumps({"result": told})) for each, told in calls]
        decider = ScriptedDecider(loop.Decision("", asked), "Done.")

        result = runner.run(loop.Runner(decider, tools).run("Go."))

        assert len({each.call_id for each in result.tool_results}) == len(calls)
        for (_, told), got in zip(calls, result.tool_results, strict=True):
            texts = [block["text"] for block in told["content"] if "text" in block]
            data = [block["data"] for block in told["content"] if "data" in block]
            assert all(text in got.text for text in texts)
            assert [base64.b64encode(each.data).decode() for each in got.media] == data
            assert got.extra.get("structured_content", {}) == told.get("structuredContent", {})
            assert (got.error is not None) == told["isError"]
        for wire in (anthropic, gemini, openai_chat, openai_responses):
            assert wire.validate(wire.encode_request(result.history)) == []

    try:
        check()
    finally:
        runner.run(tools.close())
