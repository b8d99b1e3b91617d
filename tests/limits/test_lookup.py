"""From a model's name, however it is spelled, to its limits."""

import attrs
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
SERVERS = {"azure/", "openrouter/acme/", "us.acme.", "bedrock/eu.acme."}
"""The prefixes that name a server, which may have numbers of its own."""
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


def test_every_name_finds_itself() -> None:
    """No entry is hidden by another."""
    assert [name for name, entry in CATALOG.items() if lookup(name) is not entry] == []


@given(prefix=PREFIXES, name=NAMES, date=st.just("") | DATED)
def test_prefix_date_and_case_are_ignored(prefix: str, name: str, date: str) -> None:
    """A model is found behind a provider's prefix, before a snapshot's date, in capitals."""
    spelled, undated = prefix + name + date, lookup(prefix + name)

    assert lookup(spelled) is lookup(spelled.upper()) is undated
    assert undated is CATALOG[name] or prefix in SERVERS


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
        ("gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("amazon.nova-pro-v1:0", "nova-pro"),
        ("azure/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("gpt-4o.ft-0123456789", "gpt-4o"),
        ("ft:gpt-4o-mini-2024-07-18:acme::b7", "gpt-4o-mini"),
        ("claude-sonnet-4@20250514", "claude-sonnet-4"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-1106"),
        ("gpt-4-0314", "gpt-4"),
        ("databricks/databricks-gpt-5-4-mini", "gpt-5.4-mini"),
        ("azure_ai/fw-glm-5.2", "glm-5.2"),
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
    assert limits.known or limits.relative or limits == UNKNOWN


@given(
    names=st.permutations(["gpt-4", "gpt-4o", "gpt-4o-mini", "gpt-4-turbo", "gpt-4.1", "o1"]),
    model=st.sampled_from(["gpt-4o-mini-2024-07-18", "ft:gpt-4o-mini:o1::x", "a/gpt-4o-mini"]),
)
def test_longest_name_wins_in_any_order(names: list[str], model: str) -> None:
    """The order of the catalog decides nothing."""
    assert longest_name(model, names) == "gpt-4o-mini"


@pytest.mark.parametrize("model", ["distill-llama-3.1", "grok-3", "gpt-5.9"])
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


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        # The window is 1,050,000, and the input may be 922,000 of it.
        ("gpt-6.2-sol", ModelLimits(922_000, 128_000)),
        ("gpt-6.2-astra", ModelLimits(922_000, 128_000)),
        ("claude-fable-5-2", ModelLimits(1_000_000, 128_000)),
        ("claude-mythos-5-2", ModelLimits(1_000_000, 128_000)),
        ("claude-mythos-5", ModelLimits(1_000_000, 128_000)),
        ("claude-mythos-5-1", ModelLimits(1_000_000, 128_000)),
        ("command-a-03-2025", ModelLimits(256_000, 8_000)),
        ("mistral-medium-latest", ModelLimits(262_144, 0)),
        ("amazon.nova-2-lite-v1:0", ModelLimits(1_000_000, 64_000)),
        ("gpt-4-1106-preview", ModelLimits(128_000, 4_096)),
        ("o1-preview", ModelLimits(128_000, 32_768)),
        ("xai/grok-4.3", ModelLimits(1_000_000, 0)),
    ],
)
def test_models_that_were_unknown_or_wrong(model: str, limits: ModelLimits) -> None:
    """Some had the window of a shorter name, or the one that Azure gives them."""
    assert lookup(model) == limits


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("github-copilot/claude-opus-4.8", 200_000),
        ("github_copilot/claude-opus-4.8", 200_000),
        ("anthropic/claude-opus-4.8", 1_000_000),
        ("claude-opus-4.8", 1_000_000),
        ("azure_ai/grok-4.3", 200_000),
        ("accounts/fireworks/models/deepseek-r1", 163_840),
        ("accounts/fireworks/models/glm-5p2", 1_000_000),
        ("groq/qwen/qwen3-32b", 131_072),
        ("qwen/qwen3-32b", 32_000),
        ("huggingface_nebius/google/gemma-3-27b-it", 110_000),
        ("us.moonshotai.kimi-k3.1", 868_928),
        ("openai.gpt-oss-120b-1:0", 128_000),
        ("moonshotai/kimi-k3.1", 1_048_576),
    ],
)
def test_server_in_the_name_selects_its_numbers(model: str, window: int) -> None:
    """Without one, they are those of the maker."""
    assert lookup(model).context_window == window


def test_longer_name_of_the_maker_is_no_model_of_the_server() -> None:
    """A server's `qwen3-32b` says nothing of its `qwen3-coder`."""
    assert lookup("groq/qwen3-coder-plus") == lookup("qwen3-coder-plus")


@pytest.mark.parametrize(
    ("model", "relative"),
    [
        ("gemini-4-pro", "gemini-4-argon"),
        ("grok-5", "grok-4.7"),
        ("claude-opus-latest", "claude-opus-5-5"),
        ("us.anthropic.claude-sonnet-6-20270101-v1:0", "claude-sonnet-5-5"),
        ("openai/gpt-7-sol", "gpt-6.2-sol"),
        ("gpt-6.2-luna", "gpt-6.2-sol"),
        ("qwen4-max", "qwen3.8-max"),
        ("deepseek-v5-pro", "deepseek-v4-pro"),
    ],
)
def test_newer_model_has_limits_of_newest_relative(model: str, relative: str) -> None:
    """They are assumed, and a note says from what."""
    limits = lookup(model)

    assert limits == attrs.evolve(lookup(relative), known=False, relative=relative)
    assert f"tokens are assumed, as for {relative}" in limits.note
    assert limits.usable


@pytest.mark.parametrize(
    "model",
    ["gpt-41", "gpt-7o", "gpt-35", "claude-7", "gpt-5.9", "gpt-5.9:free", "claude-opus-4-99"],
)
def test_model_that_is_not_newer_has_no_relative(model: str) -> None:
    """An older one, one without a family's beginning, and Azure's spelling of 4.1."""
    assert lookup(model) == UNKNOWN


def test_note_says_what_is_assumed() -> None:
    """Nothing is, of a known model."""
    assert lookup("gpt-4o").note == ""
    assert lookup("my-model").note == "8,192 tokens are assumed"
    assert not lookup("my-model").usable
