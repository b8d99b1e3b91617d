"""The promises of every decider, as one check that any test runner can call."""

import asyncio
import functools
import reprlib
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import Any

from agentic.loop import Decider, Decision, Input
from agentic.messages import (
    ContextSummary,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentic.testing._promises import broken
from agentic.tools import ToolDefinition

__all__ = ["check_decider"]

_broken = functools.partial(broken, "Decider")

_READ = ToolDefinition(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
_ASK = Message("user", "Why is the build red?")
_CALLS = (ToolCall("c1", "read", '{"path": "a.py"}'), ToolCall("c2", "read", "{oops"))
_RESULTS = (
    ToolResult("c1", "read", "print()", notice="2 of 3 lines are missing."),
    ToolResult("c2", "read", error=ToolError("no JSON", "bad_arguments")),
)
_ROUND = [
    Message("assistant", "I look.", reasoning="Look first.", tool_calls=_CALLS),
    Message("tool", tool_results=_RESULTS),
]


def _request(*history: Message, tools: Sequence[ToolDefinition] = ()) -> Input:
    last = history[-1]
    return Input(
        system_prompt="You mend builds.",
        user_message=_ASK.content,
        history=history,
        tools=tuple(tools),
        tool_calls=_CALLS if last.role == "tool" else (),
        tool_results=last.tool_results,
        turn=2 if last.role == "tool" else 1,
    )


_REQUESTS: dict[str, Input] = {
    "a plain request": _request(_ASK),
    "a request with a tool": _request(_ASK, tools=[_READ]),
    "a tool round": _request(_ASK, *_ROUND, tools=[_READ]),
    "a tool round whose tool is gone": _request(_ASK, *_ROUND),
    "a summary and a second request": _request(
        ContextSummary("The build is red.", 4).to_message(),
        Message("user", "Hello."),
        Message("assistant", "Hello."),
        _ASK,
    ),
    "two users' messages in a row": _request(Message("user", "Hello."), _ASK),
    "an empty reply": _request(Message("user", "Hello."), Message("assistant"), _ASK),
    "items of another provider": _request(
        Message("user", "Hello."),
        Message(
            "assistant", "Hello.", native=ProviderPayload("elsewhere", {"parts": [{"id": "x"}]})
        ),
        _ASK,
    ),
    "lone surrogates": _request(Message("user", "cut in two: \ud83d"), tools=[_READ]),
}


def check_decider(factory: Callable[[], Decider], *, timeout_seconds: float = 60.0) -> None:
    """Check a decider's promises, and those of `StreamingDecider` if it has `stream`.

    - For every history, including tool rounds and another provider's items, the result is a
      Decision, returned in time.
    - The request is not changed.
    - It can be cancelled while it waits, and the cancellation is raised.
    - A stream yields pieces of text, and then the Decision as its last item.

    Call it from sync code: it runs its own event loops. If the decider asks a provider, give it one
    that answers, for example with a recorded reply.

    >>> from agentic.testing import ScriptedDecider
    >>> check_decider(lambda: ScriptedDecider("Hello."))

    Args:
        factory: returns a new decider at every call.
        timeout_seconds: the longest that one decision may take.

    Raises:
        AssertionError: a promise is broken; the text says which one, and for what request.
    """
    streams = hasattr(factory(), "stream")
    for name, request in _REQUESTS.items():
        asyncio.run(_check(name, factory().decide, request, timeout_seconds))
        if streams:
            decide = functools.partial(_decide_streaming, factory())
            asyncio.run(_check(f"{name}, streamed", decide, request, timeout_seconds))
    asyncio.run(_check_cancelling(factory(), timeout_seconds))


async def _decide_streaming(decider: Any, request: Input) -> Decision:
    items = [item async for item in decider.stream(request)]
    odd = [item for item in items[:-1] if not isinstance(item, str)]
    if odd:
        given = reprlib.repr(odd[0])
        raise AssertionError(f"all items but the last are text, but one was {given}")
    if not items or not isinstance(items[-1], Decision):
        raise AssertionError("the last item of a stream is the Decision, but there was none")
    return items[-1]


async def _check(
    name: str,
    decide: Callable[[Input], Awaitable[Decision]],
    request: Input,
    timeout_seconds: float,
) -> None:
    before = deepcopy(request)
    limit = asyncio.timeout(timeout_seconds)
    try:
        async with limit:
            answer: object = await decide(request)
    except AssertionError as problem:
        raise _broken(name, str(problem)) from problem
    except Exception as problem:
        # A client's own TimeoutError is an error like any other.
        if limit.expired():
            promise = f"it answers in time, but took over {timeout_seconds} s"
        else:
            promise = f"it answers, but raised {problem!r:.200}"
        raise _broken(name, promise) from problem
    if not isinstance(answer, Decision):
        raise _broken(name, f"it answers with a Decision, but gave {reprlib.repr(answer)}")
    if request != before:
        raise _broken(name, "the request is left as it was, but it was changed")


async def _check_cancelling(decider: Decider, timeout_seconds: float) -> None:
    request = _REQUESTS["a plain request"]
    task = asyncio.ensure_future(decider.decide(request))
    # One step: a decider that asks somebody is waiting now, any other is done.
    await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        # Not wait_for(), which would wait for a task that ignores its cancellation.
        await asyncio.wait({task}, timeout=timeout_seconds)
        if not task.cancelled():
            problem = task.exception() if task.done() else None
            promise = "the cancellation passes, and in time"
            raise _broken("a cancelled request", promise) from problem
