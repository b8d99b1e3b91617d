"""Create a decider from `provider:name`, with a client that the provider's SDK configures.

The SDK reads its own environment (OPENAI_API_KEY and OPENAI_BASE_URL, ANTHROPIC_API_KEY,
GEMINI_API_KEY, CO_API_KEY, AWS_REGION and the rest of the AWS chain). This module reads only
OLLAMA_HOST and OLLAMA_API_KEY, since the client for Ollama is one for HTTP.
"""

import difflib
import importlib
import os
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from agentic import _imports
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.loop import StreamingDecider


class Connection(StreamingDecider, Protocol):
    """A decider that has a name and knows its model's limits, as each adapter's `Decider` does."""

    @property
    def name(self) -> str:
        """Return `provider:model`."""
        ...

    def limits(self) -> ModelLimits:
        """Return the model's limits, in tokens."""
        ...


@attrs.frozen
class _Sdk:
    """Where a provider's client comes from."""

    extra: str
    """The extra of agentic-weave that installs the SDK."""
    module: str
    make: Callable[[Any], Any]
    """Return a client, given the imported module."""


def _anthropic(sdk: Any) -> Any:
    """Create the client. Raise now if it has no key: the SDK would only fail on first use."""
    client = sdk.AsyncAnthropic()
    # The last two are attributes of newer versions of the SDK only.
    given = (client.api_key, client.auth_token, getattr(client, "credentials", None))
    if not any(given) and getattr(client, "_token_cache", None) is None:
        raise ValueError("set the environment variable ANTHROPIC_API_KEY")
    return client


def _gemini(sdk: Any) -> Any:
    """Create a client that retries: unlike the other SDKs, this one does not by default.

    The SDK's retry defaults: five attempts, 1 to 60 seconds apart, after 408, 429 and 5xx
    (`google.genai._api_client.retry_args` of google-genai 3.4, read on 2026-11-22).
    """
    retry = sdk.types.HttpRetryOptions()
    return sdk.Client(http_options=sdk.types.HttpOptions(retry_options=retry))


def _ollama(sdk: Any) -> Any:
    """Create a client for the server that Ollama's own programs would ask."""
    key = os.environ.get("OLLAMA_API_KEY", "")
    return sdk.AsyncClient(
        base_url=ollama_address(os.environ.get("OLLAMA_HOST", "")),
        headers={"Authorization": f"Bearer {key}"} if key else {},
        # A server may load a model before it answers; one that does not run is noticed soon.
        timeout=sdk.Timeout(_OLLAMA_SECONDS, connect=_CONNECT_SECONDS),
    )


def ollama_address(host: str) -> str:
    """Return the address that a value of OLLAMA_HOST stands for.

    https://docs.ollama.com/faq, `_parse_host` of ollama-python 0.6, and `Host` in
    https://github.com/ollama/ollama/blob/main/envconfig/config.go (2026-11).

    >>> ollama_address(""), ollama_address("gpu.local"), ollama_address("https://ollama.com")
    ('http://127.0.0.1:11434', 'http://gpu.local:11434', 'https://ollama.com:443')
    >>> ollama_address("[::1]:8080/a/"), ollama_address("0.0.0.0"), ollama_address("'::'")
    ('http://[::1]:8080/a', 'http://127.0.0.1:11434', 'http://[::1]:11434')
    """
    # Where `set` on Windows or a file for Docker keeps the quotes, Ollama takes them off, too.
    scheme, _, rest = host.strip(" \t\"'").rpartition("://")
    place, _, path = rest.partition("/")
    place = place.rpartition("@")[2]
    # Ollama accepts an IPv6 address without the brackets that a URL needs.
    bare = place.count(":") > 1 and not place.startswith("[")
    address = urllib.parse.urlsplit(f"//[{place}]" if bare else f"//{place}")
    # As Ollama's own clients do: a bare host means Ollama's port, a scheme means its own.
    port = address.port or {"http": 80, "https": 443}.get(scheme, 11434)
    name = address.hostname or "127.0.0.1"
    # These are where a server listens, not where it is asked.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104  nothing is bound
    # `hostname` is without the brackets of an IPv6 address.
    name = f"[{name}]" if ":" in name else name
    return f"{scheme or 'http'}://{name}:{port}/{path}".rstrip("/")


_OLLAMA_SECONDS, _CONNECT_SECONDS = 600.0, 5.0
"""The first is what the SDKs of OpenAI and Anthropic wait by default."""

_OPENAI = _Sdk("openai", "openai", lambda sdk: sdk.AsyncOpenAI())

_SDKS: Mapping[str, _Sdk] = {
    "anthropic": _Sdk("anthropic", "anthropic", _anthropic),
    "bedrock": _Sdk("bedrock", "boto3", lambda sdk: sdk.client("bedrock-runtime")),
    "cohere": _Sdk("cohere", "cohere", lambda sdk: sdk.AsyncClientV2()),
    "gemini": _Sdk("gemini", "google.genai", _gemini),
    "ollama": _Sdk("ollama", "httpx", _ollama),
    "openai_chat": _OPENAI,
    "openai_responses": _OPENAI,
}

PROVIDERS = tuple(_SDKS)
"""The providers that `connect` supports: the part of its argument before the colon."""


def connect(model: str, **settings: Any) -> Connection:
    """Return the decider for `provider:name`, such as `anthropic:claude-sonnet-4-5`.

    The provider is the name of an adapter in this package. `openai_chat` works with every server
    that supports the Chat Completions API: set OPENAI_BASE_URL, which the SDK reads. `settings` are
    passed to the adapter's `Decider`.

    Raises:
        ConfigError: the provider is unknown, the name is missing, or the SDK cannot create a
            client.
        ImportError: the provider's SDK is not installed; the message says how to install it.
    """
    # A configuration may hold anything, such as a number: the error below shows it.
    provider, _, name = str(model).partition(":")
    if provider not in _SDKS or not name:
        # Without a model's name, no complete argument can be suggested.
        near = difflib.get_close_matches(provider, _SDKS, n=1) if name else []
        raise ConfigError(
            "model",
            model,
            f"PROVIDER:NAME, the provider one of {', '.join(_SDKS)}",
            f"did you mean '{near[0]}:{name}'?" if near else "such as openai_chat:gpt-4.1",
        )
    adapter = importlib.import_module(f"agentic.providers.{provider}")
    decider: Connection = adapter.Decider(_client(model, _SDKS[provider]), name, **settings)
    return decider


def _client(model: str, sdk: _Sdk) -> Any:
    try:
        module = _imports.load(sdk.module)
    except ImportError as problem:
        raise ImportError(
            f"{model} needs an SDK that is not installed: pip install 'agentic-weave[{sdk.extra}]'"
        ) from problem
    try:
        with _imports.quietly():  # an SDK loads parts of itself when a client is made
            return sdk.make(module)
    # Each SDK raises an exception of its own for a missing key or region.
    except Exception as problem:
        message = f"cannot create a client for {model!r}: {str(problem).rstrip('.')}"
        raise ConfigError("model", model, "a provider that is set up", message=message) from problem
