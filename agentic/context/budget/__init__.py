"""When a conversation is compacted, what is kept, and what happens to the rest.

Start with `Manager`, `Policy` and `Compaction`.
"""

from agentic.context.budget._compaction import Budget, Compaction, CompactionTarget
from agentic.context.budget._manager import Manager
from agentic.context.budget._policy import Policy
from agentic.protocols import Compactor, GuidedCompactor
from agentic.tokens import Counter as Counter

__all__ = [
    "Budget",
    "Compaction",
    "CompactionTarget",
    "Compactor",
    "GuidedCompactor",
    "Manager",
    "Policy",
]
