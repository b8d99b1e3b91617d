"""A server that speaks the wire on 127.0.0.1, and the recorded traffic, if it is there."""

from collections.abc import Callable
from typing import Any

import cohere
import pytest


@pytest.fixture
def serve(serve_in_turn: Callable[..., Any]) -> Callable[..., Any]:
    """Start a server."""
    return serve_in_turn(  # type: ignore[no-any-return]
        lambda url: cohere.AsyncClientV2(api_key="none", base_url=url)
    )


@pytest.fixture(scope="session")
def exchanges(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges of version 2 of the API; a request may be missing."""
    recorded = traffic("cohere.jsonl", "vercel_ai_fixtures.jsonl")
    return [one for one in recorded if one["provider"] == "cohere" and not _is_version_1(one)]


def _is_version_1(one: dict[str, Any]) -> bool:
    return str(one.get("endpoint")).endswith("/v1/chat")
