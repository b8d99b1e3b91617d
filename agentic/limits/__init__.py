"""What is known about a model by its name: limits, cache prices, and how it treats reasoning.

Start with `lookup` and `ModelLimits`.

`wire_limits` returns in `WireLimits` the largest request in bytes and in images.
`media_costs` returns in `MediaCosts` what images and other media cost in tokens.
`cache_terms` returns in `CacheTerms` the prices of a prompt cache and its lifetime.
`token_scale` returns how many tokens a model counts where a public vocabulary counts one.
`binds_reasoning` returns in a `Binding` how a model treats reasoning whose preceding request has
changed.

`longest_name` finds a name, however a provider spells it, in a table of names like those here.
`read_tokens` reads a number of tokens that is written as `16k`; `as_tokens` passes all else on.
`reply_reserve` returns what a budget keeps free of a window by default.

`get_context_limit` and its table, which `agentic.compat.supyagent` lists, can be imported from here
as well.
"""

import typing

from agentic._base import _lazy
from agentic.limits._binding import Binding as Binding
from agentic.limits._cache_terms import CacheTerms as CacheTerms
from agentic.limits._lookup import binds_reasoning as binds_reasoning
from agentic.limits._lookup import cache_terms as cache_terms
from agentic.limits._lookup import get_context_limit as get_context_limit
from agentic.limits._lookup import lookup
from agentic.limits._lookup import media_costs as media_costs
from agentic.limits._lookup import token_scale as token_scale
from agentic.limits._lookup import wire_limits as wire_limits
from agentic.limits._model_limits import ModelLimits, Provider
from agentic.limits._model_limits import as_tokens as as_tokens
from agentic.limits._model_limits import read_tokens as read_tokens
from agentic.limits._model_limits import reply_reserve as reply_reserve
from agentic.limits._names import longest_name as longest_name
from agentic.limits._wire_limits import WireLimits as WireLimits

if typing.TYPE_CHECKING:
    from agentic.limits._catalog import CONTEXT_LIMITS as CONTEXT_LIMITS
    from agentic.limits._media_costs import OTHER as OTHER
    from agentic.limits._media_costs import MediaCosts as MediaCosts

__all__ = ["ModelLimits", "Provider", "lookup"]

# The rows of the catalog are loaded with the first lookup.
__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "CONTEXT_LIMITS": "._catalog",
        "MediaCosts": "._media_costs",
        "OTHER": "._media_costs",
    },
)
