"""From a model's name, however it is spelled, to its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.limits import CONTEXT_LIMITS, ModelLimits, get_context_limit, lookup
from agentic.limits._catalog import SOURCES
from agentic.limits._names import longest_name

CATALOG = {name: limits for source in SOURCES for name, limits in source.models.items()}
NAMES = st.sampled_from(sorted(CATALOG))
UNKNOWN = ModelLimits(8_192, 0, known=False)

PREFIXES = st.sampled_from(
    ["", "azure/", "openrouter/acme/", "models/", "us.acme.", "bedrock/eu.acme.", "acme:", "ft:"]
)
DAYS = st.dates().filter(lambda day: day.year > 2026)
DATED = st.one_of(
    DAYS.map("-{:%Y%m%d}".format),
    DAYS.map("@{:%Y%m%d}".format),
    DAYS.map("-{:%Y-%m-%d}".format),
    DAYS.map("-{:%Y%m%d}-v1:0".format),
)

# The whole table of supyagent's sprint 7 (https://github.com/ergodic-ai/supyagent).
SUPYAGENT = {
    "gpt-4o": 128000,
    "gpt-4-turbo": 128000,
    "gpt-4": 8192,
    "gpt-3.5-turbo": 16384,
    "claude-3-5-sonnet": 200000,
    "claude-3-opus": 200000,
    "claude-3-haiku": 200000,
    "default": 8192,
}


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_every_name_finds_itself(name: str) -> None:
    """No entry is hidden by another."""
    assert lookup(name) is CATALOG[name]


@given(prefix=PREFIXES, name=NAMES, date=st.just("") | DATED)
def test_prefix_date_and_case_are_ignored(prefix: str, name: str, date: str) -> None:
    """A model is found behind a provider's prefix, before a snapshot's date, in capitals."""
    spelled = prefix + name + date

    assert lookup(spelled) is lookup(spelled.upper()) is CATALOG[name]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o", "gpt-4o"),
        ("gpt-5.6-terra", "gpt-5.6"),
        ("gpt-oss:20b", "gpt-oss-20b"),
        ("anthropic/claude-4.5-sonnet-20250929", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-3.5-sonnet:beta", "claude-3-5-sonnet"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("azure/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4o.ft-0123456789", "gpt-4o"),
        ("ft:gpt-4o-mini-2024-07-18:acme::b7", "gpt-4o-mini"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("gpt-5.1-codex-max", "gpt-5.1"),
        ("xai/grok-4-1-fast-reasoning", "grok-4.1-fast"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1"),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
            "claude-3-haiku",
        ),
        (" gpt-4o\n", "gpt-4o"),
    ],
)
def test_spellings_of_the_providers_are_understood(model: str, name: str) -> None:
    """Each is a name that some provider or gateway really asks for."""
    assert lookup(model) is CATALOG[name]


@pytest.mark.parametrize(
    "model",
    [
        "",
        " ",
        "my-model",
        "default",
        "claude",
        "gpt-41",
        "gpt-4o1",
        "gpt-4.5-preview",
        "claude-opus-4-99",
    ],
)
def test_merely_similar_model_is_unknown(model: str) -> None:
    """Another version, a longer word or a family is no match."""
    assert lookup(model) == UNKNOWN
    assert get_context_limit(model) == 8_192


@pytest.mark.parametrize("model", [None, 4, b"gpt-4o", ["gpt-4o"]])
def test_non_text_model_is_refused(model: object) -> None:
    """The error names the argument and shows what was given."""
    with pytest.raises(ConfigError, match=r"^model must be a str.*, got .*"):
        lookup(model)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_has_limits(model: str) -> None:
    """Whatever a configuration holds, there is a window to work with."""
    limits = lookup(model)

    assert limits.context_window > 0
    assert limits.known or limits == UNKNOWN


@given(
    names=st.permutations(["gpt-4", "gpt-4o", "gpt-4o-mini", "gpt-4-turbo", "gpt-4.1", "o1"]),
    model=st.sampled_from(["gpt-4o-mini-2024-07-18", "ft:gpt-4o-mini:o1::x", "a/gpt-4o-mini"]),
)
def test_longest_name_wins_in_any_order(names: list[str], model: str) -> None:
    """The order of the catalog decides nothing."""
    assert longest_name(model, names) == "gpt-4o-mini"


@pytest.mark.parametrize("model", ["deepseek-r1-distill-llama-3.1", "grok-3", "gpt-5.9"])
def test_similar_names_are_not_the_catalog_s(model: str) -> None:
    """What another registry says of such a model is not the catalog's."""
    assert longest_name(model, CATALOG) is None


def test_context_limits_hold_every_supyagent_value() -> None:
    """A user who comes from there finds the same windows, in the table and by the function."""
    assert CONTEXT_LIMITS.items() >= SUPYAGENT.items()
    assert {name: get_context_limit(name) for name in SUPYAGENT} == SUPYAGENT


def test_context_limits_are_catalog_and_default() -> None:
    """There is one table of facts."""
    windows = {name: limits.context_window for name, limits in CATALOG.items()}

    assert windows | {"default": 8_192} == CONTEXT_LIMITS


def test_context_limits_are_read_only() -> None:
    """An entry that `lookup` would not see cannot be added."""
    with pytest.raises(TypeError):
        CONTEXT_LIMITS["my-model"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-5", 200_000),
        ("claude-sonnet-4", 200_000),
        ("gpt-5", 272_000),
        ("gpt-5.4", 922_000),
        ("gpt-4o-realtime-preview", 16_000),
    ],
)
def test_the_window_needs_no_beta_header(model: str, window: int) -> None:
    """Neither what a beta header unlocks nor what is kept for the output is in the window."""
    assert get_context_limit(model) == window
