"""When a conversation is compacted, what is kept, and what happens to the rest.

Start with `Manager`, `Policy` and `Compaction`.
"""

from agentic._protocols import Compactor, GuidedCompactor
from agentic.context.budget._attempt import Compaction
from agentic.context.budget._attempt import CompactionTarget as CompactionTarget
from agentic.context.budget._manager import Backoff as Backoff
from agentic.context.budget._manager import Manager
from agentic.context.budget._policy import Policy
from agentic.tokens import Counter as Counter

__all__ = ["Compaction", "Compactor", "GuidedCompactor", "Manager", "Policy"]
