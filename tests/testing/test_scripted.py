import asyncio
from typing import Any

import pytest

from agentic import loop, testing
from agentic.errors import IncompleteReply
from agentic.messages import Message, ToolCall, ToolError, ToolResult


def _request(text: str = "hi") -> loop.Input:
    return loop.Input(
        system_prompt="",
        user_message=text,
        history=(Message("user", text),),
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _decide(decider: loop.Decider, *requests: loop.Input) -> list[loop.Decision]:
    async def decide() -> list[loop.Decision]:
        return [await decider.decide(request) for request in requests]

    return asyncio.run(decide())


async def _shout(request: loop.Input) -> str:
    return request.user_message.upper()


def test_steps_are_played_in_order() -> None:
    """A text, a Decision, a callable and an async callable each make the next Decision."""
    decision = loop.Decision("two")
    decider = testing.ScriptedDecider("one", decision, lambda request: request.user_message, _shout)

    replies = _decide(decider, *[_request("three")] * 4)

    assert [given.reply for given in replies] == ["one", "two", "three", "THREE"]
    assert replies[1] is decision
    assert decider.steps_left == 0


def test_requests_are_kept() -> None:
    """What a decider was asked can be looked at afterwards."""
    decider, requests = testing.ScriptedDecider("one", "two"), [_request("a"), _request("b")]

    _decide(decider, *requests)

    assert decider.requests == requests


@pytest.mark.parametrize(
    "step", [TimeoutError("slow"), TimeoutError, lambda _: TimeoutError("slow")]
)
def test_an_exception_is_raised(step: Any) -> None:
    """An exception is raised when its turn comes; its class will do, or what returns it."""
    with pytest.raises(TimeoutError):
        _decide(testing.ScriptedDecider(step), _request())


def test_finished_script_says_so() -> None:
    """One request too many is an AssertionError that says where the run stands."""
    decider = testing.ScriptedDecider("one")

    with pytest.raises(AssertionError, match="has 1 step and was asked once more, in turn 1"):
        _decide(decider, _request(), _request())


def test_a_stream_ends_with_its_decision() -> None:
    """The items of a reply come one by one, and `decide` gives the Decision alone."""

    async def watch() -> list[str | loop.Decision]:
        return [item async for item in decider.stream(_request())]

    decision = loop.Decision("Hello.")
    decider = testing.StreamingScriptedDecider(["Hel", "lo.", decision], ["Hel", decision])

    assert asyncio.run(watch()) == ["Hel", "lo.", decision]
    assert _decide(decider, _request()) == [decision]


def test_a_stream_can_break_off() -> None:
    """Without a Decision the stream just ends, and `decide` raises what the loop would raise."""
    decider = testing.StreamingScriptedDecider(["Hel", "lo"])

    with pytest.raises(IncompleteReply, match="after 5 characters"):
        _decide(decider, _request())


def test_stream_can_raise_between_pieces() -> None:
    """An exception among the items is raised in its place."""
    decider = testing.StreamingScriptedDecider(["Hel", ConnectionResetError("gone")])

    with pytest.raises(ConnectionResetError, match="gone"):
        _decide(decider, _request())


def test_streams_that_are_over_say_so() -> None:
    """A streaming decider names the end of its script as the plain one does."""
    with pytest.raises(AssertionError, match="has 0 steps"):
        _decide(testing.StreamingScriptedDecider(), _request())


async def _wait_for_nothing(call: ToolCall) -> str:
    await asyncio.sleep(0)
    return f"waited in {call.id}"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("done", "done"),
        (ToolError("too big"), "Error: too big"),
        (ToolResult("other", "tool", "as it is"), "as it is"),
        (lambda call: call.arguments, "{}"),
        (str, "ToolCall(id='c1', name='tool', arguments='{}')"),
        (_wait_for_nothing, "waited in c1"),
    ],
)
def test_a_tool_gives_its_scripted_answer(answer: object, text: str) -> None:
    """A text, a failure, a whole result and callables are answers."""
    executor = testing.ScriptedExecutor({"tool": answer})

    result = asyncio.run(executor.execute(ToolCall("c1", "tool")))

    assert result.text == text
    assert executor.calls == [ToolCall("c1", "tool")]


@pytest.mark.parametrize("answer", [OSError("no disk"), lambda _: OSError("no disk")])
def test_a_tool_can_raise(answer: object) -> None:
    """An exception is raised, at every call, whether it is the answer or returned as one."""
    executor = testing.ScriptedExecutor({"tool": answer})

    with pytest.raises(OSError, match="no disk"):
        asyncio.run(executor.execute(ToolCall("c1", "tool")))


def test_an_unknown_tool_is_not_found() -> None:
    """A name without an answer is a failure of the kind not_found."""
    result = asyncio.run(testing.ScriptedExecutor({}).execute(ToolCall("c1", "tool")))

    assert result.error == ToolError("there is no tool 'tool'", "not_found")


def test_scripted_tools_keep_given_order() -> None:
    """The order of the tools is that of the script."""
    listed = asyncio.run(testing.ScriptedExecutor({"b": "", "a": ""}).list_tools())

    assert [tool.name for tool in listed] == ["b", "a"]
