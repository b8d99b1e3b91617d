"""Recorded sessions as replies of LiteLLM's own type, and back."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import litellm
import pytest

from agentic.bridges.litellm import Decider
from agentic.loop import Input
from agentic.messages import Message
from agentic.providers import openai_chat

pytestmark = [pytest.mark.corpus, pytest.mark.long]  # LiteLLM takes 3 ms for each reply


@attrs.define
class _Router:
    """Takes the place of LiteLLM's Router: replies with these messages, as LiteLLM's own type."""

    replies: Iterator[dict[str, Any]]

    async def acompletion(self, **_: Any) -> Any:
        """Return the next reply, which was written to JSON and read."""
        choice = {"index": 0, "message": next(self.replies), "finish_reason": "stop"}
        made = litellm.ModelResponse(model="gpt-4o", choices=[choice])
        return litellm.ModelResponse.model_validate_json(made.model_dump_json())


def test_recorded_replies_return_whole(transcripts: dict[str, list[Message]]) -> None:
    """Every text, call and argument; what was not said in OpenAI's form loses its reasoning."""
    messages = [message for session in transcripts.values() for message in session]
    replies = [m.replace(reasoning="") for m in messages if m.role == "assistant"]
    replies = [m for m in replies if m.content or m.tool_calls]
    wire = [openai_chat.encode([reply])[0] for reply in replies]
    decider = Decider("openai/gpt-4o", router=_Router(iter(wire)))

    decisions = asyncio.run(_ask(decider, len(wire)))

    for reply, item, decision in zip(replies, wire, decisions, strict=True):
        back = openai_chat.decode_request({"messages": [decision.native.payload]})[0]
        assert (decision.reply, back.content) == (reply.content, reply.content)
        assert back.tool_calls == openai_chat.decode_request({"messages": [item]})[0].tool_calls
        assert [call.parse() for call in back.tool_calls] == [c.parse() for c in reply.tool_calls]
    assert len(replies) > 500


async def _ask(decider: Decider, times: int) -> Sequence[Any]:
    request = Input(
        system_prompt="",
        user_message="Go on.",
        history=(Message("user", "Go on."),),
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )
    return [await decider.decide(request) for _ in range(times)]
