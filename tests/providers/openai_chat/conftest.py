"""A server that speaks the wire on 127.0.0.1, and the recorded traffic, if it is there."""

from collections.abc import Callable
from typing import Any

import pytest
from openai import AsyncOpenAI


@pytest.fixture
def serve(serve_in_turn: Callable[..., Any]) -> Callable[..., Any]:
    """Start a server; its client asks once."""
    return serve_in_turn(  # type: ignore[no-any-return]
        lambda url: AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    )


@pytest.fixture(scope="session")
def exchanges(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges of every endpoint that speaks Chat Completions."""
    return [one for one in traffic() if _speaks_chat(one)]


def _speaks_chat(one: dict[str, Any]) -> bool:
    endpoint = str(one.get("endpoint"))
    if one.get("provider") == "cohere" or one.get("kind") is None:
        return False
    if endpoint.endswith(("/chat/completions", "/v1/chat")) or "chat/completions?" in endpoint:
        return True
    body = one.get("response_json") or (one.get("chunks") or [None])[0]
    return endpoint == "None" and isinstance(body, dict) and "choices" in body
