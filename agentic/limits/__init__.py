"""What is known about a model by its name: limits, cache prices, and how it treats reasoning.

Start with `lookup` and `ModelLimits`.

`cache_terms` returns in `CacheTerms` the prices of a prompt cache and its lifetime.
`binds_reasoning` returns in a `Binding` how a model treats reasoning whose preceding request has
changed.

`get_context_limit` and its table, which `agentic.compat.supyagent` lists, can be imported from here
as well.
"""

import typing

from agentic._base import _lazy
from agentic.limits._binding import Binding
from agentic.limits._cache_terms import CacheTerms
from agentic.limits._lookup import binds_reasoning, cache_terms, lookup
from agentic.limits._lookup import get_context_limit as get_context_limit
from agentic.limits._model_limits import ModelLimits, Provider

if typing.TYPE_CHECKING:
    from agentic.limits._catalog import CONTEXT_LIMITS as CONTEXT_LIMITS

__all__ = [
    "Binding",
    "CacheTerms",
    "ModelLimits",
    "Provider",
    "binds_reasoning",
    "cache_terms",
    "lookup",
]

# The rows of the catalog are loaded with the first lookup.
__getattr__, __dir__ = _lazy.load_lazily(__name__, {"CONTEXT_LIMITS": "._catalog"})
