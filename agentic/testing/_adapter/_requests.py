"""What an adapter promises of requests that a provider accepted: they come back as they were."""

from collections.abc import Mapping
from typing import Any

from agentic.messages import Message, split_rounds
from agentic.testing._adapter._promise import MARK, ask, broken, call, difference, is_accepted
from agentic.testing._adapter._protocol import Adapter
from agentic.testing._adapter._talk import ASK, READ, find_talk
from agentic.testing._adapter._variations import with_one_thing_unknown, with_one_thing_wrong

__all__ = ["check_request"]


def check_request(adapter: Adapter, where: str, request: Mapping[str, Any]) -> list[Message]:
    """Read a request and write it again; give its conversation, if it stands by itself."""
    if found := ask(where, adapter.validate, request):
        raise broken(where, f"validate() accepts what the provider accepted, but says {found[0]}")
    history = ask(where, adapter.decode_request, request)
    again = ask(where, adapter.encode_request, history)
    for key in _keys_of_a_conversation(adapter):
        if changed := difference(request.get(key) or None, again.get(key) or None, key):
            raise broken(where, f"a request read and written again is what it was, but {changed}")
    _is_named(adapter, where, history)
    _keeps_the_unknown(adapter, where, request)
    for place, wrong in with_one_thing_wrong(request):
        call(f"{where}, {place} wrong", adapter.decode_request, wrong)
        call(f"{where}, {place} wrong", adapter.validate, wrong)
    if ask(where, adapter.validate, again):
        return []  # it goes on from a state that the server holds
    _survives_drops(adapter, where, history)
    return history


def _keys_of_a_conversation(adapter: Adapter) -> list[str]:
    """Find which fields of a request are the conversation: not the tools, not the options."""
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
    """Drop each round, and all before it, as a strategy may."""
    rounds = split_rounds(history)
    for index in range(len(rounds)):
        for what, kept in (
            ("without", rounds[:index] + rounds[index + 1 :]),
            ("from", rounds[index:]),
        ):
            positions = sorted(place for found in kept for place in found.positions)
            view = [history[place] for place in positions]
            is_accepted(adapter, f"{where}, {what} round {index + 1}", view, tools=[READ])
