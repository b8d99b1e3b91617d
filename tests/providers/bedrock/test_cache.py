"""What is marked for the prompt cache, by boto3 and a server that speaks the wire over HTTP."""

import asyncio
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from agentic.errors import RequestFailed
from agentic.loop import Decision, Input
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.providers.bedrock import Decider, decode, encode
from agentic.tools import ToolDefinition

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
MARK = {"cachePoint": {"type": "default"}}
REFUSED = "You invoked an unsupported model or your request did not allow prompt caching."
HISTORY = [
    Message("user", "One?"),
    Message("assistant", "Yes."),
    Message("user", "Read it."),
    Message("assistant", tool_calls=[ToolCall("t1", "read", "{}")]),
    Message("tool", tool_results=[ToolResult("t1", "read", "text")]),
]


def _asked(*history: Message) -> Input:
    return Input(
        system_prompt="Be brief.",
        user_message="",
        history=history or tuple(HISTORY),
        tools=(ToolDefinition("read"),),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def _marked(messages: list[Any]) -> list[int]:
    return [at for at, message in enumerate(messages) if message["content"][-1] == MARK]


@pytest.mark.parametrize(("model", "tools"), [(CLAUDE, 1), (NOVA, 0)])
def test_the_newest_messages_are_marked(
    model: str, tools: int, server: Any, reply: Any, converse: Any
) -> None:
    """The last two of the user's, the system prompt, and the tools where the family takes that."""
    server.play(reply(converse({"text": "Done."})))

    asyncio.run(Decider(server.client, model).decide(_asked()))

    body = server.bodies[0]
    assert _marked(body["messages"]) == [2, 4]
    assert body["system"] == [{"text": "Be brief."}, MARK]
    assert body["toolConfig"]["tools"].count(MARK) == tools
    assert json.dumps(body).count("cachePoint") == 3 + tools


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (CLAUDE, {"prompt_cache": False}),
        ("us.meta.llama4-scout-17b-instruct-v1:0", {}),
        ("anthropic.claude-3-haiku-20240307-v1:0", {}),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", {}),
        ("amazon.nova-sonic-v1:0", {}),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", {}),
    ],
)
def test_without_cache_there_are_no_marks(
    model: str, settings: dict[str, Any], server: Any, reply: Any, converse: Any
) -> None:
    """Nor who turned it off: other models refuse a request with one."""
    server.play(reply(converse({"text": "Done."})))

    asyncio.run(Decider(server.client, model, **settings).decide(_asked()))

    assert "cachePoint" not in json.dumps(server.bodies[0])


def test_refused_marks_are_left_out(server: Any, reply: Any, converse: Any) -> None:
    """At once, and from then on."""
    server.play(
        reply({"message": REFUSED}, 403, "AccessDeniedException"),
        reply(converse({"text": "Done."})),
    )
    decider = Decider(server.client, NOVA)

    async def twice() -> list[str]:
        return [(await decider.decide(_asked())).reply for _ in range(2)]

    assert asyncio.run(twice()) == ["Done.", "Done."]
    assert [json.dumps(body).count("cachePoint") for body in server.bodies] == [3, 0, 0]


def test_parallel_requests_learn_together(converse: Any) -> None:
    """Each request that was sent with marks that are refused is sent once more."""

    class _AsyncClient:
        both = asyncio.Barrier(2)

        async def converse(self, **request: Any) -> Any:
            if "cachePoint" not in json.dumps(request):
                return converse({"text": "Done."})
            await self.both.wait()
            refusal = {"Error": {"Code": "AccessDeniedException", "Message": REFUSED}}
            raise ClientError(refusal, "Converse")

    async def ask_both() -> list[Decision]:
        decider = Decider(_AsyncClient(), NOVA)
        return await asyncio.gather(decider.decide(_asked()), decider.decide(_asked()))

    assert [decision.reply for decision in asyncio.run(ask_both())] == ["Done.", "Done."]


def test_another_refusal_is_an_error(server: Any, reply: Any) -> None:
    """Also one that speaks of the cache where nothing was marked."""
    server.play(reply({"message": REFUSED}, 403, "AccessDeniedException"))

    with pytest.raises(RequestFailed, match="prompt caching"):
        asyncio.run(Decider(server.client, CLAUDE, prompt_cache=False).decide(_asked()))

    assert len(server.bodies) == 1


def test_callers_mark_is_the_only_one(server: Any, reply: Any, converse: Any) -> None:
    """It stays where it is, as do all other messages."""
    server.play(reply(converse({"text": "Done."})))
    wire = [{"role": "user", "content": [{"text": "Hi"}, MARK]}]

    asyncio.run(Decider(server.client, CLAUDE).decide(_asked(*decode(wire))))

    assert server.bodies[0]["messages"] == wire
    assert json.dumps(server.bodies[0]).count("cachePoint") == 1


def test_marks_leave_the_history_unchanged(server: Any, reply: Any, converse: Any) -> None:
    """They are in the request's copy only."""
    server.play(reply(converse({"text": "Done."})))
    wire = [{"role": "user", "content": [{"text": "Hi"}]}]
    history = decode(wire)

    asyncio.run(Decider(server.client, CLAUDE).decide(_asked(*history)))

    assert encode(history) == wire == [{"role": "user", "content": [{"text": "Hi"}]}]


def test_a_summary_is_behind_the_mark_of_system(server: Any, reply: Any, converse: Any) -> None:
    """All of `system` is still in the cache after the next compaction."""
    server.play(reply(converse({"text": "Done."})))
    summary = Message("system", "Done so far.", summary=ContextSummary("Done so far.", 9))

    asyncio.run(Decider(server.client, CLAUDE).decide(_asked(summary, *HISTORY)))

    assert server.bodies[0]["system"] == [{"text": "Be brief."}, MARK]
    assert server.bodies[0]["messages"][0]["content"][0] == {"text": "Done so far."}


def test_texts_of_options_are_before_the_mark(server: Any, reply: Any, converse: Any) -> None:
    """They are the same in every request, whatever a compaction replaces."""
    server.play(reply(converse({"text": "Done."})))
    summary = Message("system", "Done so far.", summary=ContextSummary("Done so far.", 9))
    decider = Decider(server.client, CLAUDE, options={"system": [{"text": "Ahoy."}]})

    asyncio.run(decider.decide(_asked(summary, *HISTORY)))

    system = ["Be brief.", "Ahoy.", None]
    assert [block.get("text") for block in server.bodies[0]["system"]] == system
