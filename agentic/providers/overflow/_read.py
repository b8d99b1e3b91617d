"""Which errors say that the request does not fit the model's window.

Status, code and the sizes in fields of their own are believed first, then the words. No error is
an overflow that came with a status about somebody's rights or rate: OpenAI answers 429 to a
request that is larger than a minute's allowance, and a smaller one may have to wait just as long.
Nor is a timeout (408, 504, nginx's 499, Cloudflare's 524): who gave up saw no size.
Other statuses decide nothing: an overflow comes as 400, 413, 422, 500, inside a stream as 200
(https://github.com/anomalyco/opencode/pull/39621, https://github.com/ggml-org/llama.cpp/issues/19774).
"""

import re
from typing import Any

from agentic.errors import ContextOverflow
from agentic.providers.overflow._clouds import CLOUDS
from agentic.providers.overflow._labs import LABS
from agentic.providers.overflow._negative import OTHERS
from agentic.providers.overflow._overflow import Overflow
from agentic.providers.overflow._said import Said, read_said
from agentic.providers.overflow._served import SERVED
from agentic.providers.overflow._sizes import read_sizes

__all__ = ["is_context_overflow", "read_overflow"]

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
_WORDINGS = tuple(dict.fromkeys(row.wording for row in (*LABS, *CLOUDS, *SERVED)))
_OTHER_WORDINGS = tuple(dict.fromkeys(row.wording for row in OTHERS))


def read_overflow(error: Any) -> Overflow | None:
    """Read an error; None if it is no overflow. Never raises.

    It may be an SDK's exception, a body as plain data or as JSON, a part of a stream, or the text
    that somebody logged.

    >>> read_overflow("prompt is too long: 208310 tokens > 200000 maximum")
    Overflow(sent=208310, window=200000)
    >>> read_overflow({"error": {"code": "context_length_exceeded", "message": "Too much."}})
    Overflow(sent=None, window=None)
    >>> read_overflow("Too many tokens, please wait before trying again.") is None
    True
    """
    if isinstance(error, ContextOverflow):
        return Overflow(error.sent, error.window)
    said = read_said(error)
    if said.status in _NEVER or not _says_overflow(said):
        return None
    sent, window = said.sizes
    for text in said.texts:
        read = read_sizes(text)
        sent, window = sent or read.sent, window or read.window
    return Overflow(sent, window)


def is_context_overflow(error: Any) -> bool:
    """Tell whether an error says that the request does not fit the model's window.

    >>> is_context_overflow("request (20031 tokens) exceeds the available context size")
    True
    """
    return read_overflow(error) is not None


def _says_overflow(said: Said) -> bool:
    if any(_OVERFLOW_CODE.fullmatch(code) for code in said.codes):
        return True
    if any(_OTHER_CODE.search(code) for code in said.codes):
        return False
    return _any_of(_WORDINGS, said.texts) and not _any_of(_OTHER_WORDINGS, said.texts)


def _any_of(wordings: tuple[re.Pattern[str], ...], texts: tuple[str, ...]) -> bool:
    return any(wording.search(text) for wording in wordings for text in texts)
