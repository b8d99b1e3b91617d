"""What a call costs."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.usage import Usage, cost
from agentic.usage._usage import Cost

MILLION = 1_000_000
COUNTS = st.integers(min_value=0, max_value=10**9)


def _cost(usage: Usage, model: str, **options: object) -> Cost:
    got = cost(usage, model, **options)  # type: ignore[arg-type]
    assert got is not None
    return got


def test_cache_reads_are_not_paid_twice() -> None:
    """The cached part has its own price, the rest of the input the full one (2.50 and 1.25)."""
    got = _cost(Usage(input=MILLION, cache_read=400_000), "gpt-4o")

    assert got.input == Decimal("0.6") * Decimal("2.5") + Decimal("0.4") * Decimal("1.25")


def test_cache_writes_have_their_own_price() -> None:
    """Anthropic charges 3.75 for a written token, 0.30 for a read one and 3.00 for another."""
    usage = Usage(input=150_000, cache_write=60_000, cache_read=80_000)

    got = _cost(usage, "claude-sonnet-4-5")

    assert got.total == Decimal("0.01") * 3 + Decimal("0.06") * Decimal("3.75") + Decimal("0.024")


def test_reasoning_is_paid_as_output() -> None:
    """It is in the output already: 10.00 a million, once."""
    thought = _cost(Usage(output=MILLION, reasoning=900_000), "gpt-5")

    assert thought.output == _cost(Usage(output=MILLION), "gpt-5").output == Decimal(10)


def test_a_price_rises_with_the_input() -> None:
    """All of a large request is dearer, so that usages must not be added up before."""
    small, large = Usage(input=200_000), Usage(input=200_001)

    assert _cost(large, "gemini-2.5-pro").total > 2 * _cost(small, "gemini-2.5-pro").total * (
        Decimal("0.99")
    )


@pytest.mark.parametrize(
    ("model", "provider", "server"),
    [
        ("gpt-4o", None, "openai"),
        ("gpt-4o", "", "openai"),
        ("proxy/us.amazon.nova-pro-v1:0", None, "aws"),
        ("azure/gpt-4o", None, "azure"),
        ("gpt-4o", "openai_chat", "openai"),
        ("openai_responses:gpt-5", None, "openai"),
        ("models/gemini-2.5-pro", None, "google"),
        ("gemini-2.5-pro", "gemini", "google"),
        ("openrouter/anthropic/claude-sonnet-4.5", None, "openrouter"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, "aws"),
        ("amazon.nova-pro-v1:0", "bedrock", "aws"),
        ("bedrock:us.amazon.nova-pro-v1:0", None, "aws"),
    ],
)
def test_the_server_is_given_or_a_prefix(model: str, provider: str | None, server: str) -> None:
    """An adapter's name, the list's own, and the prefixes that gateways write."""
    assert _cost(Usage(input=1), model, provider=provider).provider == server


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("my-model", None),
        ("", None),
        (" ", None),
        ("a/" * 1_000, None),
        ("gpt-4o", "my-server"),
        ("my-model", "openai"),
    ],
)
def test_an_unknown_model_has_no_price(model: str, provider: str | None) -> None:
    """Somebody's own server is no reason to end a run."""
    assert cost(Usage(input=1_000), model, provider=provider) is None


def test_a_price_depends_on_the_day() -> None:
    """Prices change; a transcript is priced as of its day."""
    usage, day = Usage(input=MILLION), datetime(2025, 1, 1, tzinfo=UTC)
    then = _cost(usage, "o3", at=day)
    now = _cost(usage, "o3")

    assert then.total > now.total


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_any_usage_has_a_cost(
    sent: int, output: int, cache_read: int, cache_write: int, reasoning: int
) -> None:
    """Also one whose parts are more than their whole, as some server reported it."""
    usage = Usage(sent, output, 0, cache_read, cache_write, reasoning)

    got = _cost(usage, "claude-sonnet-4-5")

    assert got.total == got.input + got.output >= 0


def test_every_listed_model_takes_our_buckets() -> None:
    """No entry asks for a bucket that a Usage lacks."""
    usage = Usage(1_000, 100, 0, 300, 200, 40)
    listed = [
        (provider.id, cost(usage, model.id, provider=provider.id))
        for provider in get_snapshot().providers
        for model in provider.models
    ]

    assert len(listed) > 500
    assert all(got is None or got.total >= 0 for _, got in listed)


@pytest.mark.parametrize(("usage", "model"), [({"input": 1}, "gpt-4o"), (Usage(), None)])
def test_meaningless_call_is_refused(usage: object, model: object) -> None:
    """The error says what to pass."""
    with pytest.raises(ConfigError, match="; pass the"):
        cost(usage, model)  # type: ignore[arg-type]


def test_a_missing_library_is_named(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """With the command that installs it; the room itself loads without it."""
    program = (
        "import sys; sys.modules['genai_prices'] = None; from agentic.usage import Usage, cost\n"
        "try: cost(Usage(), 'gpt-4o')\n"
        "except ImportError as error: print(error)"
    )

    assert remedy("prices") in run_python(program)
