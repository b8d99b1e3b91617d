"""Create a decider from `provider:name`, with a client that the provider's SDK configures.

The SDK reads its own environment (OPENAI_API_KEY and OPENAI_BASE_URL, ANTHROPIC_API_KEY,
GEMINI_API_KEY, CO_API_KEY, AWS_REGION and the rest of the AWS chain); the client for Ollama, which
is one for HTTP, is made of OLLAMA_HOST and OLLAMA_API_KEY.
"""

import difflib
import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import attrs

from agentic._base import _imports
from agentic._base._addresses import address_remedy, show_address
from agentic._base._validate import suggest
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.loop import StreamingDecider
from agentic.providers._offline import OFFLINE, OfflineDecider
from agentic.providers._registry import find_adapter, full_name, nearest_model, sorted_names

if TYPE_CHECKING:
    from agentic.providers.kit import Adapter


class Connection(StreamingDecider, Protocol):
    """A decider that has a name and knows its model's limits, as each adapter's `Decider` does."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        ...

    def limits(self) -> ModelLimits:
        """Return the model's limits, in tokens."""
        ...


def connect(model: str, **settings: Any) -> Connection:
    """Return the decider for `provider:name`, such as `anthropic:claude-sonnet-4-5`.

    A name alone, such as `gpt-4.1`, is enough for the models that Anthropic, Google (`gemini`) and
    OpenAI (`openai_chat`) make and serve. `offline` stands for no model: its decider needs neither
    a key nor a network, and follows simple orders.

    The provider is the name of an adapter in this package, or of one that was registered.
    `openai_chat` works with every server that supports the Chat Completions API: set
    OPENAI_BASE_URL, which the SDK reads. `settings` are passed to the adapter's `Decider`, such as
    `limits`, `options`, `record_role` or `strict_roles`.

    Raises:
        ConfigError: the provider is unknown, the name is missing, its decider has no such setting,
            or the SDK cannot create a client.
        ImportError: the provider's SDK is not installed; the message says how to install it.
    """
    # A configuration may hold anything, such as a number: the error below shows it.
    if model == OFFLINE:
        _check_settings(OFFLINE, OfflineDecider, settings)
        return OfflineDecider()
    provider, _, name = full_name(str(model)).partition(":")
    providers = sorted_names()
    if provider not in providers or not name:
        # Without a model's name, no complete argument can be suggested.
        near = difflib.get_close_matches(provider, providers, n=1) if name else []
        raise ConfigError(
            "model",
            model,
            f"PROVIDER:NAME, the provider one of {', '.join(providers)}",
            f"did you mean '{near[0]}:{name}'?" if near else _such_as(str(model), providers),
        )
    adapter = find_adapter(provider)
    if adapter.decider is None:
        message = f"the adapter {provider!r} has no decider"
        raise ConfigError("model", model, "a provider whose adapter has one", message=message)
    _check_settings(provider, adapter.decider, settings)
    decider: Any = adapter.decider(_client(model, adapter), name, **settings)
    connection: Connection = decider
    return connection


def _such_as(model: str, providers: Collection[str]) -> str:
    """Return what to write instead of a provider without a name, or of a name alone.

    >>> _such_as("qwen3", ["ollama"]), _such_as("ollama:", ["ollama"])
    ('such as openai_chat:qwen3', 'such as ollama:NAME')
    >>> _such_as("gtp-4.1", ["ollama"])
    "did you mean 'gpt-4.1'?"
    """
    provider = model.partition(":")[0]
    if provider in providers:
        return f"such as {provider}:NAME"
    if near := nearest_model(model):
        return f"did you mean {near!r}?"
    return f"such as openai_chat:{model if model and ':' not in model else 'gpt-4.1'}"


def _check_settings(provider: str, decider: Any, settings: Mapping[str, Any]) -> None:
    """Raise for a setting that the decider of an adapter lacks; one of others' may take any."""
    if not attrs.has(decider):
        return
    names = {field.alias for field in attrs.fields(decider) if field.init} - {"client", "model"}
    for setting, value in settings.items():
        if setting not in names:
            remedy = f"those of {provider} are {', '.join(sorted(names))}"
            raise ConfigError(
                setting, value, f"left out for {provider}", suggest(setting, names, remedy)
            )


def _client(model: str, adapter: "Adapter") -> Any:
    sdk = adapter.sdk
    if sdk is None:
        message = f"the adapter {adapter.name!r} makes no client: create its decider with your own"
        raise ConfigError("model", model, "a provider whose adapter has an sdk", message=message)
    try:
        module = _imports.load(sdk.module)
    except ImportError as problem:
        raise ImportError(
            f"{model} needs an SDK that is not installed: {_imports.pip_install(sdk.install)}"
        ) from problem
    _check_address(sdk.address_variable)
    try:
        with _imports.quietly():  # an SDK loads parts of itself when a client is made
            return sdk.make(module)
    # Each SDK raises an exception of its own for a missing key or region.
    except Exception as problem:
        message = f"cannot create a client for {model!r}: {str(problem).rstrip('.')}"
        raise ConfigError("model", model, "a provider that is set up", message=message) from problem


def _check_address(variable: str) -> None:
    """Raise if an environment variable has no address of a server: the SDK would name no reason.

    Raises:
        ConfigError: it has none.
    """
    address = os.environ.get(variable, "") if variable else ""
    if not address:
        return
    try:
        url = urlsplit(address)
        is_address = bool(url.scheme in {"http", "https"} and url.hostname and url.port != 0)
    except ValueError:  # a port that is no number, brackets that are not closed
        is_address = False
    if not is_address:
        shown = show_address(address)
        requirement = "an address such as http://localhost:8000/v1"
        raise ConfigError(variable, shown, requirement, address_remedy(shown, "unset it"))
