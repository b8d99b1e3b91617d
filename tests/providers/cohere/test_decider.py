"""The official SDK, and a server on this machine that answers as Cohere does."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from agentic import loop
from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.messages import Message
from agentic.providers import cohere, connect
from agentic.testing import EventRecorder, ScriptedExecutor, check_decider
from agentic.tools import ToolDefinition
from agentic.usage import Usage

pytestmark = pytest.mark.slow
Serve: TypeAlias = Callable[..., Any]

CALL = {
    "id": "read_1",
    "type": "function",
    "function": {"name": "read_file_dd32cdf5", "arguments": '{"path": "a.py"}'},
}
USED = {"tokens": {"input_tokens": 9, "output_tokens": 4}}
CALLING = {
    "id": "1",
    "message": {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]},
    "finish_reason": "TOOL_CALL",
    "usage": USED,
}
SPEAKING = {
    "id": "2",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    "finish_reason": "COMPLETE",
    "usage": USED,
}
START = {"type": "message-start", "id": "2", "delta": {"message": {"role": "assistant"}}}
END = {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": USED}}
TOO_LONG = {
    "message": "too many tokens: size limit exceeded by 11326 tokens. "
    "Try using shorter or fewer inputs. The limit for this model is 128000 tokens."
}


def _piece(text: str) -> dict[str, Any]:
    message = {"content": {"type": "text", "text": text}}
    return {"type": "content-delta", "index": 0, "delta": {"message": message}}


class Whole:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: cohere.Decider) -> None:
        self.decide = decider.decide


def _input() -> loop.Input:
    return loop.Input(
        system_prompt="Be brief.",
        user_message="hi",
        history=(Message("user", "hi"),),
        tools=(ToolDefinition("read.file"),),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _stream(decider: cohere.Decider) -> list[Any]:
    async def collect() -> list[Any]:
        return [piece async for piece in decider.stream(_input())]

    return asyncio.run(collect())


def test_run_calls_tools_by_name(serve: Serve) -> None:
    """The reply that called goes back as it came; the tool has the name that Cohere accepts."""
    server = serve(CALLING, SPEAKING)
    runner = loop.Runner(
        Whole(cohere.Decider(server.connect(), "command-a")),
        ScriptedExecutor({"read.file": "text"}),
    )

    result = runner.run_sync("Read it.")

    assert (result.reply, result.usage) == ("Done.", Usage(18, 8, 26))
    assert server.requests[1]["messages"][1] == CALLING["message"]
    assert server.requests[1]["messages"][2]["content"] == "text"
    assert server.requests[0]["tools"][0]["function"]["name"] == "read_file_dd32cdf5"


def test_reply_shows_while_it_streams(serve: Serve) -> None:
    """In the pieces in which it arrives, with its usage."""
    server = serve([START, _piece("Do"), _piece("ne."), END])

    with EventRecorder() as recorder:
        result = loop.Runner(cohere.Decider(server.connect(), "command-a")).run_sync("Go.")

    deltas = [event.delta for event in recorder.events if hasattr(event, "delta")]
    assert (result.reply, deltas, result.usage) == ("Done.", ["Do", "ne."], Usage(9, 4, 13))


def test_overflow_differs_from_other_refusals(serve: Serve) -> None:
    """By its words: both come with the same status."""
    too_long = cohere.Decider(serve((400, TOO_LONG)).connect(), "command-a")
    refused = cohere.Decider(serve((400, {"message": "invalid request: no model"})).connect(), "m")

    with pytest.raises(ContextOverflow):
        asyncio.run(too_long.decide(_input()))
    with pytest.raises(RequestFailed, match="no model"):
        asyncio.run(refused.decide(_input()))
    with pytest.raises(ContextOverflow):
        _stream(too_long)


def test_broken_off_stream_is_no_reply(serve: Serve) -> None:
    """Whether the connection is cut or the server just stops; the text is in the error."""
    for events in ([START, _piece("Do"), "drop"], [START, _piece("Do")]):
        decider = cohere.Decider(serve(events).connect(), "command-a")

        with pytest.raises(IncompleteReply) as caught:
            _stream(decider)

        assert caught.value.received == "Do"


def test_stream_error_is_raised(serve: Serve) -> None:
    """Cohere reports it in the last event."""
    failed = {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "went away"}}
    decider = cohere.Decider(serve([START, _piece("Do"), failed]).connect(), "command-a")

    with pytest.raises(RequestFailed, match="went away"):
        _stream(decider)


def test_connect_reads_key_from_environment() -> None:
    """`cohere:NAME` makes the SDK's client."""
    os.environ["CO_API_KEY"] = "none"
    try:
        decider = connect("cohere:command-a-03-2025", options={"temperature": 0})
    finally:
        del os.environ["CO_API_KEY"]

    assert decider.name == "cohere:command-a-03-2025"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_decider_keeps_its_promises(serve: Serve, *, streamed: bool) -> None:
    """Every history, streamed or whole; a client belongs to one event loop."""
    server = serve([START, _piece("Done."), END] if streamed else SPEAKING)

    class Asking:
        name = "cohere:command-a"

        async def decide(self, request: loop.Input, /) -> loop.Decision:
            decider = cohere.Decider(server.connect(), "command-a")
            if not streamed:
                return await decider.decide(request)
            *_, last = [item async for item in decider.stream(request)]
            assert isinstance(last, loop.Decision)
            return last

    check_decider(Asking)

    assert all(cohere.validate(request) == [] for request in server.requests)
