"""The reference loop: ask a model, run its tools, and keep the history truncated and compacted.

Start with `Runner`, `Decider`, `Decision` and `Result`.
"""

from agentic._decision import Decision, Input
from agentic._protocols import Executor, Rewriter, Store
from agentic.loop._limits import RunLimit, RunLimits
from agentic.loop._protocols import Decider, Request, Result, StreamingDecider
from agentic.loop._runner import Runner, ViewMaker
from agentic.loop._truncation import truncate_result

__all__ = [
    "Decider",
    "Decision",
    "Executor",
    "Input",
    "Request",
    "Result",
    "Rewriter",
    "RunLimit",
    "RunLimits",
    "Runner",
    "Store",
    "StreamingDecider",
    "ViewMaker",
    "truncate_result",
]
