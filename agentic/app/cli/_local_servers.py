"""The model servers of this machine, found at the ports that they use by default.

- Ollama: port 11434, unless OLLAMA_HOST names another address; GET /api/tags lists its models
  (https://docs.ollama.com/api/tags, 2026-11-23).
- llama.cpp: port 8080; GET /v1/models names its model, and GET /props its window, as
  `default_generation_settings.n_ctx`
  (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, 2026-11-23).
- LM Studio: port 1234; GET /api/v0/models lists its models, each with `loaded_context_length` if
  it is loaded, and `max_context_length` (https://lmstudio.ai/docs/developer/rest, 2026-11-23).
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentic._base import _imports
from agentic._base._validate import suggest
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.providers._connect import Connection
from agentic.providers.ollama._decider import server_address

_SECONDS = 0.3
"""How long a server on this machine may take to list its models. All are asked when a chat begins
without an agent, so most of them are not there."""
_MAX_BYTES = 1_000_000
_NO_SERVER = (
    OSError,
    http.client.HTTPException,
    # From here on, something answers that is not a model server: JSON of another form, none, or
    # JSON that nests without end.
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    OverflowError,
)
# No proxy: a request to this machine must not leave it.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@attrs.frozen
class LocalServer:
    """A server that answers, and the names of its models."""

    prefix: str
    """Comes before a model's name: `ollama:qwen3:8b`."""
    address: str
    windows: Mapping[str, int]
    """Maps each model to its window in tokens; 0 if the server does not state it."""

    @property
    def models(self) -> list[str]:
        """The models as /model and --model take them."""
        return [f"{self.prefix}:{name}" for name in self.windows]


def _ollama(address: str) -> dict[str, int]:
    return {each["name"]: 0 for each in _get(f"{address}/api/tags")["models"]}


def _llama_cpp(address: str) -> dict[str, int]:
    names = [each["id"] for each in _get(f"{address}/v1/models")["data"]]
    window = 0
    # A server that does not state its window serves its models all the same.
    with contextlib.suppress(*_NO_SERVER):
        window = int(_get(f"{address}/props")["default_generation_settings"]["n_ctx"])
    return dict.fromkeys(names, window)


def _lm_studio(address: str) -> dict[str, int]:
    models = _get(f"{address}/api/v0/models")["data"]
    return {
        each["id"]: int(each.get("loaded_context_length") or each.get("max_context_length") or 0)
        for each in models
        if each.get("type") != "embeddings"
    }


SERVERS: Mapping[str, tuple[str, Callable[[str], dict[str, int]]]] = {
    "ollama": ("http://127.0.0.1:11434", _ollama),
    "llamacpp": ("http://127.0.0.1:8080", _llama_cpp),
    "lmstudio": ("http://127.0.0.1:1234", _lm_studio),
}
"""The default address of each server, and how its models are listed."""


def find_servers(addresses: Mapping[str, str] | None = None) -> Sequence[LocalServer]:
    """Return the servers that answer at their default addresses, or at those that are given.

    All are asked at once, each for a fraction of a second.
    """
    by_prefix = _addresses() if addresses is None else addresses
    with concurrent.futures.ThreadPoolExecutor(len(SERVERS)) as pool:
        servers = pool.map(lambda prefix: _ask(prefix, by_prefix[prefix]), by_prefix)
        return [server for server in servers if server is not None]


def connect(server: str, name: str, address: str = "") -> Connection:
    """Return the decider of a model of llama.cpp or LM Studio, for an agent's `model`.

    Without an address, the server is asked where it is by default.

    Raises:
        ConfigError: the server does not answer, or has no such model.
        ImportError: the SDK is not installed.
    """
    address = address or _addresses()[server]
    models = _ask(server, address)
    if models is None:
        message = f"no {server} server answers at {address}"
        raise ConfigError("model", f"{server}:{name}", "a server that runs", message=message)
    if name not in models.windows:
        hint = suggest(name, models.windows)
        message = f"{server} has no model {name!r}; it has {', '.join(models.windows)}"
        message = f"{message} ({hint})" if hint else message
        raise ConfigError("model", f"{server}:{name}", f"a model of {server}", message=message)
    try:
        with _imports.quietly():
            from openai import AsyncOpenAI  # noqa: PLC0415  an extra
    except ImportError as absent:
        message = f"{server}:{name} needs an SDK: {_imports.pip_install('agentic-weave[openai]')}"
        raise ImportError(message) from absent
    from agentic.providers import openai_chat  # noqa: PLC0415  only when it is used

    # If it were left out, the SDK would send OPENAI_API_KEY to whatever listens there.
    client = AsyncOpenAI(base_url=f"{models.address}/v1", api_key="none")
    window = models.windows[name]
    limits = ModelLimits(window, 0) if window else None
    decider: Connection = openai_chat.Decider(client, name, limits=limits)
    return decider


def _addresses() -> dict[str, str]:
    addresses = {prefix: address for prefix, (address, _) in SERVERS.items()}
    # An address that is none is not asked.
    with contextlib.suppress(ValueError):
        addresses["ollama"] = server_address(os.environ.get("OLLAMA_HOST", ""))
    return addresses


def _ask(prefix: str, address: str) -> LocalServer | None:
    try:
        windows = SERVERS[prefix][1](address)
    except _NO_SERVER:
        return None
    return LocalServer(prefix, address, windows) if windows else None


def _get(address: str) -> Any:
    try:
        with _opener.open(address, timeout=_SECONDS) as response:
            # Something else may listen at this port, and send without end.
            return json.loads(response.read(_MAX_BYTES))
    except urllib.error.HTTPError as error:
        # The error is the response, which is still open.
        error.close()
        raise
