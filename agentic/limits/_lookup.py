"""From the name of a model to its limits, by the catalog or the registry of `genai-prices`.

A model that the catalog lacks is looked up in the registry of `genai-prices` (extra `prices`), if
that is installed, by that library's own rules. The catalog always takes precedence: each of its
numbers has a source, and the registry is known to be wrong for some Claude models.

If neither knows a model, the numbers of the newest model of its family are assumed, if it is newer
than that.
"""

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from agentic._base import _imports
from agentic._base._lazy import LazyModule
from agentic.errors import ConfigError
from agentic.limits._binding import Binding
from agentic.limits._cache_terms import CacheTerms
from agentic.limits._model_limits import UNKNOWN, ModelLimits
from agentic.limits._names import (
    PREFIX_END,
    check_name,
    longest_beginning,
    longest_name,
    newest_relative,
    prefixes,
)
from agentic.limits._wire_limits import WireLimits

if TYPE_CHECKING:
    from agentic.limits import _catalog
    from agentic.limits._media_costs import MediaCosts
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
    if model == "offline":
        return _catalog.OFFLINE
    if _is_blank(model):
        return UNKNOWN
    return _listed(model) or _registered(model) or _assumed(model)


def get_context_limit(model: str) -> int:
    """Return a model's context window, in tokens.

    >>> get_context_limit("gpt-4o")
    128000
    >>> get_context_limit("my-model")
    8192
    """
    return lookup(model).context_window


def cache_terms(model: str) -> CacheTerms:
    """Return what a model's prompt cache costs, relative to an uncached input token.

    The prices are those of the model's maker. A server that resells the model may have others.

    >>> cache_terms("claude-opus-4-8")
    CacheTerms(read=0.1, write=1.25, lifetime_seconds=300, known=True)
    >>> cache_terms("openai/gpt-4o").write
    1.0

    For a newer model of a family in the catalog, the terms of the family's newest model are
    returned, for all others the ratio of Anthropic, with `known=False` in both cases.

    >>> cache_terms("my-model")
    CacheTerms(read=0.1, write=1.25, lifetime_seconds=300, known=False)

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    return _terms_of(model)


# A View asks before every request, and a look-up takes a tenth of a millisecond.
@functools.lru_cache(maxsize=256)
def _terms_of(model: str) -> CacheTerms:
    if _is_blank(model):
        return _ASSUMPTION
    if name := longest_name(model, _catalog.CACHES):
        return _catalog.CACHES[name]
    relative = newest_relative(model, _catalog.NEWEST)
    terms = _catalog.CACHES.get(relative or "", _ASSUMPTION)
    return attrs.evolve(terms, known=False)


_ASSUMPTION = CacheTerms(0.1, 1.25, 300, known=False)
"""Anthropic's ratio until its models of September 2026. Of the terms in the catalog, those with the
dearest write and the shortest lifetime: https://platform.claude.com/docs/en/about-claude/pricing,
2026-11-27."""


def media_costs(model: str) -> "MediaCosts":
    """Return what media cost with a model, given its name as any provider spells it.

    >>> media_costs("anthropic/claude-opus-4.8").image.count(1_920, 1_080)
    2691
    >>> media_costs("claude-sonnet-4-5").image.count(1_920, 1_080)
    1560
    >>> media_costs("my-model").known
    False

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    name = longest_name(model, _catalog.MEDIA)
    name = name or newest_relative(model, _catalog.NEWEST_MEDIA)
    return _catalog.OTHER_MEDIA if name is None else _catalog.MEDIA[name]


# A View asks before every request.
@functools.lru_cache(maxsize=256)
def wire_limits(model: str) -> WireLimits:
    """Return the largest request of a model's maker, in bytes and in images, where it is known.

    >>> wire_limits("openrouter/anthropic/claude-opus-4.8")
    WireLimits(max_bytes=32000000, max_images=100)
    >>> wire_limits("my-model")
    WireLimits(max_bytes=None, max_images=None)

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    if _is_blank(model):
        return WireLimits()
    family = longest_beginning(model, _catalog.WIRE)
    return _catalog.WIRE[family] if family else WireLimits()


# OpenRouter's replies name some models like this: anthropic/claude-4.5-sonnet-20250929.
_VERSION_FIRST = re.compile(r"claude-(\d(?:[-.]\d{1,2})?)-([a-z]+)")
# A longer number is a date (claude-opus-5-20260924), and letters make another name (gpt-4o).
_NAME = re.compile(
    r"(?:^|[/:.])(claude-[a-z]+|gpt)-(?:latest|(\d)(?:[-.](\d{1,2})(?![0-9a-z]))?(?![0-9a-z]))"
)


def token_scale(model: str) -> float | None:
    """Return how many tokens a model counts where o200k_base counts one; None if it is not known.

    Only families whose vocabulary is not public have a scale.

    >>> token_scale("anthropic/claude-sonnet-4-5"), token_scale("claude-opus-9"), token_scale("o3")
    (1.3, 1.55, None)
    """
    if name := longest_name(model, _catalog.TOKEN_SCALES):
        return _catalog.TOKEN_SCALES[name]
    family = longest_beginning(model, _catalog.FAMILY_SCALES)
    return _catalog.FAMILY_SCALES[family] if family else None


def binds_reasoning(model: str) -> Binding | None:
    """Return how a model treats reasoning behind a change; None if it accepts it.

    A name is read as `lookup` reads it: behind any prefix (`openrouter/anthropic/`,
    `us.anthropic.`), with `.` or `-` in its version, before a date or a revision. A member of a
    family that is newer than all documented ones is taken to behave as the newest of these, with
    `known` false.

    >>> binds_reasoning("us.anthropic.claude-fable-5-2-v1:0")
    Binding(enforced='every_account', accounts_since=None, known=True)
    >>> binds_reasoning("openrouter/anthropic/claude-opus-5.5").accounts_since
    datetime.date(2026, 8, 31)
    >>> binds_reasoning("gpt-6.2-sol").refuses
    False
    >>> binds_reasoning("claude-sonnet-4-5") is None
    True

    Raises:
        ConfigError: the name is not a str.
    """
    if not isinstance(model, str):
        raise ConfigError(
            "model", model, "a str such as 'gpt-4o'", "pass the name that you send to the provider"
        )
    match = _NAME.search(_VERSION_FIRST.sub(r"claude-\2-\1", model.strip().lower()))
    if match is None or match[1] not in _catalog.BINDINGS:
        return None
    versions = _catalog.BINDINGS[match[1]].versions
    newest = max(versions)
    # A name that ends in -latest has no version, and is the newest.
    if match[2] is None or (int(match[2]), int(match[3] or 0)) > newest:
        return attrs.evolve(versions[newest], known=False)
    return versions.get((int(match[2]), int(match[3] or 0)))


def _is_blank(model: str) -> bool:
    """Return whether a decider has no name for its model: neither catalog nor registry is read."""
    return not model.strip()


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
        return UNKNOWN
    return attrs.evolve(_catalog.LIMITS[relative], known=False, relative=relative)


def _registered(model: str) -> ModelLimits | None:
    """Look a model up in the registry, which is imported only when it is needed."""
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
