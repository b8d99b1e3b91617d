"""How many tokens a model accepts and returns, looked up by its name or asked of a provider.

Start with `lookup` and `ModelLimits`.

`get_context_limit` and its table, which `agentic.compat.supyagent` lists, can be imported from here
as well.
"""

import typing

from agentic import _lazy
from agentic.limits._catalog import ModelLimits, Provider
from agentic.limits._lookup import lookup

if typing.TYPE_CHECKING:
    from agentic.limits._lookup import CONTEXT_LIMITS as CONTEXT_LIMITS
    from agentic.limits._lookup import get_context_limit as get_context_limit

__all__ = ["ModelLimits", "Provider", "lookup"]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"CONTEXT_LIMITS": "._lookup", "get_context_limit": "._lookup"}
)
