"""The decider, with boto3 and a server that speaks the wire over HTTP."""

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from agentic import limits
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import BoundReasoning, ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers.bedrock import Decider, decode, encode_request
from agentic.testing import ScriptedExecutor, check_decider
from agentic.tokens import CharCounter
from agentic.tools import Registry, ToolDefinition, tool
from agentic.usage import StopReason

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "c2ln"}}}


def asked(*messages: Message, tools: tuple[ToolDefinition, ...] = ()) -> Input:
    """Make what the loop asks."""
    return Input(
        system_prompt="Be brief.",
        user_message="Hi",
        history=messages or (Message("user", "Hi"),),
        tools=tools,
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def use(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    """Make a call as Claude gives it on Bedrock."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": given, "type": "tool_use"}}


def registry() -> Registry:
    """Make the tools of the runs."""

    def read(path: str) -> str:
        """Read a file."""
        return f"text of {path}"

    return Registry([tool(read)])


class Plain:
    """One reply, without streaming."""

    def __init__(self, decider: Decider) -> None:
        self.decide = decider.decide


def test_tool_run_takes_two_rounds(server: Any, reply: Any, converse: Any) -> None:
    """Parallel calls are answered in one message, and the signed reasoning goes back untouched."""
    calls = [use("t1", "read", path="a"), use("t2", "read", path="b")]
    server.play(
        reply(converse(THOUGHT, {"text": "I look."}, *calls, stop="tool_use")),
        reply(converse(use("t3", "read", path="c"), stop="tool_use")),
        reply(converse({"text": "Done."})),
    )

    result = Runner(Plain(Decider(server.client, MODEL)), registry()).run_sync("Read a, b and c.")

    assert result.reply == "Done."
    assert result.usage.total == 36
    assert server.sent[0][0] == f"/model/{MODEL}/converse"
    roles = [message["role"] for message in server.bodies[2]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    sent = server.bodies[2]["messages"][1]["content"]
    assert sent[:2] == [THOUGHT, {"text": "I look."}]
    assert sent[2] == {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "a"}}}
    *answers, mark = server.bodies[1]["messages"][2]["content"]
    assert mark == {"cachePoint": {"type": "default"}}
    assert [block["toolResult"]["toolUseId"] for block in answers] == ["t1", "t2"]


def test_a_run_can_be_streamed(server: Any, reply: Any, frames: Any, stream: Any) -> None:
    """Calls come in fragments; the pieces of the reply are what it says."""
    server.play(
        reply(frames(*stream.call("t1", "read", ['{"pa', 'th": "a"}']))),
        reply(frames(*stream.text("Do", "ne."))),
    )

    result = Runner(Decider(server.client, MODEL), registry()).run_sync("Read a.")

    assert (result.reply, result.usage.output) == ("Done.", 8)
    assert [given.output for given in result.tool_results] == ["text of a"]
    assert server.sent[0][0] == f"/model/{MODEL}/converse-stream"


@pytest.mark.parametrize("body", ["<html>Please log in</html>", {}])
def test_an_answer_without_a_reply(server: Any, reply: Any, body: Any) -> None:
    """A proxy's, for example: it is an error, not a reply without text."""
    server.play(reply(body))

    with pytest.raises(RequestFailed, match="an answer without output"):
        asyncio.run(Decider(server.client, MODEL).decide(asked()))


def test_a_decider_keeps_its_promises(
    server: Any, reply: Any, converse: Any, frames: Any, stream: Any
) -> None:
    """Those of the contract suite, streamed and not."""
    server.play(reply(converse({"text": "Hello."})))
    check_decider(lambda: Plain(Decider(server.client, MODEL)))
    server.play(reply(frames(*stream.text("Hel", "lo."))))

    class Streamed(Plain):
        """Streams, and decides by streaming."""

        def __init__(self, decider: Decider) -> None:
            self.stream = decider.stream

        async def decide(self, request: Input, /) -> Decision:
            items = [item async for item in self.stream(request)]
            assert isinstance(items[-1], Decision)
            return items[-1]

    check_decider(lambda: Streamed(Decider(server.client, MODEL)))


@pytest.mark.parametrize("data", [b"\x89PNG\x00\xff", b"a"])
def test_media_are_encoded_once(server: Any, reply: Any, converse: Any, data: bytes) -> None:
    """boto3 encodes bytes itself: the body has the base64 text that a plain request would have."""
    server.play(reply(converse({"text": "A picture."})))
    message = Message("user", "What is it?", media=[Media("image/png", data)])
    decider = Decider(server.client, MODEL, prompt_cache=False)

    asyncio.run(decider.decide(asked(message)))

    plain = encode_request([message], system_prompt="Be brief.")
    assert json.loads(server.sent[0][1]) == json.loads(json.dumps(plain))


def test_a_recorded_body_is_the_same(server: Any, reply: Any, converse: Any) -> None:
    """Wire messages that were decoded go out of boto3 as they came, redacted thinking included."""
    server.play(reply(converse({"text": "Fine."})))
    wire = [
        {"role": "user", "content": [{"text": "Hi"}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "AP8="}}]},
        {"role": "user", "content": [{"text": "And?"}]},
    ]
    asyncio.run(Decider(server.client, MODEL).decide(asked(*decode(wire))))

    assert json.dumps(wire).encode() in server.sent[0][1]


