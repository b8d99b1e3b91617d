"""A reply that takes several requests, each of which reaches its limit but the last.

`FinishReason.CONTINUATION` and `StreamContinuation` in google-genai 3.6.1 (2026-11).
"""

import asyncio
from typing import Any

import pytest

from agentic.errors import RequestFailed
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.providers import gemini
from agentic.usage import StopReason

REQUEST = Input(
    system_prompt="",
    user_message="",
    history=(Message("user", "Hi."),),
    tools=(),
    tool_calls=(),
    tool_results=(),
    turn=1,
)


def _part(
    text: str, reason: str | None, prompt: int, token: str = "", **fields: Any
) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text, **fields}]}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    if token:
        candidate["continuationToken"] = token
    counts = {"promptTokenCount": prompt, "candidatesTokenCount": 3, "totalTokenCount": prompt + 3}
    return {"candidates": [candidate], "usageMetadata": counts}


FIRST, SECOND = (
    _part("It is ", "CONTINUATION", 10, "dG9r"),
    _part("gre", "CONTINUATION", 13, "dG8y"),
)
LAST = _part("en.", "STOP", 16)


def _check(decision: Decision) -> None:
    """Check that everything is there, all of it is billed, and the size is that of the last."""
    assert decision.reply == "It is green."
    assert decision.stop_reason is StopReason.STOP
    assert decision.usage is not None
    assert (decision.usage.input, decision.usage.output, decision.usage.total) == (39, 9, 48)
    assert decision.usage.summed
    assert decision.last_request is not None
    assert (decision.last_request.input, decision.last_request.output) == (10, 9)
    assert decision.native is not None
    assert decision.native.payload["content"]["parts"] == [{"text": "It is green."}]


@pytest.mark.slow
def test_reply_goes_on_after_its_first_part(google: Any) -> None:
    """Each request after the first has the token of the one before."""
    google.answers = [FIRST, SECOND, LAST]

    _check(asyncio.run(google.decider().decide(REQUEST)))

    tokens = [request.get("continuationToken") for request in google.requests]
    assert tokens == [None, "dG9r", "dG8y"]


@pytest.mark.slow
def test_streamed_reply_has_the_usage_of_all_requests(google: Any) -> None:
    """The SDK sends the requests of a stream."""
    google.answers = [[FIRST], [SECOND], [LAST]]

    async def items() -> list[Any]:
        return [item async for item in google.decider().stream(REQUEST)]

    *texts, decision = asyncio.run(items())
    assert texts == ["It is ", "gre", "en."]
    _check(decision)


def test_raw_events_of_several_requests_are_summed() -> None:
    """As they come without the SDK: within a request, the latest counts are its whole."""
    stream = gemini.StreamedResponse()
    begun = _part("It ", None, 10)
    for event in [begun, _part("is ", "CONTINUATION", 10, "dG9r"), SECOND, LAST]:
        stream.feed(event)

    _check(gemini.decode_response(stream.response()))


@pytest.mark.slow
def test_reply_is_not_continued_if_it_is_switched_off(google: Any) -> None:
    """By the option that the SDK has for it; the reply is cut off then."""
    google.answers = [FIRST, LAST]

    decider = google.decider(options={"automatic_continuation": False})
    decision = asyncio.run(decider.decide(REQUEST))

    assert (decision.reply, decision.stop_reason) == ("It is ", StopReason.MAX_TOKENS)
    assert decision.stop_word == "CONTINUATION"
    assert len(google.requests) == 1


@pytest.mark.slow
def test_same_token_again_ends_the_reply(google: Any) -> None:
    """A server that makes no progress is not asked for ever."""
    google.answers = [FIRST]

    decision = asyncio.run(google.decider().decide(REQUEST))

    assert decision.stop_reason is StopReason.MAX_TOKENS
    assert len(google.requests) == 2


@pytest.mark.slow
def test_failure_of_a_later_request_is_raised(google: Any) -> None:
    """Half a reply is none."""
    error = {"error": {"code": 400, "message": "bad token", "status": "INVALID_ARGUMENT"}}
    google.answers = [FIRST, (400, error)]

    with pytest.raises(RequestFailed, match="bad token"):
        asyncio.run(google.decider().decide(REQUEST))
