"""Decide whether an error or a reply shows that the request did not fit the model's window.

The status, the code and sizes in separate fields take precedence over the text. An error whose
status concerns permissions or rates is never an overflow: OpenAI answers 429 to a request that
exceeds the allowance per minute, and a smaller request may have to wait just as long. Nor is a
timeout (408, 504, nginx's 499, Cloudflare's 524), which says nothing about size.
Status 413 without a text is taken for an overflow, and 400 without one is not: it may be anything.
Other statuses are not conclusive: an overflow may have 400, 413, 422 or 500, or 200 in a stream
(https://github.com/anomalyco/opencode/pull/39621, https://github.com/ggml-org/llama.cpp/issues/19774).

Some overflows cause no error: the server truncates the prompt, or lets it exceed the window, and
answers. Three signs show this: see `read_silent_overflow`.
"""

import re
from collections.abc import Mapping
from typing import Any

from agentic.errors import ContextOverflow
from agentic.providers.overflow._error_text import (
    ErrorInfo,
    Overflow,
    as_overflow,
    read_error_text,
    read_sizes,
)
from agentic.providers.overflow._wordings import OTHER_ERRORS, OVERFLOWS
from agentic.usage import StopReason, Usage, normalize

_TOO_LARGE = 413
_NEVER = {401, 402, 403, 404, 407, 408, 429, 499, 504, 524}

# OpenAI's context_length_exceeded, Copilot's model_max_prompt_tokens_exceeded, LiteLLM's
# ContextWindowExceededError, vmlx's prompt_too_long; then llama.cpp, GitHub Models, watsonx, z.ai.
_OVERFLOW_CODE = re.compile(
    r"(?:model_)?(?:max_)?(?:context|prompt|input)(?:_(?:length|size|window|limit|tokens?)){0,2}"
    r"_(?:limit_)?(?:exceeded|overflow|too_long)(?:_error|_exception)?"
    r"|exceed_context_size_error|tokens_limit_reached|token_quantity_exceeded|1261"
)

_OTHER_CODE = re.compile(
    r"rate_?limit|throttl|quota|too_many_requests|resource_exhausted|overloaded|billing|payment"
    r"|insufficient|authentication|permission|access_denied|api_key|not_found"
    r"|(?:string|array|integer|decimal)_(?:above|below)|unsupported_|image|content_(?:filter|policy)"
    r"|tool_use_failed|json_validate_failed|time_?out|deadline|cancell?ed"
)

_EDGE = 0.99
"""An input of at least this fraction of the window fills it: servers reserve some tokens."""
_LITTLE = 0.01
"""An output of at most this fraction of the window counts as almost none."""
_FAR_BELOW = 0.6
"""A correct count is at least this fraction of an estimate: estimates are off by at most a
third."""


def read_overflow(error: Any) -> Overflow | None:
    """Return the sizes in an overflow error; None if the error is not an overflow. Never raises.

    The error may be an SDK exception, a response body as plain data or JSON, an event of a stream,
    or a text from a log.

    >>> read_overflow("prompt is too long: 208310 tokens > 200000 maximum")
    Overflow(sent=208310, window=200000)
    >>> read_overflow({"error": {"code": "context_length_exceeded", "message": "Too much."}})
    Overflow(sent=None, window=None)
    >>> read_overflow("Too many tokens, please wait before trying again.") is None
    True
    """
    if isinstance(error, ContextOverflow):
        return Overflow(error.sent, error.window)
    info = read_error_text(error)
    if info.status in _NEVER or not _says_overflow(info):
        return None
    # Sizes in fields of their own go first: they are exact, in whatever language the text is.
    sizes = info.sizes
    for read in map(read_sizes, info.texts):
        sizes = as_overflow(sizes.sent or read.sent, sizes.window or read.window)
    return sizes


def is_context_overflow(error: Any) -> bool:
    """Return whether an error says that the request does not fit the model's window.

    >>> is_context_overflow("request (20031 tokens) exceeds the available context size")
    True
    """
    return read_overflow(error) is not None


def _says_overflow(info: ErrorInfo) -> bool:
    # Some gateways say no more than that the content is too large. It may have been too many bytes,
    # but then a smaller request helps as well.
    if info.status == _TOO_LARGE and info.is_bare:
        return True
    # A code is made for programs. It decides before any wording, which gateways rephrase.
    if any(_OVERFLOW_CODE.fullmatch(code) for code in info.codes):
        return True
    if any(_OTHER_CODE.search(code) for code in info.codes):
        return False
    # Both, because errors about output limits and quotas use the words of an overflow.
    return _any_of(OVERFLOWS, info.texts) and not _any_of(OTHER_ERRORS, info.texts)


def _any_of(wordings: Mapping[str, re.Pattern[str]], texts: tuple[str, ...]) -> bool:
    return any(wording.search(text) for wording in wordings.values() for text in texts)


def read_silent_overflow(
    usage: Usage | None,
    stop_reason: StopReason,
    window: int | None,
    *,
    estimated_input: int | None = None,
) -> Overflow | None:
    """Return the sizes if a reply's usage shows that its request did not fit; None otherwise.

    There are three signs:

    - The reported input is larger than the window: z.ai accepts a request that is too large
      (https://github.com/earendil-works/pi/issues/129).
    - The reply was cut off with almost no output while the input fills the window: Xiaomi's MiMo
      truncates the prompt to the window, and llama.cpp's server reaches the end of the window.
    - The request was larger than the window, and the reported input is smaller: Ollama truncates
      the prompt, often to half of the window, and counts the rest
      (https://github.com/ollama/ollama/issues/17427).

    All sizes are in tokens. `window` must be the one that the server was started with, which may be
    less than its model's (Ollama's `num_ctx` of 4,096): without it, or with a guess (see
    `ModelLimits.known`), nothing can be detected. A server that reports only the input that was not
    in its cache reports too little, so a small count alone proves nothing. `estimated_input`, the
    size of the request as estimated before it was sent (`tokens.ContextMeter`), has to exceed the
    window as well.

    >>> read_silent_overflow(Usage(input=204_000, output=500), StopReason.STOP, 200_000)
    Overflow(sent=204000, window=200000)
    >>> read_silent_overflow(Usage(input=8_171, output=21), StopReason.MAX_TOKENS, 8_192)
    Overflow(sent=None, window=8192)
    >>> half = Usage(input=16_386, output=300)
    >>> read_silent_overflow(half, StopReason.STOP, 32_768, estimated_input=50_000)
    Overflow(sent=50000, window=32768)
    """
    usage = normalize(usage)
    # A server that reports no input says nothing about the prompt, and neither does what several
    # requests used together.
    if not window or window < 0 or not usage.input or usage.summed:
        return None
    if usage.input > window:
        return Overflow(usage.input, window)
    fills = usage.input >= _EDGE * window
    if fills and stop_reason is StopReason.MAX_TOKENS and usage.output <= _LITTLE * window:
        return Overflow(None, window)
    estimate = estimated_input or 0
    if estimate > window and (fills or usage.input < _FAR_BELOW * estimate):
        return Overflow(estimate, window)
    return None
