"""What an SDK raises, as the errors that callers of a decider can act on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agentic.errors import ContextOverflow, IncompleteReply, ProviderError, RequestFailed
from agentic.providers.overflow import read_overflow

__all__ = ["provider_errors"]

_SDKS = {"openai", "anthropic", "google", "boto3", "botocore"}
_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "urllib3", "requests"}
"""Whose exceptions speak of the provider or of the way to it; others are mistakes in the call."""


@contextmanager
def provider_errors(
    provider: str, model: str, window: int | None, received: Callable[[], str] = str
) -> Iterator[None]:
    """Turn what an SDK raises inside the block into a `ProviderError`.

    `window` is what the caller knows of the model, in tokens; `received` gives the text that a
    stream has brought so far.

    Raises:
        ContextOverflow: the request does not fit the model's window.
        IncompleteReply: the connection broke off in the middle of a reply.
        RequestFailed: any other refusal, and no answer at all.
    """
    try:
        yield
    except Exception as error:
        if not _speaks_of_the_provider(error):
            raise
        raise _translated(error, provider, model, window, received()) from error


def _speaks_of_the_provider(error: Exception) -> bool:
    if isinstance(error, ProviderError):
        return False
    origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(origins & (_SDKS | _TRANSPORTS)) or isinstance(error, OSError)


def _translated(
    error: Exception, provider: str, model: str, window: int | None, received: str
) -> ProviderError:
    overflow = read_overflow(error)
    if overflow is not None:
        return ContextOverflow(model, overflow.sent, overflow.window or window)
    status = _status(error)
    if received and status is None:
        return IncompleteReply(received)
    return RequestFailed(provider, status, str(error) or repr(error))


def _status(error: Any) -> int | None:
    """Read the HTTP status where each SDK has it."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        response = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    candidates = (getattr(error, "status_code", None), getattr(error, "code", None), response)
    return next((status for status in candidates if isinstance(status, int)), None)
