"""When a conversation is compacted, what is kept, and what happens to the rest.

Start with `Manager`, `Policy` and `Compaction`.
"""

from agentic._protocols import Compactor, GuidedCompactor
from agentic.context.budget._attempt import Compaction, CompactionTarget
from agentic.context.budget._manager import Backoff, Manager
from agentic.context.budget._policy import Policy
from agentic.tokens import Counter

__all__ = [
    "Backoff",
    "Compaction",
    "CompactionTarget",
    "Compactor",
    "Counter",
    "GuidedCompactor",
    "Manager",
    "Policy",
]
