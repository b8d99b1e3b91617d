"""The catalog: every number has a page and a day."""

from collections import Counter
from datetime import date

import pytest

from agentic.limits import CacheTerms, ModelLimits
from agentic.limits._catalog import (
    CACHE_SOURCES,
    FAMILIES,
    LIMITS,
    NEWEST,
    SERVER_SOURCES,
    SERVERS,
    SOURCES,
)
from agentic.limits._catalog._servers import SERVERS as SERVER_ROWS
from agentic.limits._catalog._source import Source


def test_every_number_has_page_and_day() -> None:
    """An address that can be opened, a day that has been, and at least one model."""
    today = date.today()  # noqa: DTZ011  a day, not a moment
    for source in (*SOURCES, *SERVER_SOURCES, *CACHE_SOURCES):
        assert source.address.startswith("https://")
        assert date(2026, 1, 1) <= source.read_on <= today, source.address
        assert source.models, source.address


@pytest.mark.parametrize("sources", [SOURCES, CACHE_SOURCES])
def test_no_model_is_stated_twice(sources: tuple[Source[ModelLimits | CacheTerms], ...]) -> None:
    """Two spellings of one name, `4.5` and `4-5`, count as one."""
    names = Counter(name.replace(".", "-") for source in sources for name in source.models)

    assert [name for name, times in names.items() if times > 1] == []


def test_every_model_has_a_window() -> None:
    """An entry without a window, or one longer in its output than in all, is a slip."""
    sources = [*SOURCES, *SERVER_SOURCES]
    limits = [entry for source in sources for entry in source.models.values()]

    assert all(entry.known for entry in limits)
    assert all(0 < entry.context_window >= entry.max_output for entry in limits)


STATING = {"amazon", "anthropic", "cohere", "google", "openai"}
"""Makers whose pages state the longest reply of each model; the others' rarely do."""
UNSTATED = {"gpt-4", "gpt-4-32k"}
"""Models of these makers whose page does not."""


def test_no_longest_reply_is_missing_accidentally() -> None:
    """A new row without one is added here, or it is a slip."""
    rows = [
        row
        for family in FAMILIES
        if family.__name__.rpartition("._")[2] in STATING
        for source in family.LIMITS
        for row in source.models.items()
    ]

    assert {name for name, entry in rows if not entry.max_output} == UNSTATED


def test_the_newest_of_each_family_is_in_the_catalog() -> None:
    """Its limits are assumed for a model that is newer still; its name begins as the family's."""
    assert set(NEWEST.values()) <= set(LIMITS)
    assert all(name.startswith(beginning) for beginning, name in NEWEST.items())


def test_no_prefix_is_stated_twice() -> None:
    """A server has one table."""
    prefixes = Counter(prefix for server in SERVER_ROWS for prefix in server.prefixes)

    assert max(prefixes.values()) == 1
    assert not set(SERVERS) & {"anthropic", "openai", "google", "models", "accounts"}
