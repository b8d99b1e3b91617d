"""Which models bind their reasoning, however their names are spelled."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.limits import binds_reasoning
from agentic.limits._catalog import BINDINGS

NAMES = {
    "claude-fable-5-2": "every_account",
    "claude-mythos-5-2": "every_account",
    "claude-fable-5-1": "new_accounts",
    "claude-mythos-5-1": "new_accounts",
    "claude-opus-5-5": "new_accounts",
    "claude-sonnet-5-5": "new_accounts",
    "claude-haiku-5-5": "new_accounts",
    "gpt-6.2-sol": "silently",
    "gpt-6.2-astra": "silently",
    "gpt-6.2": "silently",
}
PREFIXES = [
    "",
    "anthropic/",
    "openrouter/acme/",
    "us.anthropic.",
    "bedrock/eu.acme.",
    "acme:",
    "ft:",
]
SUFFIXES = ["", "-20261109", "@20261109", "-2026-11-09", "-20261109-v1:0", "-v1:0", ":beta", "/eu"]


@pytest.mark.parametrize(("model", "enforced"), NAMES.items())
def test_listed_model_binds(model: str, enforced: str) -> None:
    """Each of them as its provider documents it."""
    binding = binds_reasoning(model)

    assert binding is not None
    assert (binding.enforced, binding.known) == (enforced, True)
    assert binding.refuses is (enforced != "silently")


@given(
    model=st.sampled_from(sorted(NAMES)),
    prefix=st.sampled_from(PREFIXES),
    suffix=st.sampled_from(SUFFIXES),
)
def test_prefix_date_and_case_are_ignored(model: str, prefix: str, suffix: str) -> None:
    """Behind a server's prefix, before a snapshot's date or a revision, in capitals, with dots."""
    spelled = prefix + model + suffix

    assert binds_reasoning(spelled) == binds_reasoning(spelled.upper()) == binds_reasoning(model)
    assert binds_reasoning(f" {spelled.replace('5-', '5.')}") == binds_reasoning(model)


@pytest.mark.parametrize(
    "model",
    [
        "claude-fable-5",
        "claude-fable-5-20260609",
        "claude-fable-5@20260609",
        "claude-opus-5",
        "claude-opus-5-20260924-v1:0",
        "anthropic/claude-4.5-sonnet-20250929",
        "claude-3-5-sonnet-latest",
        "claude-opus-4-latest",
        "claude-2.1",
        "gpt-6-astra",
        "gpt-6.1-sol",
        "gpt-6-2026-08-01",
        "gpt-6-32k",
        "gpt-4o",
        "gpt-4-1106-preview",
        "gpt-35-turbo",
        "gpt-41",
        "gpt-oss-120b",
        "gemini-3.8-flash",
        "my-model",
        "",
    ],
)
def test_older_and_other_models_do_not_bind(model: str) -> None:
    """A date or a size of the window is no version, and neither is Azure's way to write one."""
    assert binds_reasoning(model) is None


@pytest.mark.parametrize(
    ("model", "enforced"),
    [
        ("claude-fable-5-3", "every_account"),
        ("claude-mythos-6", "every_account"),
        ("anthropic/claude-6-fable", "every_account"),
        ("claude-opus-latest", "new_accounts"),
        ("us.anthropic.claude-opus-6-20270301-v1:0", "new_accounts"),
        ("gpt-6.3-sol", "silently"),
        ("gpt-7", "silently"),
    ],
)
def test_newer_member_of_a_family_counts_as_its_newest(model: str, enforced: str) -> None:
    """A model that is not listed yet must not be refused for it."""
    binding = binds_reasoning(model)

    assert binding is not None
    assert (binding.enforced, binding.known) == (enforced, False)


def test_version_may_stand_first() -> None:
    """As in some replies of OpenRouter."""
    assert binds_reasoning("anthropic/claude-5.2-fable-20261109") == binds_reasoning(
        "claude-fable-5-2"
    )


def test_name_that_is_no_text_is_refused() -> None:
    """As by `lookup`."""
    with pytest.raises(ConfigError, match="model must be a str such as 'gpt-4o', got 5"):
        binds_reasoning(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_every_row_has_page_and_day(name: str) -> None:
    """An address that can be opened, and a day that has been."""
    family = BINDINGS[name]

    assert family.address.startswith("https://")
    assert date(2026, 1, 1) <= family.read_on <= date.today()  # noqa: DTZ011  a day, not a moment
    assert all(
        (each.accounts_since is None) == (each.enforced != "new_accounts")
        for each in family.versions.values()
    )
