"""The order in which an adapter is held to its promises, those of errors included."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
"""No provider's overflow. A rate limit counts tokens too, and waiting is all it asks for."""


def check_adapter(
    adapter: Adapter,
    *,
    requests: Iterable[Mapping[str, Any]] = (),
    responses: Iterable[Any] = (),
    streams: Iterable[tuple[Sequence[Any], Any]] = (),
    overflows: Iterable[Any] = (),
    other_errors: Iterable[Any] = (),
) -> None:
    """Hold an adapter to its promises, on examples of its wire and on conversations of its own.

    - Requests, replies and streams read and written again are what they were: unknown fields, the
      order of keys and signatures included. A reply goes back as it came.
    - An edited message goes out edited, though its native items still say what it said.
    - Another provider's items and its reasoning are never sent.
    - Whatever the history, what goes out is accepted by `validate`, and `validate` can tell.
    - All of a history goes out, in order: system messages, a summary, what tools gave besides.
    - `input` includes the cache, `output` includes reasoning; every word is known and kept; a reply
      that was cut off is never `TOOL`; nothing missing, null or unknown raises.
    - A reply that comes with its usage and stop reason is counted and read as they say.
    - A stream is a reply, or an IncompleteReply. An overflow is one, and a rate limit is not.
    - What is handed in is left as it was.

    The more the examples show (parallel calls, thinking, images, a reply of each stop word), the
    more is proven. With `agentic-weave[testing]`, Hypothesis makes further conversations.

    Args:
        adapter: a module, or an object, that fits `Adapter`.
        requests: bodies that the provider accepted.
        responses: replies that the provider gave, not streamed: `(response, usage, stop reason)`,
            with the `Usage` and the `StopReason` that you worked out by hand. A bare response is
            accepted too, and proves less: nobody else knows what its numbers mean.
        streams: the events of a whole stream, each with the response that would have come without
            streaming (bare, or with its usage and stop reason), or None where it is not known.
        overflows: errors that say that the request is larger than the window: bodies or exceptions.
        other_errors: errors that do not, a rate limit and a quota among them.

    Raises:
        AssertionError: a promise is broken; the text says which, and on what.
    """
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
    """Hold an adapter to what the examples of its wire show, and return the histories in them."""
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
