"""In which thread a long list is decoded, counted and summarized."""

import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.compactors import Digest
from agentic.providers import openai_chat
from agentic.tokens import CharCounter


@attrs.define(eq=False)
class _Threads:
    """The threads in which each kind of work was done."""

    by_work: dict[str, set[int]] = attrs.field(factory=dict)

    def note(self, work: str) -> None:
        self.by_work.setdefault(work, set()).add(threading.get_ident())

    def count(self, text: str, /) -> int:
        # Not the summary, whose size does not depend on the list's.
        if text.startswith("Step"):
            self.note("count")
        return CharCounter().count(text)

    def summarize(self, text: str, /) -> int:
        self.note("digest")
        return CharCounter().count(text)


@pytest.fixture
def threads() -> _Threads:
    """Return a record of threads, which is a counter."""
    return _Threads()


@pytest.fixture
def wire(threads: _Threads) -> Any:
    """Return the wire of chat completions, whose decoder notes its thread."""

    class Decoder:
        def __init__(self) -> None:
            self.inner = openai_chat.IncrementalDecoder()

        def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Any]:
            threads.note("decode")
            return self.inner.decode(items, start)

    return attrs.evolve(openai_chat.ADAPTER, list_decoder=Decoder)


def _talk(number: int) -> list[dict[str, Any]]:
    return [
        {"role": ("assistant" if at % 2 else "user"), "content": f"Step {at}. " + "Look. " * 40}
        for at in range(number)
    ]


@pytest.mark.parametrize("window", [4_000, 1_000_000])
def test_long_list_leaves_the_event_loop(threads: _Threads, wire: Any, window: int) -> None:
    """Whether it is summarized or only measured."""
    digest = Digest(max_tokens=300, counter=SimpleNamespace(count=threads.summarize))
    conversation = Conversation(wire, window, counter=threads, compactor=digest)

    async def fit() -> int:
        await conversation.fit_request_async({"messages": _talk(500)})
        return threading.get_ident()

    loop = asyncio.run(fit())

    assert threads.by_work.keys() >= {"decode", "count"}
    assert ("digest" in threads.by_work) == (window == 4_000)
    assert all(loop not in each for each in threads.by_work.values())


def test_short_list_stays_in_the_event_loop(threads: _Threads, wire: Any) -> None:
    """A thread would take longer than the work."""
    conversation = Conversation(wire, 4_000, counter=threads)
    grown = _talk(30)

    async def fit() -> int:
        await conversation.fit_async(grown)
        await conversation.fit_async([*grown, {"role": "user", "content": "Go on."}])
        return threading.get_ident()

    loop = asyncio.run(fit())

    assert all(each == {loop} for each in threads.by_work.values())


def test_smaller_request_leaves_the_event_loop(threads: _Threads, wire: Any) -> None:
    """The one after a refusal, for which all is summarized once more."""
    digest = Digest(max_tokens=300, counter=SimpleNamespace(count=threads.summarize))
    conversation = Conversation(wire, 1_000_000, counter=threads, compactor=digest)
    history = _talk(500)

    async def fit() -> int:
        await conversation.fit_async(history)
        await conversation.fit_async(history, refused=True)
        return threading.get_ident()

    loop = asyncio.run(fit())

    assert loop not in threads.by_work["digest"]
    assert loop not in threads.by_work["count"]


def test_item_that_changes_meanwhile_is_read_again(wire: Any) -> None:
    """The owner of the list is in another thread than its reader."""
    history = _talk(100)
    changes = iter([True])

    class Changing(dict[str, Any]):
        def __deepcopy__(self, _: Any) -> dict[str, Any]:
            if next(changes, False):
                raise RuntimeError("dictionary changed size during iteration")
            return dict(self)

    history[50] = Changing(history[50])

    sent = asyncio.run(Conversation(wire, 1_000_000).fit_async(history))

    assert sent is history
