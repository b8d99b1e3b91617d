"""From the name of a model to its limits, by the catalog or the registry of `genai-prices`.

A model that the catalog lacks is looked up in the registry of `genai-prices` (extra `prices`), if
that is installed, by that library's own rules. The catalog always takes precedence: each of its
numbers has a source, and the registry is known to be wrong for some Claude models.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentic import _imports
from agentic._lazy import LazyModule
from agentic.limits._model_limits import ModelLimits
from agentic.limits._names import PREFIX_END, check_name, longest_name

if TYPE_CHECKING:
    from agentic.limits import _catalog
else:
    _catalog = LazyModule("agentic.limits._catalog")  # Importing the room does not need the rows.

_SERVERS_WITH_PREFIXES = ("aws", "openrouter")
"""These put the maker before the name: us.amazon.nova-pro-v1:0, moonshotai/kimi-k2."""


def lookup(model: str) -> ModelLimits:
    """Return a model's limits, from the longest name in the catalog that matches.

    If only the registry of `genai-prices` knows the model, `max_output` is not stated. If neither
    knows it, the window is 8,192 tokens and `known` is False.

    >>> lookup("openrouter/anthropic/claude-sonnet-4.5").context_window
    200000
    >>> lookup("ft:gpt-4o-mini-2024-07-18:acme::b7")
    ModelLimits(context_window=128000, max_output=16384, known=True)
    >>> lookup("my-model")
    ModelLimits(context_window=8192, max_output=0, known=False)

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    name = longest_name(model, _catalog.LIMITS)
    return _registered(model) if name is None else _catalog.LIMITS[name]


def get_context_limit(model: str) -> int:
    """Return a model's context window, in tokens.

    >>> get_context_limit("gpt-4o")
    128000
    >>> get_context_limit("my-model")
    8192
    """
    return lookup(model).context_window


def _registered(model: str) -> ModelLimits:
    """Look a model up in the registry, which is imported only when it is needed."""
    if not model.strip():  # a decider without a name: the import alone takes a sixth of a second
        return _catalog.UNKNOWN
    # Asked anew each time, because the library may fetch newer prices while a program runs.
    try:
        snapshot = _imports.load("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        return _catalog.UNKNOWN
    for server, name in _spellings(model.strip().lower()):
        try:
            _, entry = snapshot.find_provider_model(name, None, server, None)
        except LookupError:
            continue
        # Some of its models have a price and no window.
        if entry.context_window:
            return ModelLimits(entry.context_window, 0)
    return _catalog.UNKNOWN


def _spellings(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up: a prefix may be a server, or part of the name.

    >>> list(_spellings("groq/qwen-3"))[-2:]
    [(None, 'qwen-3'), ('groq', 'qwen-3')]
    """
    yield None, text
    yield from ((server, text) for server in _SERVERS_WITH_PREFIXES)
    # From 1: at 0 there is only the whole text again.
    for end in PREFIX_END.finditer(text, 1):
        yield None, text[end.end() :]
        yield PREFIX_END.split(text[: end.start()])[-1], text[end.end() :]
