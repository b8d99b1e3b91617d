"""What an SDK raises, as the errors that callers of a decider can act on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentic.errors import ContextOverflow, IncompleteReply, ProviderError, RequestFailed
from agentic.providers.overflow import read_overflow
from agentic.providers.overflow._said import status_of

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
    if origins & (_SDKS | _TRANSPORTS):
        return True
    # One that names a file is about this machine, not about the way to the provider.
    return isinstance(error, OSError) and error.filename is None


def _translated(
    error: Exception, provider: str, model: str, window: int | None, received: str
) -> ProviderError:
    overflow = read_overflow(error)
    if overflow is not None:
        return ContextOverflow(model, overflow.sent, overflow.window or window)
    status = status_of(error)
    if received and status is None:
        return IncompleteReply(received)
    return RequestFailed(provider, status, str(error) or repr(error))