def test_unknown_blocks_are_not_sent_back(server: Any, reply: Any, converse: Any) -> None:
    """boto3 gives a stand-in for it that it would itself refuse."""
    server.play(reply(converse({"hologram": {"x": 1}}, {"text": "Look."})))
    runner = Runner(Plain(Decider(server.client, MODEL)), store=MemoryStore())
    runner.run_sync("Show me.")

    runner.run_sync("Again.")

    assert server.bodies[1]["messages"][1]["content"] == [{"text": "Look."}]


def test_unsigned_reasoning_is_not_sent_back(server: Any, reply: Any, converse: Any) -> None:
    """Models that sign nothing refuse it; the history keeps it."""
    unsigned = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    server.play(reply(converse(unsigned, {"text": "Yes."})))
    runner = Runner(Plain(Decider(server.client, "us.deepseek.r1-v1:0")), store=MemoryStore())
    first = runner.run_sync("Is it?")

    runner.run_sync("Sure?")

    assert first.history[-1].reasoning == "Hm."
    assert server.bodies[1]["messages"][1]["content"] == [{"text": "Yes."}]


def test_tool_regains_its_own_name(server: Any, reply: Any, converse: Any) -> None:
    """Bedrock takes no dot in a name; the loop, the history and the next request agree on it."""
    server.play(reply(converse({"text": "."})))
    dotted = ToolDefinition("fs.read", "Read.")
    decider = Decider(server.client, MODEL)
    asyncio.run(decider.decide(asked(tools=(dotted,))))
    name = server.bodies[0]["toolConfig"]["tools"][0]["toolSpec"]["name"]
    server.play(
        reply(converse(THOUGHT, use("t1", name), stop="tool_use")), reply(converse({"text": "."}))
    )

    class Tools(ScriptedExecutor):
        """Offers the tool with the dot."""

        async def list_tools(self) -> list[ToolDefinition]:
            return [dotted]

    result = Runner(Plain(decider), Tools({"fs.read": "text"})).run_sync("Read.")

    assert [call.name for call in result.tool_calls] == ["fs.read"]
    sent = server.bodies[1]["messages"][1]["content"]
    assert sent[0] == THOUGHT
    assert sent[1]["toolUse"]["name"] == name


def test_options_go_into_the_call(server: Any, reply: Any, converse: Any) -> None:
    """In the provider's words; a cache mark follows what it marks, the conversation stays."""
    server.play(reply(converse({"text": "."})))
    mark = {"cachePoint": {"type": "default"}}
    options = {
        "inferenceConfig": {"maxTokens": 5},
        "system": [mark],
        "messages": [],
        "toolConfig": {"tools": [mark], "toolChoice": {"any": {}}},
    }
    decider = Decider(server.client, MODEL, options=options)

    asyncio.run(decider.decide(asked(tools=(ToolDefinition("now"),))))

    body = server.bodies[0]
    assert body["inferenceConfig"] == {"maxTokens": 5}
    assert body["system"] == [{"text": "Be brief."}, mark]
    assert body["messages"] == [{"role": "user", "content": [{"text": "Hi"}]}]
    assert body["toolConfig"]["tools"][1] == mark
    assert body["toolConfig"]["toolChoice"] == {"any": {}}


OVERFLOW = "Input is too long for requested model."


def test_an_overflow_is_recovered_from(server: Any, reply: Any, converse: Any) -> None:
    """The loop compacts and asks again with less."""
    server.play(
        reply({"message": OVERFLOW}, 400, "ValidationException"), reply(converse({"text": "Done."}))
    )
    past = [
        Message(role, f"{number} " * 200)  # type: ignore[arg-type]
        for number in range(10)
        for role in ("user", "assistant")
    ]
    budget = Manager(CharCounter(), Digest(), Policy(100_000, keep_recent_tokens=200))
    runner = Runner(Plain(Decider(server.client, MODEL)), budget=budget)

    result = runner.run_sync(Request("Go on.", history=past))

    assert result.reply == "Done."
    assert len(server.sent[1][1]) < len(server.sent[0][1])


