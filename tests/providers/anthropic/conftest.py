"""The recorded exchanges of Anthropic's API, if they lie beside the checkout."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def recorded() -> list[dict[str, Any]]:
    """Return the exchanges with requests: Anthropic's own, and those of Bedrock in its words."""
    bedrock = [row for row in _rows("bedrock.jsonl") if "anthropic_version" in row["request"]]
    return [*_rows("anthropic.jsonl"), *bedrock]


@pytest.fixture(scope="session")
def replies(recorded: list[dict[str, Any]]) -> list[tuple[dict[str, Any], list[Any]]]:
    """Return every recorded reply, whole, and its events if it was streamed."""
    fixtures = [r for r in _rows("vercel_ai_fixtures.jsonl") if r["provider"] == "anthropic"]
    return [
        (row.get("response_json") or {}, row.get("chunks") or _events(row.get("sse", "")))
        for row in [*recorded, *fixtures]
        if row.get("status", 200) == 200 and "input_tokens" not in (row.get("response_json") or {})
    ]


def _events(stream: str) -> list[Any]:
    return [json.loads(line[5:]) for line in stream.split("\n") if line.startswith("data:")]


def _rows(name: str) -> list[dict[str, Any]]:
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    path = root.parent / "shared" / "data" / "provider_responses" / name
    if not path.is_file():
        pytest.skip("the recorded traffic does not lie beside this checkout")
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
