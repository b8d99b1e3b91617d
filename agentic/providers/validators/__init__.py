"""Explain why a provider would reject a request's structure, with one module per provider.

Start with `Violation` and `find_unpaired`.

No `Decider` needs these modules. An adapter's `validate` imports its module on the first call.
"""

from agentic.providers.validators._violation import Step, Violation, find_unpaired

__all__ = ["Step", "Violation", "find_unpaired"]
