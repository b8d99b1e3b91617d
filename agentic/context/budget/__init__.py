"""When a conversation is compacted, what stays, and what becomes of the rest."""

from agentic.context.budget._attempt import Compaction, Host
from agentic.context.budget._compactor import Compactor, GuidedCompactor
from agentic.context.budget._manager import Manager
from agentic.context.budget._policy import Policy
from agentic.tokens import Counter

__all__ = [
    "Compaction",
    "Compactor",
    "Counter",
    "GuidedCompactor",
    "Host",
    "Manager",
    "Policy",
]
