"""How many tokens a model accepts and returns, looked up by its name or asked of a provider.

Start with `lookup` and `ModelLimits`.

`binds_reasoning` returns in a `Binding` how a model treats reasoning whose preceding request has
changed.

`get_context_limit` and its table, which `agentic.compat.supyagent` lists, can be imported from here
as well.
"""

from agentic.limits._binding import Binding as Binding
from agentic.limits._binding import binds_reasoning as binds_reasoning
from agentic.limits._catalog import CONTEXT_LIMITS as CONTEXT_LIMITS
from agentic.limits._catalog import ModelLimits, Provider, lookup
from agentic.limits._catalog import get_context_limit as get_context_limit

__all__ = ["ModelLimits", "Provider", "lookup"]
