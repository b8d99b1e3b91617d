"""The check of an adapter: the order of its parts, and the promises about errors."""

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, cast

from agentic.messages import Message
from agentic.testing._adapter._promise import Adapter, broken
from agentic.testing._adapter._replies import (
    check_reply,
    check_stop_words,
    check_stream,
    history_of,
    read_example,
)
from agentic.testing._adapter._requests import check_edits, check_foreign, check_request
from agentic.testing._adapter._views import check_validator, check_views

__all__ = ["check_adapter"]
_NEVER: tuple[Any, ...] = (
    None,
    {},
    "",
    ValueError("boom"),
    ConnectionError("the connection was reset"),
    {"error": {"message": "Rate limit reached: 40000 tokens per minute. Try again in 20 s."}},
    {"error": {"message": "You exceeded your current quota, please check your plan."}},
)
"""Not an overflow at any provider: a rate limit mentions tokens too, but only requires waiting."""


def check_adapter(
    adapter: Adapter | ModuleType,
    *,
    requests: Iterable[Mapping[str, Any]] = (),
    responses: Iterable[Any] = (),
    streams: Iterable[tuple[Sequence[Any], Any]] = (),
    overflows: Iterable[Any] = (),
    other_errors: Iterable[Any] = (),
) -> None:
    """Check an adapter's promises, with examples of its wire and with the suite's conversations.

    - Requests, replies and streams are unchanged after being read and written, including unknown
      fields, the order of keys, and signatures. A reply is sent back as it was received.
    - An edited message is sent as edited, although its native items still have the old content.
    - Another provider's items and reasoning are never sent.
    - Whatever the history, `validate` accepts what is sent, and `validate` does detect errors.
    - All of a history is sent, in order: system messages, a summary, and everything tools returned.
    - `input` includes the cache, `output` includes reasoning. Every stop word is known and kept. A
      reply that was cut off is never `TOOL`. Missing, null or unknown values never raise.
    - A reply given with its usage and stop reason is read with exactly these.
    - A stream results in a reply or an IncompleteReply. An overflow is recognized as such, and a
      rate limit is not.
    - Arguments are not changed.

    The more the examples contain (parallel calls, thinking, images, a reply for each stop word),
    the more is proven. With `agentic-weave[testing]`, Hypothesis generates further conversations.

    Args:
        adapter: a module or an object that conforms to `Adapter`.
        requests: bodies that the provider accepted.
        responses: the provider's replies, not streamed: `(response, usage, stop reason)`, with the
            `Usage` and the `StopReason` that you determined by hand. A bare response is accepted
            too, but proves less, because nothing else says what its numbers mean.
        streams: the events of a complete stream, each with the response that would have come
            without streaming (bare, or with its usage and stop reason), or None if it is unknown.
        overflows: errors, as bodies or exceptions, that say that the request exceeds the window.
        other_errors: errors that do not, including a rate limit and a quota.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what input.
    """
    # mypy looks for a module's names in its `__all__` only; a name that is missing fails below.
    adapter = cast("Adapter", adapter)
    # First, because all that follows relies on the validator.
    check_validator(adapter)
    histories = _check_examples(adapter, requests, responses, streams)
    for where, history in histories.items():
        check_edits(adapter, where, history)
        check_foreign(adapter, where, history)
    _check_errors(adapter, list(overflows), list(other_errors))
    check_views(adapter)


def _check_examples(
    adapter: Adapter,
    requests: Iterable[Mapping[str, Any]],
    responses: Iterable[Any],
    streams: Iterable[tuple[Sequence[Any], Any]],
) -> dict[str, list[Message]]:
    """Check an adapter against the examples of its wire, and return the histories in them."""
    histories: dict[str, list[Message]] = {}
    for where, request in _named("request", requests):
        histories[where] = check_request(adapter, where, request)
    replies = [(where, read_example(given)) for where, given in _named("response", responses)]
    for where, example in replies:
        histories[where] = history_of(check_reply(adapter, where, example))
    check_stop_words(adapter, [(where, example.response) for where, example in replies])
    for where, (events, unstreamed) in _named("stream", streams):
        whole = None if unstreamed is None else read_example(unstreamed)
        decision = check_stream(adapter, where, events, whole)
        histories[where] = history_of(decision)
    return histories


def _named(kind: str, examples: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"{kind} {number}", example) for number, example in enumerate(examples, 1)]


def _check_errors(adapter: Adapter, overflows: Sequence[Any], others: Sequence[Any]) -> None:
    """Check the errors one by one."""
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
