import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest

from agentic import loop, testing
from agentic.messages import ToolCall


class _Plain:
    """A good decider: it calls a tool if there is one."""

    async def decide(self, request: loop.Input, /) -> loop.Decision:
        await asyncio.sleep(0)
        if request.tools and not request.tool_results:
            return loop.Decision(tool_calls=[ToolCall("c1", request.tools[0].name)])
        return loop.Decision("Hello.")


class _Streaming(_Plain):
    async def stream(self, request: loop.Input, /) -> AsyncIterator[str | loop.Decision]:
        yield "Hel"
        yield "lo."
        yield await self.decide(request)


@pytest.mark.parametrize("good", [_Plain, _Streaming])
def test_a_good_decider_passes(good: type[loop.Decider]) -> None:
    """The suite is silent on deciders that keep their promises, streaming or not."""
    testing.check_decider(good)


class _Texting(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        return "Hello."  # type: ignore[return-value]


class _Afraid(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        request.history[-1].content.encode()
        return await super().decide(request)


class _Forgetful(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        known = {tool.name for tool in request.tools}
        assert all(call.name in known for call in request.tool_calls)
        return await super().decide(request)


class _Marking(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        for message in request.history:
            if message.native:
                message.native.payload["seen"] = True
        return await super().decide(request)


class _Stubborn(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        try:
            return await super().decide(request)
        except asyncio.CancelledError:
            return loop.Decision("Not yet.")


class _Endless(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        await asyncio.Event().wait()
        raise NotImplementedError


class _Timid(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        raise TimeoutError("the provider did not answer")


class _Blocking(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        time.sleep(0.1)  # noqa: ASYNC251  what it should not do
        return await super().decide(request)


class _Doubting(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        raise AssertionError


class _BreakingOff(_Plain):
    async def stream(self, request: loop.Input, /) -> AsyncIterator[str | loop.Decision]:
        yield "Hel"


class _Talkative(_Plain):
    async def stream(self, request: loop.Input, /) -> AsyncIterator[str | loop.Decision]:
        yield loop.Decision("Hello.")
        yield loop.Decision("And another thing.")


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Texting, "a plain request: it answers with a Decision, but gave 'Hello.'"),
        (_Afraid, "lone surrogates: it answers, but raised UnicodeEncodeError"),
        (_Forgetful, "a tool round whose tool is gone"),
        (_Marking, "items of another provider: the request is left as it was"),
        (_Stubborn, "a cancelled request: the cancellation passes"),
        (_Timid, r"it answers, but raised TimeoutError\('the provider did not answer'\)"),
        (_Doubting, r"it answers, but raised AssertionError\(\)"),
        (_BreakingOff, "a plain request, streamed: the last item of a stream is the Decision"),
        (_Talkative, "all items but the last are text"),
    ],
)
def test_a_broken_decider_names_its_promise(broken: type[loop.Decider], promise: str) -> None:
    """The suite fails on every way of being broken, in words that name promise and request."""
    with pytest.raises(AssertionError, match=promise):
        testing.check_decider(broken)


class _Confused(_Plain):
    async def decide(self, request: loop.Input, /) -> loop.Decision:
        try:
            return await super().decide(request)
        except asyncio.CancelledError:
            raise ValueError("lost") from None


def test_an_error_instead_of_a_cancellation_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    """As the cause, and not by asyncio as one that nobody looked at."""
    with pytest.raises(AssertionError, match="the cancellation passes") as caught:
        testing.check_decider(_Confused)

    assert repr(caught.value.__cause__) == "ValueError('lost')"
    gc.collect()
    assert caplog.messages == []


def test_an_endless_decider_is_not_awaited() -> None:
    """The suite ends, and says what it waited for."""
    with pytest.raises(AssertionError, match=r"it answers in time, but took over 0.2 s"):
        testing.check_decider(_Endless, timeout_seconds=0.2)


def test_a_blocking_decider_is_late() -> None:
    """It answers, but keeps everything else waiting, and no timeout can end it."""
    with pytest.raises(AssertionError, match=r"it answers in time, but took over 0.05 s"):
        testing.check_decider(_Blocking, timeout_seconds=0.05)
