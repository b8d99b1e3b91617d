"""Strategies and token counts, under the names of agentix.

>>> FitContextWindow(1_000).max_tokens, approx_token_counter("four")
(1000, 1)
"""

from typing import Any

from agentic.context import strategies
from agentic.context.strategies import ContextStrategy as ContextStrategy
from agentic.context.strategies import TrimRounds as TrimRounds
from agentic.context.strategies import TruncateToolOutputs as TruncateToolOutputs
from agentic.protocols import Counter
from agentic.tokens import HeuristicTokenCounter, approx_token_counter
from agentic.tokens import count_message_tokens as count_message_tokens
from agentic.tokens import count_tokens as count_tokens


class FitContextWindow(strategies.FitContextWindow):
    """`strategies.FitContextWindow`, which also accepts the source's name for the low watermark.

    >>> FitContextWindow(1_000, low_water=1.0).low_watermark
    1.0

    Raises:
        TypeError: both `low_water` and `low_watermark` are passed.
    """

    __slots__ = ()

    def __init__(
        self,
        max_tokens: int,
        counter: Counter = approx_token_counter,
        *,
        low_water: float | None = None,
        **options: Any,
    ) -> None:
        if low_water is not None:
            if "low_watermark" in options:
                raise TypeError("pass low_water or low_watermark, not both: they are the same")
            options["low_watermark"] = low_water
        super().__init__(max_tokens, counter, **options)


# The other names are listed by their own rooms: each has one list (design/layout.md).
__all__ = ["HeuristicTokenCounter", "approx_token_counter"]
