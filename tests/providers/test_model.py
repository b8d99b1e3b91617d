"""What the deciders of all adapters share: the name and the limits of their model."""

from typing import Any

import pytest

from agentic import providers
from agentic.limits import ModelLimits, lookup

NAMES = ("anthropic", "bedrock", "cohere", "gemini", "ollama", "openai_chat", "openai_responses")


@pytest.mark.parametrize("provider", NAMES)
def test_a_decider_names_its_model(provider: str) -> None:
    """Limits that were passed in apply; the name has the provider first."""
    given = ModelLimits(1000, 100)
    client: Any = None

    decider = getattr(providers, provider).Decider(client, "gpt-4o", limits=given)

    assert decider.name == f"{provider}:gpt-4o"
    assert decider.limits() is given


# A server of Ollama decides on the window itself: tests/providers/ollama.
@pytest.mark.parametrize("provider", [name for name in NAMES if name != "ollama"])
def test_the_catalog_has_other_limits(provider: str) -> None:
    """Without limits of the caller's."""
    client: Any = None

    limits = getattr(providers, provider).Decider(client, "gpt-4o").limits()

    assert limits == lookup("gpt-4o")
    assert limits.context_window == 128_000