def test_an_overflow_tells_the_window(server: Any, reply: Any) -> None:
    """Without a budget it ends the run."""
    server.play(reply({"message": OVERFLOW}, 400, "ValidationException"))
    decider = Decider(server.client, MODEL, limits=limits.ModelLimits(1000, 100))

    with pytest.raises(ContextOverflow) as overflow:
        asyncio.run(decider.decide(asked()))

    assert overflow.value.window == 1000


@pytest.mark.parametrize("streamed", [False, True])
def test_a_rate_limit_is_no_overflow(server: Any, reply: Any, streamed: bool) -> None:
    """Too many tokens a minute is not too many in one request."""
    said = "Too many tokens, please wait before trying again."
    server.play(reply({"message": said}, 429, "ThrottlingException"))
    decider = Decider(server.client, MODEL)

    with pytest.raises(RequestFailed, match="Too many tokens") as failed:
        Runner(decider if streamed else Plain(decider)).run_sync("Hi")  # type: ignore[arg-type]

    assert failed.value.status == 429


def test_stream_error_is_told(server: Any, reply: Any, frames: Any, stream: Any) -> None:
    """boto3 says 400 of every one; its own status is kept."""
    error = {"throttlingException": {"message": "Too many tokens, please wait."}}
    server.play(reply(frames(stream.delta("Hel"), error)))

    with pytest.raises(RequestFailed, match="Too many tokens") as failed:
        Runner(Decider(server.client, MODEL)).run_sync("Hi")

    assert failed.value.status == 429


def test_overflow_in_stream_is_one(server: Any, reply: Any, frames: Any) -> None:
    """It may be told after the status of the answer, and names the window that is known."""
    server.play(reply(frames({"validationException": {"message": OVERFLOW}})))
    decider = Decider(server.client, MODEL, limits=limits.ModelLimits(32_000, 4_096))

    with pytest.raises(ContextOverflow) as overflow:
        Runner(decider).run_sync("Hi")

    assert overflow.value.window == 32_000


@pytest.mark.parametrize("end", ["drop", "close"])
def test_broken_off_stream_is_no_reply(
    server: Any, reply: Any, frames: Any, stream: Any, end: str
) -> None:
    """Nothing half is stored, and the error has what had come."""
    server.play(reply(frames(stream.delta("Hel"), stream.delta("lo")), end=end))
    store = MemoryStore()

    with pytest.raises((IncompleteReply, RequestFailed)) as broken:
        Runner(Decider(server.client, MODEL), store=store).run_sync("Hi")

    assert getattr(broken.value, "received", "Hello") == "Hello"
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_a_stream_broken_in_a_call(server: Any, reply: Any, frames: Any, stream: Any) -> None:
    """Half a call is not run."""
    server.play(reply(frames(*stream.call("t1", "read", ['{"pa'])[:3])))

    with pytest.raises(IncompleteReply):
        Runner(Decider(server.client, MODEL), registry()).run_sync("Read a.")


def test_a_cancelled_stream_is_closed(server: Any, reply: Any, frames: Any, stream: Any) -> None:
    """The run ends at once, the session is whole, the connection and the thread are gone."""
    server.play(reply(frames(stream.delta("Hel")), end="hold"))
    store = MemoryStore()

    async def main() -> None:
        run = asyncio.create_task(Runner(Decider(server.client, MODEL), store=store).run("Hi"))
        await asyncio.to_thread(server.held.wait, 60)
        await asyncio.sleep(0.05)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    started = time.monotonic()
    asyncio.run(main())

    assert time.monotonic() - started < 60
    assert server.dropped.wait(60)
    assert [message.role for message in asyncio.run(store.full())] == ["user"]
    _wait_for_threads()


def test_cancelled_call_is_not_awaited(server: Any, reply: Any, converse: Any) -> None:
    """The event loop ends though boto3 still waits; its thread ends when the answer comes."""
    server.play(reply(converse({"text": "Late."}), end="hold"))

    async def main() -> None:
        run = asyncio.create_task(Runner(Plain(Decider(server.client, MODEL))).run("Hi"))
        await asyncio.to_thread(server.held.wait, 60)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    started = time.monotonic()
    asyncio.run(main())

    assert time.monotonic() - started < 60
    server.release.set()
    _wait_for_threads()


