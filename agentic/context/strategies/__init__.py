"""Strategies: pure functions from the history to the view, which is what the model sees.

Start with `FitContextWindow`, `ClearToolOutputs`, `TrimRounds` and `Chain`.
"""

import typing

from agentic._base import _lazy
from agentic.context.strategies._strategy import Chain, ContextStrategy, Fit

if typing.TYPE_CHECKING:
    from agentic.context.strategies._fit_request import FitRequest
    from agentic.context.strategies._fit_window import FitContextWindow
    from agentic.context.strategies._selection import (
        Importance,
        KeepLast,
        TrimRounds,
        truncate_messages,
    )
    from agentic.context.strategies._superseded import ClearSuperseded
    from agentic.context.strategies._tool_outputs import ClearToolOutputs, TruncateToolOutputs

__all__ = [
    "Chain",
    "ClearSuperseded",
    "ClearToolOutputs",
    "ContextStrategy",
    "Fit",
    "FitContextWindow",
    "FitRequest",
    "Importance",
    "KeepLast",
    "TrimRounds",
    "TruncateToolOutputs",
    "truncate_messages",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "ClearSuperseded": "._superseded",
        "ClearToolOutputs": "._tool_outputs",
        "FitContextWindow": "._fit_window",
        "FitRequest": "._fit_request",
        "Importance": "._selection",
        "KeepLast": "._selection",
        "TrimRounds": "._selection",
        "TruncateToolOutputs": "._tool_outputs",
        "truncate_messages": "._selection",
    },
)
