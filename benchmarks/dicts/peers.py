"""What other libraries take to fit the same list of dicts, called through their public functions.

They are optional: `pip install langchain-core ctx-compact turnsafe litellm`. One that is absent has
no row. Each is called on every fiftieth turn (litellm, which counts the whole list anew, on every
five-hundredth), and its seconds are scaled up. Counting is left out as for `fit`: the sizes of the
messages are looked up. litellm takes no counter, so its row includes counting.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

import attrs

__all__ = ["INSTALL", "Peer", "measure_peers"]

INSTALL = "pip install langchain-core ctx-compact turnsafe litellm"

Fit: TypeAlias = Callable[[list[dict[str, Any]], int], object]


@attrs.define(eq=False)
class Sizes:
    """The sizes of messages, each counted once; the very same objects are looked up."""

    count: Callable[[str], int]
    known: dict[int, int] = attrs.field(factory=dict)

    def of(self, message: dict[str, Any]) -> int:
        """Return the size of one message."""
        key = id(message)
        if key not in self.known:
            self.known[key] = self.count(str(message))
        return self.known[key]


@attrs.frozen
class Peer:
    """One library's way to fit a list."""

    name: str
    package: str
    make: Callable[[Sizes], Fit]
    every: int = 50
    """On which turns it is called."""


def _langchain(sizes: Sizes) -> Fit:
    messages = import_module("langchain_core.messages")

    def fit(history: list[dict[str, Any]], window: int) -> object:
        listed = messages.convert_to_messages(history)
        by_object = {id(each): sizes.of(item) for each, item in zip(listed, history, strict=True)}

        def count(some: list[Any]) -> int:
            return sum(by_object.get(id(each), 0) for each in some)

        return messages.trim_messages(
            listed, max_tokens=window, token_counter=count, strategy="last", start_on="human"
        )

    return fit


def _ctx_compact(sizes: Sizes) -> Fit:
    compact = import_module("ctx_compact").compact
    return lambda history, window: compact(history, max_tokens=window, count_tokens=sizes.of)


def _turnsafe(sizes: Sizes) -> Fit:
    fit = import_module("turnsafe").fit
    return lambda history, window: fit(history, window, "openai", counter=sizes.of)


def _litellm(_: Sizes) -> Fit:
    trim = import_module("litellm.utils").trim_messages
    return lambda history, window: trim(list(history), "gpt-4o", max_tokens=window)


PEERS = (
    Peer("langchain-core trim_messages", "langchain_core", _langchain),
    Peer("ctx-compact compact", "ctx_compact", _ctx_compact),
    Peer("turnsafe fit", "turnsafe", _turnsafe),
    Peer("litellm trim_messages", "litellm", _litellm, every=500),
)


def measure_peers(
    turns: int,
    window: int,
    exchange: Callable[[int], list[dict[str, Any]]],
    count: Callable[[str], int],
) -> Iterator[tuple[Peer, float | None]]:
    """Yield the seconds of each library over all turns; None for one that is not installed."""
    for peer in PEERS:
        if importlib.util.find_spec(peer.package) is None:
            yield peer, None
            continue
        yield peer, _measure(peer, turns, window, exchange, count)


def _measure(
    peer: Peer,
    turns: int,
    window: int,
    exchange: Callable[[int], list[dict[str, Any]]],
    count: Callable[[str], int],
) -> float:
    sizes = Sizes(count)
    fit = peer.make(sizes)
    history = exchange(0)
    for message in history:
        sizes.of(message)
    fit(history, window)  # what is loaded at the first call is not measured
    seconds, calls = 0.0, 0
    for number in range(1, turns):
        history += exchange(number)
        if number % peer.every:
            continue
        for message in history:
            sizes.of(message)
        start = time.perf_counter()
        fit(history, window)
        seconds += time.perf_counter() - start
        calls += 1
    return seconds * turns / calls
