"""The reference loop: ask a model, run its tools, and keep the history truncated and compacted.

Start with `Runner`, `Decider`, `Decision` and `Result`.
"""

import typing

from agentic._base import _lazy
from agentic.loop._records import Request, Result, RunLimit, RunLimits
from agentic.protocols import Decider, Decision, Executor, Input, StreamingDecider
from agentic.protocols import InputTransformation as InputTransformation
from agentic.protocols import Rewriter as Rewriter
from agentic.protocols import Store as Store

if typing.TYPE_CHECKING:
    from agentic.loop._calls import truncate_result
    from agentic.loop._runner import Runner

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
    __name__, {"Runner": "._runner", "truncate_result": "._calls"}
)
