"""A server on 127.0.0.1 that speaks the wires of OpenAI and of Anthropic, asked by LiteLLM."""

import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the network


@pytest.fixture
def serve(serve_in_turn: Callable[..., Any]) -> Callable[..., Any]:
    """Start a server, whose deciders ask once."""
    return serve_in_turn(_decider)  # type: ignore[no-any-return]


def _decider(url: str, model: str = "openai/gpt-4o", **options: Any) -> Any:
    from agentic.bridges.litellm import Decider  # noqa: PLC0415  the framework may be missing

    base = url if model.startswith("anthropic/") else f"{url}/v1"
    here = {"api_base": base, "api_key": "none", "num_retries": 0, "max_retries": 0}
    return Decider(model, options={**here, **options})