def _wait_for_threads() -> None:
    """Assert that no thread of the decider's is left."""
    for _ in range(6_000):
        if not any(thread.name == "agentic-bedrock" for thread in threading.enumerate()):
            return
        time.sleep(0.01)
    raise AssertionError("a thread is left behind")


def test_tokens_are_counted_by_the_provider(server: Any, reply: Any) -> None:
    """CountTokens is asked about the same conversation, and not about the length of the reply."""
    server.play(reply({"inputTokens": 17}))
    options = {"inferenceConfig": {"maxTokens": 5}}
    decider = Decider(server.client, MODEL, options=options)

    assert asyncio.run(decider.count_tokens(asked())) == 17
    assert server.sent[0][0] == f"/model/{MODEL}/count-tokens"
    assert server.bodies[0]["input"]["converse"].keys() == {"messages", "system"}


def test_the_prefix_of_a_region_hides_no_limits() -> None:
    """The catalog knows the model behind it."""
    assert Decider(None, MODEL).limits().context_window == 200_000


class AsyncClient:
    """A client whose methods are coroutines, as aiobotocore's."""

    def __init__(self, reply: Any, events: list[Any]) -> None:
        self.reply = reply
        self.events = events
        self.closed = False

    async def converse(self, **_: Any) -> Any:
        """Return the whole reply."""
        return self.reply

    async def converse_stream(self, **_: Any) -> Any:
        """Return the stream."""
        return {"stream": self}

    async def __aiter__(self) -> Any:
        for event in self.events:
            yield event

    async def close(self) -> None:
        """Let go."""
        self.closed = True


def test_a_client_may_be_asynchronous(converse: Any, stream: Any) -> None:
    """It is told by what it gives, and its stream is closed too."""
    client = AsyncClient(converse({"text": "Hello."}), list(stream.text("Hel", "lo.")))

    decision = asyncio.run(Decider(client, MODEL).decide(asked()))
    result = Runner(Decider(client, MODEL)).run_sync("Hi")

    assert decision.reply == result.reply == "Hello."
    assert decision.stop_reason is StopReason.STOP
    assert client.closed


def test_mistake_in_call_stays_one() -> None:
    """What is no error of the provider's is raised as it is."""
    with pytest.raises(AttributeError):
        asyncio.run(Decider(None, MODEL).decide(asked(Message("user", "Hi"))))


def test_a_cut_call_goes_back_valid(server: Any, reply: Any, frames: Any, stream: Any) -> None:
    """Its arguments are no JSON; the next request holds them as an object."""
    server.play(
        reply(frames(*stream.call("t1", "read", ['{"path": "a'], stop="max_tokens"))),
        reply(frames(*stream.text("Done."))),
    )

    result = Runner(Decider(server.client, MODEL), registry()).run_sync("Read a.")

    assert result.tool_calls == (ToolCall("t1", "read", '{"path": "a'),)
    sent = server.bodies[1]["messages"][1]["content"][0]["toolUse"]
    assert sent["input"] == {"unparsed_arguments": '{"path": "a'}


REFUSED = {
    "message": "messages.2.content: Conversation blocks and tool result blocks cannot be provided "
    "in the same turn."
}


def tool_round() -> list[Message]:
    """Make a round whose result is followed by the user's words."""
    return [
        Message("user", "Hi"),
        Message("assistant", tool_calls=[ToolCall("t1", "read", "{}")]),
        Message("tool", tool_results=[ToolResult("t1", "read", "text")]),
        Message("user", "And?"),
    ]


def test_known_families_get_parted_turns(server: Any, reply: Any, converse: Any) -> None:
    """It is asked once."""
    server.play(reply(converse({"text": "Fine."})))

    asyncio.run(Decider(server.client, "us.meta.llama4-x").decide(asked(*tool_round())))

    (body,) = server.bodies
    assert [len(message["content"]) for message in body["messages"]] == [1] * 5


@pytest.mark.parametrize("streamed", [False, True])
def test_refused_turns_are_parted(
    server: Any, reply: Any, frames: Any, stream: Any, streamed: bool
) -> None:
    """Once: the decider remembers."""
    message = {"role": "assistant", "content": [{"text": "Fine."}]}
    whole = {"output": {"message": message}, "stopReason": "end_turn"}
    fine = frames(*stream.text("Fine.")) if streamed else whole
    server.play(reply(REFUSED, 400, "ValidationException"), reply(fine))
    decider = Decider(server.client, "x.command-r")

    async def ask() -> Any:
        request = asked(*tool_round())
        items = decider.stream(request) if streamed else None
        return [item async for item in items][-1] if items else await decider.decide(request)

    replies = [asyncio.run(ask()).reply for _ in range(2)]

    assert replies == ["Fine.", "Fine."]
    assert [len(body["messages"]) for body in server.bodies] == [3, 5, 5]


