"""Overflows that no error tells: the server cut the prompt, or let it run over, and answered.

Three things give it away, and all need the window that the server really serves. One that serves
less than its model's window (Ollama's `num_ctx` of 4,096) and cuts to that cannot be told from a
request that was short: give the window it was started with.
"""

from agentic.providers.overflow._overflow import Overflow
from agentic.usage import StopReason, Usage, normalize

__all__ = ["read_silent_overflow"]

_EDGE = 0.99
"""An input of this share of the window fills it: servers keep some tokens to themselves."""
_LITTLE = 0.01
"""An output of this share of the window is next to none."""
_FAR_BELOW = 0.6
"""An honest count is never below this share of an estimate: estimators are a third off at most."""


def read_silent_overflow(
    usage: Usage | None,
    stop_reason: StopReason,
    window: int | None,
    *,
    estimated_input: int | None = None,
) -> Overflow | None:
    """Tell from the usage of a reply that its request did not fit; None if it does not look so.

    - More input was reported than the window has: z.ai accepts a request that is too large
      (https://github.com/earendil-works/pi/issues/129).
    - The reply was cut off with next to no output while the input fills the window: Xiaomi's MiMo
      cuts the prompt to the window, and llama.cpp's server runs into its end.
    - More was sent than the window has, and less was counted: Ollama cuts the prompt, often to half
      of the window, and counts what is left (https://github.com/ollama/ollama/issues/17427).

    Sizes in tokens. `window` is one that somebody knows: without it, or with a guess
    (`ModelLimits.known`), nothing can be told. A server that reports only what was not in its cache
    gives too small an input, so that a small one alone proves nothing: `estimated_input`, the size
    of the request as counted before it was sent (`tokens.Gauge`), has to exceed the window too.

    >>> read_silent_overflow(Usage(input=204_000, output=500), StopReason.STOP, 200_000)
    Overflow(sent=204000, window=200000)
    >>> read_silent_overflow(Usage(input=8_171, output=21), StopReason.MAX_TOKENS, 8_192)
    Overflow(sent=None, window=8192)
    >>> half = Usage(input=16_386, output=300)
    >>> read_silent_overflow(half, StopReason.STOP, 32_768, estimated_input=50_000)
    Overflow(sent=50000, window=32768)
    """
    usage = normalize(usage)
    if not window or window < 0 or not usage.input:
        return None
    if usage.input > window:
        return Overflow(usage.input, window)
    fills = usage.input >= _EDGE * window
    if fills and stop_reason is StopReason.MAX_TOKENS and usage.output <= _LITTLE * window:
        return Overflow(None, window)
    estimated = estimated_input or 0
    if estimated > window and (fills or usage.input < _FAR_BELOW * estimated):
        return Overflow(estimated, window)
    return None
