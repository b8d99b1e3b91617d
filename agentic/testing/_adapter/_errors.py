"""What an adapter promises of errors: a request too large is told from every other refusal."""

from collections.abc import Sequence
from typing import Any

from agentic.testing._adapter._promise import broken
from agentic.testing._adapter._protocol import Adapter

__all__ = ["check_errors"]

_NEVER: tuple[Any, ...] = (
    None,
    {},
    "",
    ValueError("boom"),
    ConnectionError("the connection was reset"),
    {"error": {"message": "Rate limit reached: 40000 tokens per minute. Try again in 20 s."}},
    {"error": {"message": "You exceeded your current quota, please check your plan."}},
)
"""No provider's overflow. A rate limit counts tokens too, and waiting is all it asks for."""


def check_errors(adapter: Adapter, overflows: Sequence[Any], others: Sequence[Any]) -> None:
    """Show the errors one by one."""
    for error in overflows:
        if not _is_overflow(adapter, error):
            raise broken(_name(error), "is_context_overflow() recognizes it, but did not")
    for error in (*_NEVER, *others):
        if _is_overflow(adapter, error):
            promise = "is_context_overflow() takes no other error for an overflow, but took this"
            raise broken(_name(error), f"{promise}: a user would lose history for nothing")


def _is_overflow(adapter: Adapter, error: Any) -> bool:
    try:
        return adapter.is_context_overflow(error)
    except Exception as problem:
        promise = f"is_context_overflow() never raises, but raised {problem!r:.200}"
        raise broken(_name(error), promise) from problem


def _name(error: Any) -> str:
    return f"the error {error!r:.200}"
