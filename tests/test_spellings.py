"""A window and a model are spelled the same wherever they are named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic import providers
from agentic.app import config
from agentic.app.cli import main
from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.errors import ConfigError
from agentic.limits._model_limits import read_tokens
from agentic.providers import openai_chat
from agentic.providers._registry import BEGINNINGS, find_adapter, full_name

_NAMES = ["gpt-4.1", "openai_chat:gpt-4.1"]
_WINDOWS = [
    ("16k", 16_000),
    ("1m", 1_000_000),
    ("offline", 32_000),
    *((name, 1_047_576) for name in _NAMES),
]


def _of_yaml(window: str) -> int:
    is_model = read_tokens(window) is None
    agent = config.loads(f"{'model' if is_model else 'context_window'}: {window}")
    return agent.limits().context_window


def _of_conversation(window: str) -> int:
    return Conversation(openai_chat, window)._list.view.policy.context_window


@pytest.mark.parametrize("read", [_of_yaml, _of_conversation])
@pytest.mark.parametrize(("window", "tokens"), _WINDOWS)
def test_window_has_one_spelling(read: Callable[[str], int], window: str, tokens: int) -> None:
    """In an agent's file and for a list of dicts."""
    assert read(window) == tokens


@pytest.mark.parametrize(("window", "tokens"), _WINDOWS)
def test_command_reads_the_same_windows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], window: str, tokens: int
) -> None:
    """`--window` is the same option for replay and proxy."""
    session = tmp_path / "chat.json"
    session.write_text('[{"role": "user", "content": "Hi."}, {"role": "assistant"}]')

    status = main(["replay", str(session), "-w", window, "-p", "none", "--json"])

    assert status == 0
    assert json.loads(capfd.readouterr().out)["window"] == tokens


def test_policy_reads_a_window_as_text() -> None:
    """Whoever writes a budget by hand may write it so, too."""
    assert Policy("16k") == Policy(16_000)
    assert Policy.for_window("1m") == Policy.for_window(1_000_000)


@pytest.mark.parametrize("name", _NAMES)
def test_model_has_one_spelling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider need not be named where only one serves the model."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    assert providers.connect(name).name == "openai_chat:gpt-4.1"
    assert config.loads(f"model: {name}").model == "openai_chat:gpt-4.1"


def test_offline_is_a_model_everywhere() -> None:
    """It needs no key and no network."""
    decider = providers.connect("offline")

    assert config.loads("model: offline").decider() == decider


def test_offline_takes_no_setting() -> None:
    """Its requests go nowhere, so no setting could concern them."""
    with pytest.raises(ConfigError, match="record_role must be left out for offline"):
        providers.connect("offline", record_role="user")


def test_each_offer_is_found_by_its_name_alone() -> None:
    """The beginnings of names and the models that a chat offers agree."""
    offers = [find_adapter(name) for name in BEGINNINGS]

    names = [adapter.offer.model for adapter in offers if adapter.offer is not None]
    full = [full_name(name) for name in names]
    assert full == [f"{adapter.name}:{name}" for adapter, name in zip(offers, names, strict=True)]


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("localhost:8000", "write http://localhost:8000"),
        ("gpu.local/v1", "write http://gpu.local/v1"),
        ("http://", "unset it"),
        ("ftp://gpu.local", "unset it"),
        ("http://gpu.local:99999999", "unset it"),
        ("http://[::1", "unset it"),
        ("https//me:secret@gpu.local", "write http://gpu.local"),
    ],
)
@pytest.mark.parametrize("provider", ["openai_chat", "openai_responses"])
def test_base_url_is_an_address(
    monkeypatch: pytest.MonkeyPatch, provider: str, address: str, remedy: str
) -> None:
    """What is wrong is said at once; the password in it is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", address)

    with pytest.raises(ConfigError, match="OPENAI_BASE_URL must be an address") as caught:
        providers.connect(f"{provider}:gpt-4.1")
    assert str(caught.value).endswith(remedy)
    assert "secret" not in str(caught.value)
