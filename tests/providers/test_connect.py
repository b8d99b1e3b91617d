"""From a name to a decider, with the client that the provider's SDK sets up."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from agentic import providers
from agentic.errors import ConfigError
from agentic.limits import ModelLimits

KEYS = {
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "GEMINI_API_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}
NAMES = [
    "anthropic:claude-sonnet-4-5",
    "bedrock:us.amazon.nova-lite-v1:0",
    "gemini:gemini-2.5-pro",
    "openai_chat:gpt-4.1",
    "openai_responses:gpt-5",
]


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put keys into the environment, where the SDKs look for them."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("keys")
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize("name", NAMES)
def test_a_decider_knows_its_limits(name: str) -> None:
    """The provider before the colon, the model after it, colons of its own included."""
    decider = providers.connect(name)

    assert decider.name == name
    assert decider.limits().known


@pytest.mark.usefixtures("keys")
def test_settings_go_to_the_decider() -> None:
    """Limits and options as the adapter's Decider takes them."""
    decider = providers.connect("openai_chat:mine", limits=ModelLimits(4_096, 512))

    assert decider.limits() == ModelLimits(4_096, 512)


@pytest.mark.usefixtures("keys")
def test_roles_are_settings() -> None:
    """Where a summary stands, and what the chat template behind a server demands."""
    decider = providers.connect("openai_chat:mine", record_role="system", strict_roles=True)

    assert (decider.record_role, decider.strict_roles) == ("system", True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"strict_roles": True}, "strict_roles must be left out for anthropic, got True"),
        ({"record_rol": "system"}, "did you mean 'record_role'?"),
        ({"record_role": "tool"}, "record_role must be user or system, got 'tool'"),
        ({"client": None}, "client must be left out for anthropic"),
    ],
)
@pytest.mark.usefixtures("keys")
def test_setting_that_a_decider_lacks_is_refused(setting: dict[str, Any], told: str) -> None:
    """Not by a TypeError that names no remedy."""
    with pytest.raises(ConfigError, match=re.escape(told)):
        providers.connect("anthropic:claude-opus-4-5", **setting)


def test_ollama_server_needs_no_key() -> None:
    """It has no default window either: that depends on the server."""
    decider = providers.connect("ollama:gpt-oss:20b", limits=ModelLimits(16_000, 0))

    assert decider.name == "ollama:gpt-oss:20b"
    assert decider.limits() == ModelLimits(16_000, 0)
    assert not providers.connect("ollama:gpt-oss:20b").limits().known


@pytest.mark.parametrize("name", ["qwen3", "openai_chat:", ":gpt-4.1", "acme:large", "", None, 7])
def test_name_saying_too_little_is_refused(name: str) -> None:
    """The error lists the providers and shows a name."""
    with pytest.raises(ConfigError, match="PROVIDER:NAME, the provider one of anthropic, bedrock"):
        providers.connect(name)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("openai:gpt-4.1", "openai_chat:gpt-4.1"),
        ("openai_response:gpt-5", "openai_responses:gpt-5"),
        ("antropic:claude-opus-4-1", "anthropic:claude-opus-4-1"),
    ],
)
def test_a_provider_misspelled_is_suggested(given: str, meant: str) -> None:
    """With the name of the model, so that it can be pasted."""
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        providers.connect(given)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_key_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the SDK says of it is part of the error."""
    for variable in KEYS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")

    with pytest.raises(ConfigError, match=f"cannot create a client for '{name}'"):
        providers.connect(name)


def test_a_missing_sdk_names_its_extra(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """The message is the command that installs it."""
    program = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from agentic import providers\n"
        "try: providers.connect('anthropic:claude-sonnet-4-5')\n"
        "except ImportError as error: print(error)"
    )

    assert remedy("anthropic") in run_python(program)
