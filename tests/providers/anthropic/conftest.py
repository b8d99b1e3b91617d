"""The recorded exchanges of Anthropic's API, if they lie beside the checkout."""

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def recorded(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the exchanges with requests: Anthropic's own, and those of Bedrock in its words."""
    bedrock = [row for row in traffic("bedrock.jsonl") if "anthropic_version" in row["request"]]
    return [*traffic("anthropic.jsonl"), *bedrock]


@pytest.fixture(scope="session")
def replies(
    recorded: list[dict[str, Any]], traffic: Callable[..., list[dict[str, Any]]]
) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return every recorded reply, whole, and its events if it was streamed."""
    fixtures = [r for r in traffic("vercel_ai_fixtures.jsonl") if r["provider"] == "anthropic"]
    return [
        (row.get("response_json") or {}, row.get("chunks") or _events(row.get("sse", "")))
        for row in [*recorded, *fixtures]
        if row.get("status", 200) == 200 and "input_tokens" not in (row.get("response_json") or {})
    ]


def _events(stream: str) -> list[Any]:
    return [json.loads(line[5:]) for line in stream.split("\n") if line.startswith("data:")]
