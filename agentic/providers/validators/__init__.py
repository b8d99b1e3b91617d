"""Explain why a provider would reject a request's structure, with one module per provider.

Start with `Violation` and `find_unpaired`.

A validator returns a list of violations. An empty list means that the request breaks none of the
rules that the validator knows. Sizes, API keys and model names are not checked. No `Decider` needs
these modules: an adapter's `validate` imports its module on the first call.
"""

from agentic.providers.validators._violation import Step, Violation, find_unpaired

__all__ = ["Step", "Violation", "find_unpaired"]
