"""The reference loop: ask a model, run its tools, and keep the history truncated and compacted.

Start with `Runner`, `Decider`, `Decision` and `Result`.
"""

import typing

from agentic import _lazy
from agentic._protocols import Decision, Executor, Input
from agentic._protocols import InputTransformation as InputTransformation
from agentic._protocols import Rewriter as Rewriter
from agentic._protocols import Store as Store
from agentic.loop._limits import RunLimit, RunLimits
from agentic.loop._protocols import Decider, Request, Result, StreamingDecider

if typing.TYPE_CHECKING:
    from agentic.loop._runner import Runner
    from agentic.loop._runner import ViewMaker as ViewMaker
    from agentic.loop._turn_results import truncate_result

__all__ = [
    "Decider",
    "Decision",
    "Executor",
    "Input",
    "Request",
    "Result",
    "RunLimit",
    "RunLimits",
    "Runner",
    "StreamingDecider",
    "truncate_result",
]

# An adapter needs the records and not the loop, which loads the rooms of the context.
__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {"Runner": "._runner", "ViewMaker": "._runner", "truncate_result": "._turn_results"}
)
