"""Why a provider would refuse a request for its shape: a module for each, which loads when asked.

Start with `Violation` and `find_unpaired`.

No `Decider` needs them. An adapter's `validate` imports its own module at the first call.
"""

from agentic.providers.validators._violation import Step, Violation, find_unpaired

__all__ = ["Step", "Violation", "find_unpaired"]
