"""What an adapter promises of edits: a message goes out as it is, not as it once came."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.messages import Message
from agentic.testing._adapter._promise import MARK, broken, is_accepted, shows
from agentic.testing._adapter._protocol import Adapter

__all__ = ["check_edits"]

_TELLING = 4
"""Characters from which a text is told from the words of the wire around it."""


def check_edits(adapter: Adapter, where: str, history: Sequence[Message]) -> None:
    """Edit every part of every message: by replace(), and with the native items left as they were.

    A stale payload undoes an edit: what was cut, masked or corrected goes out after all.
    """
    before = is_accepted(adapter, where, history)
    for position, message in enumerate(history):
        for what, changes, old in _edits(message):
            for edited in (message.replace(**changes), attrs.evolve(message, **changes)):
                view = [*history[:position], edited, *history[position + 1 :]]
                after = is_accepted(adapter, f"{where}, with {what} edited", view)
                stale = len(old) >= _TELLING and 0 < shows(before, old) <= shows(after, old)
                if not shows(after, MARK) or stale:
                    kept = ", though native still holds the old one" * (edited.native is not None)
                    promise = f"an edited message goes out edited{kept}, but {what} did not change"
                    raise broken(f"{where}, message {position + 1}", promise)
        _drop_a_call(adapter, where, history, position)


def _edits(message: Message) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield what may be edited, the changes, and the text that is to go."""
    if message.content:
        yield "the content", {"content": MARK}, message.content
    for index, call in enumerate(message.tool_calls):
        edited = attrs.evolve(call, arguments=json.dumps({"edited": MARK}))
        calls = [*message.tool_calls[:index], edited, *message.tool_calls[index + 1 :]]
        yield "the arguments of a call", {"tool_calls": calls}, call.arguments
    for index, result in enumerate(message.tool_results):
        shorter = attrs.evolve(result, output=MARK)
        results = [*message.tool_results[:index], shorter, *message.tool_results[index + 1 :]]
        yield "the output of a tool", {"tool_results": results}, result.output


def _drop_a_call(adapter: Adapter, where: str, history: Sequence[Message], position: int) -> None:
    """Drop the last call of a message and its result, as a strategy may."""
    message = history[position]
    if not message.tool_calls:
        return
    gone = message.tool_calls[-1].id
    view = [attrs.evolve(each, tool_results=_without(each, gone)) for each in history]
    view[position] = attrs.evolve(message, tool_calls=message.tool_calls[:-1])
    text = is_accepted(adapter, f"{where}, with a call dropped", view)
    if len(gone) >= _TELLING and shows(text, gone):
        promise = "a call that was dropped stays dropped, though native still holds it"
        raise broken(f"{where}, message {position + 1}", f"{promise}, but {gone!r} went out")


def _without(message: Message, call_id: str) -> list[Any]:
    return [result for result in message.tool_results if result.call_id != call_id]
