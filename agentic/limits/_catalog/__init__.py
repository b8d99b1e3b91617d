"""The facts about current models: one module per family, each number with its page and day.

Sizes are in tokens, as the provider states them: if a page says `1M` or `128K`, that is 1,000,000
or 128,000. The window is the most that a request may contain. If a provider limits the input to
less than the window (gpt-5: 272,000 of 400,000), the lower limit counts. If pages disagree, the
smaller number is used. What requires a beta header is left out. An output of 0 means that the page
does not state it. Names are the provider's, without the date of a snapshot. A longer name with the
same numbers (gpt-5-codex) is covered by the shorter one.

Each module of a family has `LIMITS` and `CACHES`, tuples of sources, and `NEWEST`, which maps what
the names of a family begin with to the newest model in the catalog: its facts are assumed for a
model that is newer still. `_servers` has the windows that servers give to models of others.
"""

from collections.abc import Mapping
from types import MappingProxyType

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
from agentic.limits._model_limits import ModelLimits

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
UNKNOWN = ModelLimits(8_192, 0, known=False)
"""The limits of an unknown model. supyagent also assumes 8,192
(https://github.com/ergodic-ai/supyagent). If the guess is too small, compaction comes early; if it
is too large, the request fails."""
CONTEXT_LIMITS: Mapping[str, int] = MappingProxyType(
    {name: limits.context_window for name, limits in LIMITS.items()}
    | {"default": UNKNOWN.context_window}
)
"""Maps every model that `lookup` knows to its context window; `default` is the window of all other
models. Read-only."""
