"""How many tokens a model accepts and returns, looked up by its name or asked of a provider.

Start with `lookup` and `ModelLimits`.
"""

from agentic.limits._catalog import ModelLimits, Provider
from agentic.limits._lookup import CONTEXT_LIMITS, get_context_limit, lookup

__all__ = [
    "CONTEXT_LIMITS",
    "ModelLimits",
    "Provider",
    "get_context_limit",
    "lookup",
]
