"""What an adapter promises of messages that came from elsewhere: they are written anew."""

from collections.abc import Sequence

import attrs

from agentic.messages import Message, ProviderPayload
from agentic.testing._adapter._promise import MARK, broken, is_accepted, shows
from agentic.testing._adapter._protocol import Adapter

__all__ = ["check_foreign"]


def check_foreign(adapter: Adapter, where: str, history: Sequence[Message]) -> None:
    """Send a history as if another provider had written it: its items and its thinking stay."""
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
