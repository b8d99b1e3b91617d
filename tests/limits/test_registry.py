"""Models that the catalog lacks, looked for in the registry of genai-prices."""

from collections.abc import Callable

import pytest
from genai_prices.data_snapshot import get_snapshot

from agentic.limits import ModelLimits, lookup
from agentic.limits._catalog import SOURCES

CATALOG = {name for source in SOURCES for name in source.models}


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("grok-3", 131_072),
        ("us.amazon.nova-2-sonic-v1:0", 1_000_000),
        ("groq/canopylabs/orpheus-v1-english", 4_000),
        ("thinkingmachines/inkling", 524_288),
        ("baseten/thinkingmachines/inkling", 1_048_000),
        ("fireworks_ai/accounts/fireworks/models/inkling", 1_040_000),
        ("Claude-2.1", 200_000),
    ],
)
def test_model_only_in_registry_is_known(model: str, window: int) -> None:
    """Behind the prefixes that providers write, too; nobody states its longest reply."""
    assert lookup(model) == ModelLimits(window, 0)


def test_catalog_wins_where_it_knows() -> None:
    """The registry's other numbers for the same names are never seen."""
    told = {
        model.id: lookup(model.id)
        for provider in get_snapshot().providers
        for model in provider.models
        if model.id in CATALOG
    }

    assert told
    assert all(
        limits in {source.models.get(name) for source in SOURCES} for name, limits in told.items()
    )


@pytest.mark.parametrize(
    "model", ["my-model", "gpt-4.5-preview", "claude-opus-4-99", "", "a/b:c.d"]
)
def test_model_without_any_window_is_unknown(model: str) -> None:
    """Neither a name that nobody has, nor one whose window the registry lacks."""
    assert lookup(model) == ModelLimits(8_192, 0, known=False)


def test_empty_name_loads_neither_library_nor_catalog(run_python: Callable[[str], str]) -> None:
    """A custom decider often has no name, and every command would wait for the import."""
    program = (
        "import sys; from agentic.limits import cache_terms, lookup;"
        "from agentic.limits._lookup import wire_limits;"
        "print(lookup('').known, lookup(' ').known, cache_terms('').known, wire_limits(' '));"
        "print({'genai_prices', 'agentic.limits._catalog'} & {*sys.modules})"
    )

    assert run_python(program).splitlines() == [
        "False False False WireLimits(max_bytes=None, max_images=None)",
        "set()",
    ]


def test_the_library_may_be_missing(run_python: Callable[[str], str]) -> None:
    """The extra may be absent: nothing is raised and nothing is said."""
    program = (
        "import sys; sys.modules['genai_prices'] = None; from agentic.limits import lookup;"
        "print(lookup('grok-3').known, lookup('gpt-4o').context_window)"
    )

    assert run_python(program) == "False 128000"


def test_the_library_is_imported_when_needed(run_python: Callable[[str], str]) -> None:
    """Importing the room and looking up what the catalog has cost what they did."""
    program = (
        "import sys; from agentic.limits import lookup; lookup('gpt-4o');"
        "before = 'genai_prices' in sys.modules; lookup('grok-3');"
        "print(before, 'genai_prices' in sys.modules)"
    )

    assert run_python(program) == "False True"
