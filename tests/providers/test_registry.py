"""The adapters by name: those of the package, and one that a program registers."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from agentic import providers
from agentic.app.config import AgentConfig
from agentic.bridges import dicts
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.providers import kit
from agentic.providers._registry import _registered, adapter_names, as_adapter, find_adapter

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "acme-adapter"))

import acme

FOLDER = Path(providers.__file__).parent
BUILT_IN = [path.parent.name for path in sorted(FOLDER.glob("*/_decider.py"))]


@pytest.fixture
def own() -> Iterator[kit.Adapter]:
    """Register an adapter with a client of its own, until the test is over."""
    sdk = kit.Sdk(install="acme-sdk", module="acme", make=lambda module: module.NAME)
    yield providers.register(attrs.evolve(acme.ADAPTER, sdk=sdk))
    del _registered["acme"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_folder_has_one_record(name: str) -> None:
    """Under the name of the folder, which is small enough to be read."""
    files = list((FOLDER / name).glob("*.py"))

    assert find_adapter(name).name == name
    assert as_adapter(getattr(providers, name)) is find_adapter(name)
    assert len(files) <= 5
    assert all(len(file.read_text().split("\n")) <= 800 for file in files)


@pytest.mark.slow
def test_adapter_loads_when_asked(run_python: Callable[[str], str]) -> None:
    """The names alone load none of them."""
    program = (
        "import sys; from agentic.providers import _registry;"
        "_registry.adapter_names();"
        "loaded = lambda: [m for m in sys.modules if m.endswith('._decider')];"
        "print(loaded()); _registry.find_adapter('cohere'); print(loaded())"
    )

    assert run_python(program) == "[]\n['agentic.providers.cohere._decider']"


def test_registered_adapter_is_connected_to(own: kit.Adapter) -> None:
    """By its name, with the client that its record makes."""
    decider: Any = providers.connect("acme:acme-1", options={"warmth": 1})

    assert (decider.client, decider.model, decider.options) == ("acme", "acme-1", {"warmth": 1})
    assert adapter_names()[-1] == own.name
    assert AgentConfig(model="acme:acme-1").model == "acme:acme-1"


def test_adapter_without_client_says_so(own: kit.Adapter) -> None:
    """The caller has to bring one."""
    providers.register(attrs.evolve(own, sdk=None))

    with pytest.raises(ConfigError, match="makes no client: create its decider with your own"):
        providers.connect("acme:acme-1")


def test_adapter_from_elsewhere_keeps_a_list_in_its_window() -> None:
    """Passed as a module or as its record, whose items nobody has to register."""
    sides = ("human", "acme")
    talk = [{"by": sides[n % 2], "parts": [{"text": f"Log {n}. " * 120}]} for n in range(41)]

    for wire in (acme, acme.ADAPTER):
        sent = dicts.Conversation(wire, 4_000).fit(talk)
        assert len(sent) < len(talk)
        assert sent[-1] is talk[-1]
        assert not acme.validate({"talk": sent})


def test_only_a_record_is_registered() -> None:
    """Not a module, and not under the name of an adapter of the package."""
    with pytest.raises(ConfigError, match="must be a providers"):
        providers.register(acme)
    with pytest.raises(ConfigError, match="give it a different name"):
        providers.register(attrs.evolve(acme.ADAPTER, name="gemini"))
    with pytest.raises(ConfigError, match="a name without a colon"):
        attrs.evolve(acme.ADAPTER, name="acme:1")


def test_what_is_no_adapter_is_told_by_names() -> None:
    """A module without a record is none either."""
    with pytest.raises(ConfigError, match="must be an adapter: anthropic, bedrock"):
        as_adapter(SimpleNamespace(NAME="acme"))
    with pytest.raises(ConfigError, match="did you mean 'gemini'"):
        find_adapter("gemeni")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai_chat", {"max_completion_tokens": 300}),
        ("openai_responses", {"max_output_tokens": 300}),
        ("gemini", {"maxOutputTokens": 300}),
        ("bedrock", {"inferenceConfig": {"maxTokens": 300}}),
        ("ollama", {"options": {"num_predict": 300}}),
        ("cohere", {"max_tokens": 300}),
        ("anthropic", {"max_tokens": 300}),
    ],
)
def test_length_of_a_reply_is_read_from_options(name: str, options: dict[str, Any]) -> None:
    """Wherever the provider has it."""
    limits = ModelLimits(200_000, 64_000)

    assert find_adapter(name).reply_tokens(options, limits) == 300
