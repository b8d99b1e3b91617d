"""An error that a server reports within an answer of status 200: in a stream, or as the body."""

from typing import Any

from agentic.errors import ProviderError
from agentic.providers._failure import reported_error
from agentic.providers._plain import at, text_at
from agentic.providers.openai_chat._wire._name import NAME

__all__ = ["failure_in"]


def failure_in(body: Any, model: str = "", window: int | None = None) -> ProviderError | None:
    """Read the error of an event or of a body; None where there is none.

    `{"error": {...}}` is what OpenRouter and vLLM send in the middle of a stream
    (https://openrouter.ai/docs/api/reference/errors-and-debugging); Mistral and older servers of
    vLLM send `{"object": "error", ...}`.

    >>> print(failure_in({"error": {"code": 502, "message": "upstream is gone"}}))
    openai_chat did not serve the request (HTTP 502): upstream is gone
    """
    error = at(body, "error") or (body if text_at(body, "object") == "error" else None)
    if not error:
        return None
    code = at(error, "code")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    problem = text_at(error, "message") or str(error)
    named = model or text_at(body, "model")
    return reported_error(body, NAME, named, status, problem, window=window)
