"""Calls of a client that blocks, which are waited for in a thread."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from agentic.loop import Input
from agentic.providers.bedrock import Decider


@attrs.define
class _Stream:
    """Remembers that it was closed."""

    closed: bool = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("early", [True, False])
def test_untaken_answer_is_closed(early: bool) -> None:
    """Also one that comes when the loop has run for the last time, and is not closed yet."""
    stream, released = _Stream(), threading.Event()
    loop = asyncio.new_event_loop()

    def answer() -> dict[str, _Stream]:
        released.wait(60)
        return {"stream": stream}

    async def cancelled() -> None:
        waiting = asyncio.ensure_future(_ask(answer))
        await asyncio.sleep(0)
        if early:
            released.set()
            _join_threads()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    loop.run_until_complete(cancelled())
    released.set()
    _join_threads()
    loop.close()

    assert stream.closed


def test_stop_iteration_becomes_another_error() -> None:
    """As in a coroutine; a future would refuse it, and the call would wait for ever."""

    async def ask() -> None:
        async with asyncio.timeout(60):
            await _ask(lambda: next(iter(())))

    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        asyncio.run(ask())
    assert isinstance(caught.value.__cause__, StopIteration)


async def _ask(answer: Callable[[], Any]) -> Any:
    """Ask a client whose method answers so for a stream, up to the first piece."""
    client = SimpleNamespace(converse_stream=lambda **_: answer())
    request = Input(user_message="Hi", history=())
    return await anext(aiter(Decider(client, "m").stream(request)))


def _join_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "agentic-bedrock":
            thread.join(60)
