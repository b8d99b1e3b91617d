"""What an adapter promises of streams: a reply in pieces is whole, or is told to be cut."""

import json
from collections.abc import Sequence
from typing import Any

import attrs

from agentic.errors import IncompleteReply
from agentic.loop import Decision
from agentic.testing._adapter._promise import ask, broken
from agentic.testing._adapter._protocol import Adapter
from agentic.testing._adapter._replies import Example, check_reply
from agentic.testing._adapter._variations import strings
from agentic.usage import StopReason

__all__ = ["check_stream"]

_UNKNOWN = {"type": "x_unheard_of", "note": "kept alive"}
_MOST = 100
"""Prefixes of one stream that are tried: it may have thousands of events."""


def check_stream(
    adapter: Adapter, where: str, events: Sequence[Any], unstreamed: Example | None
) -> Decision:
    """Put one stream together, whole and broken off; give what it decided."""
    response, text = _assembled(adapter, where, events)
    known = unstreamed or Example(None)
    decision = check_reply(adapter, where, Example(response, known.usage, known.stop_reason))
    if text != decision.reply:
        raise broken(where, f"the pieces make up the reply, but are {text!r:.60}")
    if unstreamed is not None:
        _is_the_same(where, decision, check_reply(adapter, where, unstreamed))
    elif decision.stop_reason is StopReason.TOOL:
        for call in decision.tool_calls:
            _is_whole(where, call.arguments)
    noisy = [each for event in events for each in (_UNKNOWN, event)]
    if adapter.decode_response(_assembled(adapter, where, noisy)[0]) != decision:
        raise broken(where, "events that nobody knows change nothing, but they did")
    for length in range(0, len(events), max(1, len(events) // _MOST)):
        _is_told_to_be_cut(adapter, where, events[:length], decision)
    return decision


def _assembled(adapter: Adapter, where: str, events: Sequence[Any]) -> tuple[Any, str]:
    streamed = ask(where, adapter.StreamedResponse)
    text = "".join([ask(where, streamed.feed, event) for event in events])
    return ask(where, streamed.response), text


def _is_whole(where: str, arguments: str) -> None:
    try:
        json.loads(arguments or "{}")
    except ValueError as problem:
        promise = f"fragments of a call are put together, but {arguments!r:.60} is no JSON"
        raise broken(where, promise) from problem


def _is_the_same(where: str, streamed: Decision, whole: Decision) -> None:
    for name in ("reply", "reasoning", "tool_calls", "stop_reason", "stop_word", "usage"):
        got, expected = getattr(streamed, name), getattr(whole, name)
        if got != expected:
            promise = f"a stream decides what the response without streaming does: {name} is"
            raise broken(where, f"{promise} {expected!r:.200}, but {got!r:.200}")
    lost = _kept(whole) - _kept(streamed)
    if lost:
        promise = "a stream keeps what the response without streaming does"
        raise broken(where, f"{promise}, but lost {sorted(lost)!r:.200}")


def _kept(decision: Decision) -> set[str]:
    return set(strings(decision.native.payload).values()) if decision.native else set()


def _is_told_to_be_cut(
    adapter: Adapter, where: str, events: Sequence[Any], whole: Decision
) -> None:
    """Break the stream off: it raises IncompleteReply, unless all that mattered had come."""
    streamed = adapter.StreamedResponse()
    text = "".join([streamed.feed(event) for event in events])
    name = f"{where}, broken off after {len(events)} events"
    try:
        response = streamed.response()
    except IncompleteReply as cut:
        if cut.received != text:
            raise broken(
                name, f"IncompleteReply holds what had come, but {cut.received!r:.60}"
            ) from cut
        return
    except Exception as problem:
        raise broken(name, f"it raises IncompleteReply, but raised {problem!r:.200}") from problem
    decision = ask(name, adapter.decode_response, response)
    if _without_usage(decision) != _without_usage(whole):
        raise broken(name, f"response() raises IncompleteReply, but gave {decision.reply!r:.60}")


def _without_usage(decision: Decision) -> Decision:
    return attrs.evolve(decision, usage=None, native=None)
