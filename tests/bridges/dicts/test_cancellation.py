"""Requests that are cancelled, or made at the same time, leave the conversation sound."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.messages import Message
from agentic.providers import anthropic, openai_chat

_LIST = [
    {"role": ("user", "assistant")[n % 2], "content": f"Remark {n}: " + "so it goes. " * 40}
    for n in range(31)
]


@attrs.define
class _Waiting:
    """A compactor that waits until it may go on."""

    begun: asyncio.Event = attrs.field(factory=asyncio.Event)
    may_end: asyncio.Event = attrs.field(factory=asyncio.Event)
    asked: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Count, wait and summarize."""
        self.asked += 1
        self.begun.set()
        await self.may_end.wait()
        return f"Summary of {len(messages)} messages."


_Fit = Callable[[Conversation], Any]
_WAYS: list[_Fit] = [
    lambda one: one.fit_async(_LIST),
    lambda one: one.fit_request_async({"messages": _LIST}),
]


@pytest.mark.parametrize("wire", [openai_chat, anthropic])
@pytest.mark.parametrize("fit", _WAYS, ids=["fit_async", "fit_request_async"])
def test_cancelled_summary_changes_nothing(wire: Any, fit: _Fit) -> None:
    """The next request is not blocked, and makes the summary that was not made."""

    async def main() -> tuple[_Waiting, bool, Any, Any]:
        compactor = _Waiting()
        conversation = Conversation(wire, 2_000, compactor=compactor)
        asking = asyncio.ensure_future(fit(conversation))
        await compactor.begun.wait()
        asking.cancel()
        await asyncio.wait([asking])
        compactor.may_end.set()
        sent = await asyncio.wait_for(fit(conversation), 60)
        fresh = _Waiting()
        fresh.may_end.set()
        return (
            compactor,
            asking.cancelled(),
            sent,
            await fit(Conversation(wire, 2_000, compactor=fresh)),
        )

    compactor, is_cancelled, sent, undisturbed = asyncio.run(main())

    assert is_cancelled
    assert compactor.asked == 2
    assert sent == undisturbed


def test_a_conversation_serves_loop_after_loop() -> None:
    """A script may call `asyncio.run` twice, with requests at the same time in each."""

    class Sleeping:
        async def compact(self, messages: list[Message], /) -> str:
            await asyncio.sleep(0.01)
            return f"Summary of {len(messages)} messages."

    conversation = Conversation(openai_chat, 2_000, compactor=Sleeping())

    async def both(items: list[Any]) -> Any:
        return await asyncio.gather(conversation.fit_async(items), conversation.fit_async(items))

    for items in (_LIST, _LIST * 2):
        first, second = asyncio.run(both(items))
        assert first == second
        assert conversation.latest is not None
        assert len(first) < len(items)
