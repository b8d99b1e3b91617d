"""From the name of a model to its limits, by the catalog or the registry of `genai-prices`.

A model that the catalog lacks is looked up in the registry of `genai-prices` (extra `prices`), if
that is installed, by that library's own rules. The catalog always takes precedence: each of its
numbers has a source, and the registry is known to be wrong for some Claude models.

If neither knows a model, the numbers of the newest model of its family are assumed, if it is newer
than that.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from agentic import _imports
from agentic._lazy import LazyModule
from agentic.limits._model_limits import ModelLimits
from agentic.limits._names import (
    PREFIX_END,
    check_name,
    longest_name,
    newest_relative,
    prefixes,
)

if TYPE_CHECKING:
    from agentic.limits import _catalog
else:
    _catalog = LazyModule("agentic.limits._catalog")  # Importing the room does not need the rows.

_SERVERS_WITH_PREFIXES = ("aws", "openrouter")
"""These put the maker before the name: us.amazon.nova-pro-v1:0, moonshotai/kimi-k2."""
_SERVERS_OF_LITELLM = {
    "bedrock": "aws",
    "fireworks-ai": "fireworks",
    "gemini": "google",
    "moonshot": "moonshotai",
    "together-ai": "together",
    "vertex-ai": "google",
    "xai": "x-ai",
}
"""Maps names of servers in LiteLLM to those of the registry."""


def lookup(model: str) -> ModelLimits:
    """Return a model's limits, from the longest name in the catalog that matches.

    A prefix that names a server (`github-copilot/`, `groq/`) selects the numbers of that server,
    where the catalog has some. Without one, they are those of the model's maker.

    >>> lookup("openrouter/anthropic/claude-sonnet-4.5").context_window
    200000
    >>> lookup("ft:gpt-4o-mini-2024-07-18:acme::b7")
    ModelLimits(context_window=128000, max_output=16384, known=True)
    >>> lookup("github-copilot/gpt-4o").context_window
    64000

    If only the registry of `genai-prices` knows the model, `max_output` is not stated. If neither
    knows it, `known` is False: a newer model of a known family has the limits of the newest one in
    the catalog, which `relative` names, and any other model has a window of 8,192 tokens.

    >>> limits = lookup("claude-opus-7")
    >>> limits.context_window, limits.known, limits.relative
    (1000000, False, 'claude-opus-5-5')
    >>> lookup("my-model")
    ModelLimits(context_window=8192, max_output=0, known=False)

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    return _listed(model) or _registered(model) or _assumed(model)


def get_context_limit(model: str) -> int:
    """Return a model's context window, in tokens.

    >>> get_context_limit("gpt-4o")
    128000
    >>> get_context_limit("my-model")
    8192
    """
    return lookup(model).context_window


def _listed(model: str) -> ModelLimits | None:
    """Return the limits in the catalog: those at the server that the name says, or the maker's."""
    name = longest_name(model, _catalog.LIMITS) or ""
    for prefix in prefixes(model):
        rows = _catalog.SERVERS.get(prefix, {})
        # A longer name of the maker's is another model: qwen3-coder is not the server's qwen3.
        own = longest_name(model, rows)
        if own is not None and len(own) >= len(name):
            return rows[own]
    return _catalog.LIMITS.get(name)


def _assumed(model: str) -> ModelLimits:
    """Return the limits of the newest relative of a newer model, else the default."""
    relative = newest_relative(model, _catalog.NEWEST)
    if relative is None:
        return _catalog.UNKNOWN
    return attrs.evolve(_catalog.LIMITS[relative], known=False, relative=relative)


def _registered(model: str) -> ModelLimits | None:
    """Look a model up in the registry, which is imported only when it is needed."""
    if not model.strip():  # a decider without a name: the import alone takes a sixth of a second
        return None
    # Asked anew each time, because the library may fetch newer prices while a program runs.
    try:
        snapshot = _imports.load("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        return None
    for server, name in _spellings(model.strip().lower()):
        try:
            _, entry = snapshot.find_provider_model(name, None, server, None)
        except LookupError:
            continue
        # Some of its models have a price and no window.
        if entry.context_window:
            return ModelLimits(entry.context_window, 0)
    return None


def _spellings(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up: a prefix may be a server, or part of the name.

    >>> list(_spellings("groq/qwen-3"))[0], list(_spellings("groq/qwen-3"))[-1]
    (('groq', 'qwen-3'), (None, 'qwen-3'))
    """
    # From 1: at 0 there is only the whole text again.
    ends = list(PREFIX_END.finditer(text, 1))
    # First the server that the name says: another one may have another window.
    for end in ends:
        server = PREFIX_END.split(text[: end.start()])[-1].replace("_", "-")
        yield _SERVERS_OF_LITELLM.get(server, server), text[end.end() :]
    yield None, text
    yield from ((server, text) for server in _SERVERS_WITH_PREFIXES)
    yield from ((None, text[end.end() :]) for end in ends)
