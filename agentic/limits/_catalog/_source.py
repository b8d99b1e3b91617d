"""A page that states facts about models, and the day on which it was read."""

from collections.abc import Mapping
from datetime import date
from typing import Generic, TypeVar

import attrs

Facts = TypeVar("Facts")


@attrs.frozen
class Source(Generic[Facts]):
    """One page, and what it states about each of some models."""

    address: str
    """The address of the page."""
    models: Mapping[str, Facts]
    read_on: date
    """The day on which the page, or a stored copy of it, was read."""


LITELLM = "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json"
"""LiteLLM's map of models, as of version 1.110.2. It states the limit on the input of most models,
and names the maker's page of each."""
GENAI_PRICES = "https://github.com/pydantic/genai-prices/tree/main/prices/providers"
"""The price lists of `genai-prices`, as of version 0.2.3."""
