"""The facts about current models: one module per family, each number with its page and day.

Sizes are in tokens, as the provider states them: if a page says `1M` or `128K`, that is 1,000,000
or 128,000. The window is the most that a request may contain. If a provider limits the input to
less than the window (gpt-5: 272,000 of 400,000), the lower limit counts. If pages disagree, the
smaller number is used. What requires a beta header is left out. An output of 0 means that the page
does not state it. Names are the provider's, without the date of a snapshot. A longer name with the
same numbers (gpt-5-codex) is covered by the shorter one.

Each module of a family has `LIMITS` and `CACHES`, tuples of sources, and `NEWEST`, which maps what
the names of a family begin with to the newest model in the catalog: its facts are assumed for a
model that is newer still. Some have `BINDINGS`, who binds its reasoning, or `MEDIA`, what media
cost, with `NEWEST_MEDIA` as `NEWEST` is for limits, or `TOKEN_SCALES` and `FAMILY_SCALES`: how many
tokens a model, or a newer one of the family, counts where o200k_base counts one. `_servers` has the
windows that servers give to models of others, `_wire` the largest requests.
"""

from collections.abc import Mapping
from types import MappingProxyType

from agentic.limits._binding import BoundFamily
from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog import (
    _amazon,
    _anthropic,
    _cohere,
    _deepseek,
    _google,
    _meta,
    _minimax,
    _mistral,
    _moonshot,
    _openai,
    _others,
    _qwen,
    _xai,
    _zai,
)
from agentic.limits._catalog._servers import SERVERS as _SERVERS
from agentic.limits._catalog._source import Source
from agentic.limits._catalog._wire import WIRE as WIRE
from agentic.limits._catalog._wire import WIRE_SOURCES as WIRE_SOURCES
from agentic.limits._media_costs import OTHER, MediaCosts
from agentic.limits._model_limits import UNKNOWN, ModelLimits

FAMILIES = (
    _amazon,
    _anthropic,
    _cohere,
    _deepseek,
    _google,
    _meta,
    _minimax,
    _mistral,
    _moonshot,
    _openai,
    _others,
    _qwen,
    _xai,
    _zai,
)
SOURCES: tuple[Source[ModelLimits], ...] = tuple(
    source for family in FAMILIES for source in family.LIMITS
)
CACHE_SOURCES: tuple[Source[CacheTerms], ...] = tuple(
    source for family in FAMILIES for source in family.CACHES
)
SERVER_SOURCES = tuple(server.source for server in _SERVERS)
SERVERS = {prefix: server.source.models for server in _SERVERS for prefix in server.prefixes}
LIMITS = {name: limits for source in SOURCES for name, limits in source.models.items()}
CACHES = {name: terms for source in CACHE_SOURCES for name, terms in source.models.items()}
NEWEST = {beginning: name for family in FAMILIES for beginning, name in family.NEWEST.items()}
BINDINGS: Mapping[str, BoundFamily] = {**_anthropic.BINDINGS, **_openai.BINDINGS}
_SEEING = (_anthropic, _openai, _google, _xai, _qwen, _mistral)
MEDIA: Mapping[str, MediaCosts] = {
    name: costs for family in _SEEING for name, costs in family.MEDIA.items()
}
NEWEST_MEDIA: Mapping[str, str] = {
    **_openai.NEWEST_MEDIA,
    **_google.NEWEST_MEDIA,
    **_xai.NEWEST_MEDIA,
    **_qwen.NEWEST_MEDIA,
    **_mistral.NEWEST_MEDIA,
}
OTHER_MEDIA = OTHER
TOKEN_SCALES: Mapping[str, float] = _anthropic.TOKEN_SCALES
FAMILY_SCALES: Mapping[str, float] = {
    **_anthropic.FAMILY_SCALES,
    **_deepseek.FAMILY_SCALES,
    **_google.FAMILY_SCALES,
}
OFFLINE = ModelLimits(32_000, 0)
"""The limits of the offline agent, which is no model. A long conversation can fill its window."""
CONTEXT_LIMITS: Mapping[str, int] = MappingProxyType(
    {name: limits.context_window for name, limits in LIMITS.items()}
    | {"default": UNKNOWN.context_window}
)
"""Maps every model that `lookup` knows to its context window; `default` is the window of all other
models. Read-only."""
