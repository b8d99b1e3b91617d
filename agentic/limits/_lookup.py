"""Finding the limits of a model by its name, as any provider spells it.

Case does not matter, and `4.5` equals `4-5`. A prefix ends at `/`, `:` or `.`
(`openrouter/anthropic/`, `ft:`, `us.anthropic.`). A name ends at the end of the text or before `-`,
`@`, `:`, `/`, `_` or `.`. If a number of one or two digits follows, it is another version:
`gpt-4.5` is not `gpt-4`.

A model that the catalog lacks is looked up in the registry of `genai-prices` (extra `prices`), if
that is installed, by that library's own rules. The catalog always takes precedence: each of its
numbers has a source, and the registry is known to be wrong for some Claude models.
"""

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from agentic.errors import ConfigError
from agentic.limits._catalog import SOURCES, ModelLimits

__all__ = ["CONTEXT_LIMITS", "get_context_limit", "lookup"]

# supyagent also assumes 8,192 (https://github.com/ergodic-ai/supyagent). If the guess is too small,
# compaction comes early; if it is too large, the request fails.
_UNKNOWN = ModelLimits(8_192, 0, known=False)
_KNOWN = {name: limits for source in SOURCES for name, limits in source.models.items()}

CONTEXT_LIMITS: Mapping[str, int] = MappingProxyType(
    {name: limits.context_window for name, limits in _KNOWN.items()}
    | {"default": _UNKNOWN.context_window}
)
"""Maps every model that `lookup` knows to its context window; `default` is the window of all other
models. Read-only."""

_VERSION_DOT = re.compile(r"(?<=\d)\.(?=\d)")
# OpenRouter's replies name some models like this: anthropic/claude-4.5-sonnet-20250929.
_VERSION_FIRST = re.compile(r"claude-([4-9]-\d)-([a-z]+)")
_PREFIX_END = re.compile(r"^|[/:.]")
_SERVERS_WITH_PREFIXES = ("aws", "openrouter")
"""These put the maker before the name: us.amazon.nova-pro-v1:0, moonshotai/kimi-k2."""
# -0 is the same version (claude-opus-4-0), -1: is Bedrock's revision (gpt-oss-120b-1:0), and four
# digits are a date (gpt-4-0613).
_NAME_END = re.compile(r"\Z|[@:/_.]|-(?![1-9]\d?(?![0-9a-z:]))")


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
    if not isinstance(model, str):
        raise ConfigError(
            "model", model, "a str such as 'gpt-4o'", "pass the name that you send to the provider"
        )
    name = _longest_name(model, _KNOWN)
    return _registered(model) if name is None else _KNOWN[name]


def get_context_limit(model: str) -> int:
    """Return a model's context window, in tokens.

    >>> get_context_limit("gpt-4o")
    128000
    >>> get_context_limit("my-model")
    8192
    """
    return lookup(model).context_window


def _longest_name(model: str, names: Iterable[str]) -> str | None:
    """Return the longest of the names that matches the model; their order does not matter.

    >>> _longest_name("azure/gpt-4o-mini", ["gpt-4", "gpt-4o-mini", "gpt-4o"])
    'gpt-4o-mini'
    """
    text = _spell(model)
    tails = [text[end.end() :] for end in _PREFIX_END.finditer(text)]
    tails.append(text.replace(":", "-"))  # Ollama's tags: gpt-oss:20b
    found = [name for name in names if any(_begins_with(tail, _spell(name)) for tail in tails)]
    # Equal lengths are decided by the name, never by the order of the catalog.
    return max(found, key=lambda name: (len(name), name), default=None)


def _registered(model: str) -> ModelLimits:
    """Look a model up in the registry, which is imported only when it is needed."""
    if not model.strip():  # a decider without a name: the import alone takes a sixth of a second
        return _UNKNOWN
    try:
        snapshot = importlib.import_module("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        return _UNKNOWN
    for server, name in _spellings(model.strip().lower()):
        try:
            _, found = snapshot.find_provider_model(name, None, server, None)
        except LookupError:
            continue
        # Some of its models have a price and no window.
        if found.context_window:
            return ModelLimits(found.context_window, 0)
    return _UNKNOWN


def _spellings(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (server, name) pairs to look up: a prefix may be a server, or part of the name.

    >>> list(_spellings("groq/qwen-3"))[-2:]
    [(None, 'qwen-3'), ('groq', 'qwen-3')]
    """
    yield None, text
    yield from ((server, text) for server in _SERVERS_WITH_PREFIXES)
    # From 1: at 0 there is only the whole text again.
    for end in _PREFIX_END.finditer(text, 1):
        yield None, text[end.end() :]
        yield _PREFIX_END.split(text[: end.start()])[-1], text[end.end() :]


def _begins_with(tail: str, name: str) -> bool:
    return tail.startswith(name) and _NAME_END.match(tail, len(name)) is not None


def _spell(name: str) -> str:
    return _VERSION_FIRST.sub(r"claude-\2-\1", _VERSION_DOT.sub("-", name.strip().lower()))
