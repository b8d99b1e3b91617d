"""What an SDK raises, and a provider reports, as errors that callers of a decider can act on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agentic.errors import ContextOverflow, IncompleteReply, ProviderError, RequestFailed
from agentic.limits import ModelLimits
from agentic.providers.kit import at, plain
from agentic.providers.overflow import read_overflow
from agentic.providers.overflow._error_text import status_of

__all__ = ["counted_tokens", "known_window", "provider_errors", "reported_error"]

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


def reported_error(
    said: Any,
    provider: str,
    model: str,
    status: int | None,
    problem: str,
    *,
    window: int | None = None,
) -> ProviderError:
    """Make the error that a provider reports: in an exception, or within an answer of status 200.

    `said` is what an overflow is read from; `status` and `problem` tell of any other error.

    >>> print(reported_error({"error": "no"}, "acme", "m-1", 502, "upstream is gone"))
    acme did not serve the request (HTTP 502): upstream is gone
    """
    overflow = read_overflow(said)
    if overflow is not None:
        return ContextOverflow(model, overflow.sent, overflow.window or window)
    return RequestFailed(provider, status, problem)


def counted_tokens(answer: Any, field: str, provider: str) -> int:
    """Read the answer to a question for a count.

    >>> counted_tokens({"input_tokens": 7}, "input_tokens", "acme")
    7

    Raises:
        RequestFailed: there is no count in it, as in that of a server that knows no such question.
    """
    found = at(plain(answer), field)
    if isinstance(found, bool) or not isinstance(found, int):
        raise RequestFailed(provider, None, "the reply has no token count")
    return found


def known_window(limits: ModelLimits) -> int | None:
    """Return the model's context window, in tokens; None if it is only supposed.

    >>> known_window(ModelLimits(128_000, 16_384)), known_window(ModelLimits(8192, 0, known=False))
    (128000, None)
    """
    return limits.context_window if limits.known else None


def _speaks_of_the_provider(error: Exception) -> bool:
    if isinstance(error, ProviderError):
        return False
    origins = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if origins & (_SDKS | _TRANSPORTS):
        return True
    # One that names a file is about this machine, not about the way to the provider.
    return isinstance(error, OSError) and error.filename is None


def _translated(
    error: Exception, provider: str, model: str, window: int | None, received: str
) -> ProviderError:
    status = status_of(error)
    if received and status is None and read_overflow(error) is None:
        return IncompleteReply(received)
    problem = str(error) or repr(error)
    return reported_error(error, provider, model, status, problem, window=window)