def test_another_refusal_is_raised(server: Any, reply: Any) -> None:
    """Nobody asks for ever."""
    server.play(reply(REFUSED, 400, "ValidationException"))

    with pytest.raises(RequestFailed, match="same turn"):
        asyncio.run(Decider(server.client, "x.command-r").decide(asked(*tool_round())))

    assert len(server.sent) == 2


BETA = "thinking-binding-controls-2026-08-01"
SIGNED = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "EqQB"}}}
BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation."
)
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def reasoned() -> Any:
    """Make a request with reasoning in it."""
    reply = {"role": "assistant", "content": [SIGNED, {"text": "Yes."}]}
    return asked(
        *decode(
            [
                {"role": "user", "content": [{"text": "Is it?"}]},
                reply,
                {"role": "user", "content": [{"text": "Sure?"}]},
            ]
        )
    )


def refused(reply: Any, problem: str) -> Any:
    """Make Bedrock's answer to a request that it does not accept."""
    return reply({"message": problem}, status=400, error="ValidationException")


@pytest.mark.parametrize("streamed", [False, True])
def test_bound_reasoning_is_asked_to_be_dropped(  # noqa: PLR0917  the fixtures
    server: Any, reply: Any, converse: Any, frames: Any, stream: Any, streamed: bool
) -> None:
    """In the fields for the model, after a refusal; later calls ask at once."""
    answer = (
        reply(frames(*stream.text("Do", "ne."))) if streamed else reply(converse({"text": "."}))
    )
    server.play(refused(reply, BOUND), answer)
    options = {"additionalModelRequestFields": {"anthropic_beta": ["own-1"]}}
    decider = Decider(server.client, "us.anthropic.claude-fable-5-1-v1:0", options=options)

    async def main() -> None:
        for _ in "ab":
            if streamed:
                _ = [piece async for piece in decider.stream(reasoned())]
            else:
                await decider.decide(reasoned())

    asyncio.run(main())

    fields = [body["additionalModelRequestFields"] for body in server.bodies]
    asking = {"anthropic_beta": ["own-1", BETA], "thinking": DROP}
    assert fields == [{"anthropic_beta": ["own-1"]}, asking, asking]
    assert all(SIGNED in body["messages"][1]["content"] for body in server.bodies)


def test_model_that_checks_everybody_is_asked_at_once(
    server: Any, reply: Any, converse: Any
) -> None:
    """Behind the name of a profile, too."""
    server.play(reply(converse({"text": "."})))
    name = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-mythos-5-2-v1:0"

    asyncio.run(Decider(server.client, name).decide(reasoned()))

    fields = {"thinking": DROP, "anthropic_beta": [BETA]}
    assert server.bodies[0]["additionalModelRequestFields"] == fields


@pytest.mark.parametrize(
    "problem",
    ["thinking.adaptive.block_binding: Extra inputs are not permitted", "invalid beta flag"],
)
def test_bound_reasoning_is_left_out_where_the_setting_is_refused(
    server: Any, reply: Any, converse: Any, problem: str
) -> None:
    """As older deployments refuse it; redacted reasoning is left out as well."""
    redacted = {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": "AP8="}}]}
    history = [
        *reasoned().history[:2],
        *decode([{"role": "user", "content": [{"text": "Go."}]}, redacted]),
        *decode([{"role": "user", "content": [{"text": "Go on."}]}]),
    ]
    server.play(refused(reply, BOUND), refused(reply, problem), reply(converse({"text": "."})))
    decider = Decider(server.client, MODEL)

    for _ in "ab":
        asyncio.run(decider.decide(asked(*history)))

    assert len(server.bodies) == 4
    assert [b.get("additionalModelRequestFields") for b in server.bodies[2:]] == [None, None]
    for body in server.bodies[2:]:
        replies = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
        assert replies == [[{"text": "Yes."}]]


def test_bound_reasoning_that_cannot_be_dropped_is_an_error(server: Any, reply: Any) -> None:
    """If a request without any is refused in the same words, nothing is left to try."""
    server.play(refused(reply, BOUND))

    with pytest.raises(BoundReasoning, match="bound to a different conversation") as caught:
        asyncio.run(Decider(server.client, MODEL).decide(reasoned()))

    assert (caught.value.provider, caught.value.status, len(server.bodies)) == ("bedrock", 400, 3)
