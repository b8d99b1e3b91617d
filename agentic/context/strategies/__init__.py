"""Strategies: pure functions from the history to what the model sees.

Start with `FitContextWindow`, `ClearToolOutputs`, `TrimRounds` and `Chain`.
"""

import typing

from agentic import _lazy
from agentic.context.strategies._chain import Chain
from agentic.context.strategies._fit_window import FitContextWindow
from agentic.context.strategies._strategy import ContextStrategy, Fit, SyncSummarizer
from agentic.context.strategies._truncate_tool_outputs import TruncateToolOutputs

if typing.TYPE_CHECKING:
    from agentic.context.strategies._clear_tool_outputs import ClearToolOutputs
    from agentic.context.strategies._importance import Importance
    from agentic.context.strategies._keep_last import KeepLast
    from agentic.context.strategies._trim_rounds import TrimRounds
    from agentic.context.strategies._truncate_messages import truncate_messages

__all__ = [
    "Chain",
    "ClearToolOutputs",
    "ContextStrategy",
    "Fit",
    "FitContextWindow",
    "Importance",
    "KeepLast",
    "SyncSummarizer",
    "TrimRounds",
    "TruncateToolOutputs",
    "truncate_messages",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "ClearToolOutputs": "._clear_tool_outputs",
        "Importance": "._importance",
        "KeepLast": "._keep_last",
        "TrimRounds": "._trim_rounds",
        "truncate_messages": "._truncate_messages",
    },
)
