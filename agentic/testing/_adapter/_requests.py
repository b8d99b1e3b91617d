"""The promises about requests: what a provider accepted is written as it was read.

What was edited is sent as edited, and what came from elsewhere is encoded from its fields.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Message, ProviderPayload, split_rounds
from agentic.testing._adapter._examples import (
    ASK,
    READ,
    find_talk,
    with_one_thing_unknown,
    with_one_thing_wrong,
)
from agentic.testing._adapter._promise import (
    MARK,
    Adapter,
    ask,
    broken,
    call,
    difference,
    is_accepted,
    shows,
)

__all__ = ["check_edits", "check_foreign", "check_request"]
_TELLING = 4
"""Characters that distinguish a text from the words of the wire around it."""


def check_request(adapter: Adapter, where: str, request: Mapping[str, Any]) -> list[Message]:
    """Check one request, and return its conversation if it is complete."""
    if found := ask(where, adapter.validate, request):
        raise broken(where, f"validate() accepts what the provider accepted, but says {found[0]}")
    history = ask(where, adapter.decode_request, request)
    again = ask(where, adapter.encode_request, history)
    for key in _keys_of_a_conversation(adapter):
        # An empty list says what a missing one says.
        if changed := difference(request.get(key) or None, again.get(key) or None, key):
            raise broken(where, f"a request read and written again is what it was, but {changed}")
    _is_named(adapter, where, history)
    _keeps_the_unknown(adapter, where, request)
    for place, wrong in with_one_thing_wrong(request):
        call(f"{where}, {place} wrong", adapter.decode_request, wrong)
        call(f"{where}, {place} wrong", adapter.validate, wrong)
    if ask(where, adapter.validate, again):
        return []  # it continues a state that is kept on the server
    _survives_drops(adapter, where, history)
    return history


def _keys_of_a_conversation(adapter: Adapter) -> list[str]:
    """Return the fields of a request that are the conversation, not the tools or the options."""
    plain = adapter.encode_request([ASK], system_prompt=MARK)
    with_tools = adapter.encode_request([ASK], system_prompt=MARK, tools=[READ])
    return [key for key in plain if plain[key] == with_tools.get(key)]


def _is_named(adapter: Adapter, where: str, history: list[Message]) -> None:
    for message in history:
        if message.native and message.native.provider != adapter.NAME:
            named = f"{message.native.provider!r}, not {adapter.NAME!r}"
            raise broken(where, f"native items are marked with the adapter's NAME, but say {named}")


def _keeps_the_unknown(adapter: Adapter, where: str, request: Mapping[str, Any]) -> None:
    key = find_talk(adapter)
    for place, talk in with_one_thing_unknown(request.get(key, [])):
        messages = ask(where, adapter.decode, talk)
        again = ask(where, adapter.encode, messages)
        if changed := difference(talk, again, key):
            promise = f"what is unknown is kept, but with something unknown in {place}, {changed}"
            raise broken(where, promise)


def _survives_drops(adapter: Adapter, where: str, history: list[Message]) -> None:
    """Check the history without each round, and without all before it, as after a strategy."""
    rounds = split_rounds(history)
    for index in range(len(rounds)):
        for what, kept in (
            ("without", rounds[:index] + rounds[index + 1 :]),
            ("from", rounds[index:]),
        ):
            positions = sorted(place for found in kept for place in found.positions)
            view = [history[place] for place in positions]
            is_accepted(adapter, f"{where}, {what} round {index + 1}", view, tools=[READ])


def check_edits(adapter: Adapter, where: str, history: Sequence[Message]) -> None:
    """Edit every part of every message, with replace() and with the native items left unchanged.

    A stale payload would undo an edit: what was cut, masked or corrected would be sent after all.
    """
    before = is_accepted(adapter, where, history)
    for position, message in enumerate(history):
        for what, changes, old in _edits(message):
            for edited in (message.replace(**changes), attrs.evolve(message, **changes)):
                view = [*history[:position], edited, *history[position + 1 :]]
                after = is_accepted(adapter, f"{where}, with {what} edited", view)
                # The old text may also occur elsewhere, so it must occur less often, not never.
                stale = len(old) >= _TELLING and 0 < shows(before, old) <= shows(after, old)
                if not shows(after, MARK) or stale:
                    kept = ", though native still holds the old one" * (edited.native is not None)
                    promise = f"an edited message goes out edited{kept}, but {what} did not change"
                    raise broken(f"{where}, message {position + 1}", promise)
        _drop_a_call(adapter, where, history, position)


def _edits(message: Message) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield what can be edited, the changes, and the text that must disappear."""
    if message.content:
        yield "the content", {"content": MARK}, message.content
    for index, asked in enumerate(message.tool_calls):
        edited = attrs.evolve(asked, arguments=json.dumps({"edited": MARK}))
        calls = [*message.tool_calls[:index], edited, *message.tool_calls[index + 1 :]]
        yield "the arguments of a call", {"tool_calls": calls}, asked.arguments
    for index, result in enumerate(message.tool_results):
        shorter = attrs.evolve(result, output=MARK)
        results = [*message.tool_results[:index], shorter, *message.tool_results[index + 1 :]]
        yield "the output of a tool", {"tool_results": results}, result.output


def _drop_a_call(adapter: Adapter, where: str, history: Sequence[Message], position: int) -> None:
    """Remove the last call of a message and its result, as a strategy may."""
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


def check_foreign(adapter: Adapter, where: str, history: Sequence[Message]) -> None:
    """Encode a history as if another provider had written it: items and thinking are not sent."""
    elsewhere = f"not {adapter.NAME}"
    bare = [message.replace(reasoning="") for message in history]
    poison = [attrs.evolve(m, native=ProviderPayload(elsewhere, {"content": MARK})) for m in bare]
    thinking = [
        attrs.evolve(message, reasoning=MARK) if message.role == "assistant" else message
        for message in poison
    ]
    if shows(is_accepted(adapter, f"{where}, with reasoning from elsewhere", thinking), MARK):
        raise broken(where, "reasoning of another provider is never sent, but it was")
    expected = is_accepted(adapter, f"{where}, without native items", bare)
    own = [attrs.evolve(m, native=_moved(m, elsewhere)) for m in history]
    for view in (own, poison):
        if is_accepted(adapter, f"{where}, from elsewhere", view) != expected:
            raise broken(where, "items of another provider are never sent, but they changed it")


def _moved(message: Message, provider: str) -> ProviderPayload | None:
    return message.native and ProviderPayload(provider, message.native.payload)
