"""What a prompt cache costs, by the name of the model."""

import math

import pytest

from agentic.errors import ConfigError
from agentic.limits import CacheTerms, cache_terms
from agentic.limits._catalog import CACHES, NEWEST

ASSUMPTION = CacheTerms(0.1, 1.25, 300, known=False)


@pytest.mark.parametrize(
    ("model", "terms"),
    [
        ("claude-opus-4-8", CacheTerms(0.1, 1.25, 300)),
        ("us.anthropic.claude-fable-5-2", CacheTerms(0.025, 1.25, 300)),
        ("openrouter/anthropic/claude-sonnet-5.5", CacheTerms(0.05, 1.25, 300)),
        ("gpt-6.2-sol", CacheTerms(0.05, 1.25, 1_800)),
        ("gpt-5.6-terra", CacheTerms(0.1, 1.25, 1_800)),
        ("gpt-5-mini", CacheTerms(0.1, 1, 300)),
        ("azure/gpt-4o-mini", CacheTerms(0.5, 1, 300)),
        ("gpt-4-turbo", CacheTerms(1, 1, 0)),
        ("gemini-3.8-flash", CacheTerms(0.1, 1, 300)),
        ("amazon.nova-pro-v1:0", CacheTerms(0.25, 1, 300)),
    ],
)
def test_terms_are_those_of_the_model(model: str, terms: CacheTerms) -> None:
    """Behind the prefixes of servers, too, and for a longer name of the same model."""
    assert cache_terms(model) == terms


def test_newer_model_has_terms_of_newest_relative() -> None:
    """They are an assumption, and say so."""
    assert cache_terms("claude-fable-6") == CacheTerms(0.025, 1.25, 300, known=False)
    assert cache_terms("openai/gpt-7-sol") == CacheTerms(0.05, 1.25, 1_800, known=False)


@pytest.mark.parametrize("model", ["", "my-model", "claude-opus-4-99", "gpt-41"])
def test_unknown_model_has_ratio_of_anthropic(model: str) -> None:
    """The assumption is the dearest write and the shortest lifetime of the catalog."""
    assert cache_terms(model) == ASSUMPTION


def test_assumption_is_the_most_cautious_of_the_catalog() -> None:
    """Whoever reckons with it never relies on a cache that is cheaper or lives longer."""
    lifetimes = {terms.lifetime_seconds for terms in CACHES.values()} - {0}

    assert max(terms.write for terms in CACHES.values()) == ASSUMPTION.write
    assert min(lifetimes) == ASSUMPTION.lifetime_seconds


def test_prices_of_catalog_are_relative_to_uncached_input() -> None:
    """A read is never dearer than no cache at all, and a write never cheaper."""
    assert all(0 < terms.read <= 1 <= terms.write <= 2 for terms in CACHES.values())


def test_newest_models_have_terms() -> None:
    """An unknown newer model can take them over."""
    assert set(NEWEST.values()) <= set(CACHES)


@pytest.mark.parametrize("field", ["read", "write"])
@pytest.mark.parametrize("price", [-0.1, math.nan, math.inf, True, "0.1", None])
def test_price_must_be_a_number(field: str, price: object) -> None:
    """A negative, no number, no finite one, a bool and a text are refused by the field's name."""
    prices = {"read": 0.1, "write": 1.25} | {field: price}

    with pytest.raises(ConfigError, match=f"CacheTerms.{field} must be a number >= 0, got"):
        CacheTerms(**prices, lifetime_seconds=300)  # type: ignore[arg-type]


def test_lifetime_must_be_whole_seconds() -> None:
    """A fraction is a mistake of unit."""
    with pytest.raises(ConfigError, match="lifetime_seconds must be a whole number"):
        CacheTerms(0.1, 1.25, 0.5)  # type: ignore[arg-type]


def test_name_must_be_a_text() -> None:
    """As for limits."""
    with pytest.raises(ConfigError, match=r"^model must be a str.*, got None"):
        cache_terms(None)  # type: ignore[arg-type]
