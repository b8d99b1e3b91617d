"""The decider, the official SDK and a server that speaks the wire, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anthropic as sdk
import attrs
import pytest
from aiohttp import web

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import ContextSummary, Message, ToolResult
from agentic.providers.anthropic import Decider, validate
from agentic.testing import EventRecorder, ScriptedExecutor, check_decider
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, Usage

pytestmark = pytest.mark.slow

Body: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]

LIMITS = ModelLimits(200_000, 4_096)
THINKING = {"type": "thinking", "thinking": "Look first.", "signature": "EqQB"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}}


def text(said: str) -> Body:
    """Make a block of text."""
    return {"type": "text", "text": said}


def call(call_id: str, name: str = "read") -> Body:
    """Make a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"path": call_id}}


def reply(*content: Body, word: str = "end_turn", **fields: Any) -> Body:
    """Make a response."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": list(content),
        "stop_reason": word,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5},
        **fields,
    }


def refusal(status: int, kind: str, message: str) -> Answer:
    """Make a server's refusal."""

    async def refuse(_: web.Request) -> web.StreamResponse:
        error = {"type": "error", "error": {"type": kind, "message": message}}
        return web.json_response(error, status=status)

    return refuse


def events_of(response: Body) -> list[Body]:
    """Make the events that a response is streamed in."""
    empty = {**response, "content": [], "stop_reason": None}
    events: list[Body] = [{"type": "message_start", "message": empty}, {"type": "ping"}]
    for index, block in enumerate(response["content"]):
        field, kind = _FRAGMENTS.get(block["type"], ("", ""))
        whole = json.dumps(block["input"]) if field == "partial_json" else block.get(field, "")
        bare = {"input": {}} if field == "partial_json" else {field: ""}
        start = {**block, **bare} if field else block
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        for fragment in (whole[:3], whole[3:]) if field else ():
            delta = {"type": kind, field: fragment}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": response["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": response["usage"]["output_tokens"]}
    return [
        *events,
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]


_FRAGMENTS = {
    "text": ("text", "text_delta"),
    "thinking": ("thinking", "thinking_delta"),
    "tool_use": ("partial_json", "input_json_delta"),
}


def streaming(events: list[Body], *, then_drop: bool = False) -> Answer:
    """Stream events, and perhaps let the connection drop after them."""

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            lines = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            await response.write(lines.encode())
        if then_drop and request.transport:
            request.transport.close()
        return response

    return stream


class Server:
    """Gives its answers one by one, the last one again and again, and keeps what it was asked."""

    def __init__(self, *answers: Body | Answer) -> None:
        self.answers = list(answers)
        self.bodies: list[Body] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, streamed if it asks for that; refuse what the API would refuse."""
        body = await request.json()
        self.bodies.append(body)
        if found := validate(body):
            return await refusal(400, "invalid_request_error", found[0].problem)(request)
        if request.path.endswith("/count_tokens"):
            return web.json_response({"input_tokens": 42})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not isinstance(answer, dict):
            return await answer(request)
        if body.get("stream"):
            return await streaming(events_of(answer))(request)
        return web.json_response(answer)

    @asynccontextmanager
    async def decider(self, **settings: Any) -> AsyncIterator[Decider]:
        """Serve on a free port, and give a decider that asks there."""
        application = web.Application()
        application.router.add_post("/v1/messages", self.answer)
        application.router.add_post("/v1/messages/count_tokens", self.answer)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        address = f"http://127.0.0.1:{port}"
        client = sdk.AsyncAnthropic(api_key="none", base_url=address, max_retries=0)
        try:
            yield Decider(client, **{"model": "claude-x", "limits": LIMITS, **settings})
        finally:
            await client.close()
            await runner.cleanup()


def run(server: Server, executor: Any = None, **parts: Any) -> Result:
    """Run a request with a Runner of these parts."""

    async def main() -> Result:
        async with server.decider() as decider:
            return await Runner(decider, executor, **parts).run("Why is the build red?")

    return asyncio.run(main())


def asked(*tools: ToolDefinition) -> Input:
    """Make what a Runner asks in its first turn."""
    return Input(
        system_prompt="Be brief.",
        user_message="Why?",
        history=(Message("user", "Why?"),),
        tools=tools,
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def decide(server: Server, *tools: ToolDefinition, **settings: Any) -> Decision:
    """Decide once, not streamed unless the decider wants it."""

    async def main() -> Decision:
        async with server.decider(**settings) as decider:
            return await decider.decide(asked(*tools))

    return asyncio.run(main())


def test_run_with_two_parallel_rounds() -> None:
    """Results go back together, and the reply goes back with its thinking as it came."""
    first = [THINKING, text("I look."), call("toolu_1"), call("toolu_2")]
    server = Server(
        reply(*first, word="tool_use"),
        reply(call("toolu_3"), word="tool_use"),
        reply(text("Fixed.")),
    )

    with EventRecorder() as recorder:
        result = run(server, ScriptedExecutor({"read": "print()"}))

    assert (result.reply, result.stop_reason) == ("Fixed.", StopReason.STOP)
    assert result.usage == Usage(300, 15, 315, 270)
    assert server.bodies[2]["messages"][1] == {"role": "assistant", "content": first}
    ids = [block["tool_use_id"] for block in server.bodies[2]["messages"][2]["content"]]
    assert ids == ["toolu_1", "toolu_2"]
    assert recorder.names.count("message_update") == 4


def test_overflow_is_recovered_by_compaction() -> None:
    """In the provider's words; the second request is smaller, and begins with the summary."""
    too_long = "prompt is too long: 208310 tokens > 200000 maximum"
    server = Server(refusal(400, "invalid_request_error", too_long), reply(text("Done.")))
    store = MemoryStore()
    budget = Manager(CharCounter(), Digest(max_tokens=200), Policy(100_000, keep_recent_tokens=50))

    async def main() -> Result:
        for number in range(20):
            await store.append(Message("user", f"Question {number}. " * 20))
            await store.append(Message("assistant", f"Answer {number}. " * 20))
        async with server.decider() as decider:
            return await Runner(decider, store=store, budget=budget).run("And now?")

    result = asyncio.run(main())

    assert result.reply == "Done."
    assert result.summary is not None
    assert len(json.dumps(server.bodies[1])) < len(json.dumps(server.bodies[0]))
    assert "[Context Summary" in server.bodies[1]["messages"][0]["content"]


def test_overflow_without_budget_is_told() -> None:
    """With the sizes that the provider names."""
    too_long = "prompt is too long: 208310 tokens > 200000 maximum"

    with pytest.raises(ContextOverflow) as overflow:
        decide(Server(refusal(400, "invalid_request_error", too_long)))

    assert (overflow.value.sent, overflow.value.window) == (208_310, 200_000)


def test_a_rate_limit_is_no_overflow() -> None:
    """Its status and the provider's words are in the error."""
    server = Server(refusal(429, "rate_limit_error", "This request would exceed your rate limit"))

    with pytest.raises(RequestFailed, match="exceed your rate limit") as failed:
        run(server)

    assert (failed.value.provider, failed.value.status) == ("anthropic", 429)


@pytest.mark.parametrize("upto", [4, 6])
def test_connection_drops_within_a_reply(upto: int) -> None:
    """What had arrived is in the error, and nothing half is stored."""
    events = events_of(reply(text("Hello."), call("toolu_1"), word="tool_use"))
    store = MemoryStore()

    with pytest.raises((IncompleteReply, RequestFailed)) as broken:
        run(Server(streaming(events[:upto], then_drop=True)), store=store)

    if isinstance(broken.value, IncompleteReply):
        assert broken.value.received in {"Hel", "Hello."}
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_stream_errors_have_their_status() -> None:
    """The response itself had said 200."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = [*events_of(reply(text("Hello.")))[:4], error]

    with pytest.raises(RequestFailed, match="Overloaded") as failed:
        run(Server(streaming(events)))

    assert failed.value.status == 529


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<html>Please log in</html>", "an answer without content: '<html>"),
        ("{}", "an answer without content"),
        ('{"type": "error", "error": {"type": "api_error", "message": "nope"}}', "nope"),
    ],
)
def test_an_answer_without_a_reply(body: str, problem: str) -> None:
    """A proxy's, for example: it is an error, not a reply without text."""
    kind = "application/json" if body.startswith("{") else "text/html"

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type=kind)

    with pytest.raises(RequestFailed, match=problem):
        decide(Server(answer))


def test_an_overflow_that_opens_a_stream() -> None:
    """There is no start of a message that would."""
    said = {"type": "invalid_request_error", "message": "prompt is too long: 210 tokens > 200"}
    server = Server(streaming([{"type": "error", "error": said}]))

    with pytest.raises(ContextOverflow) as overflow:
        decide(server, limits=ModelLimits(200_000, 64_000))

    assert (overflow.value.model, overflow.value.sent) == ("claude-x", 210)


def test_cancelled_run_leaves_session_whole() -> None:
    """The server never ends its reply."""
    store = MemoryStore()
    begun = asyncio.Event()

    async def hang(_: web.Request) -> web.StreamResponse:
        begun.set()
        await asyncio.sleep(60)
        return web.Response()

    async def main() -> None:
        server = Server(reply(call("toolu_1"), word="tool_use"), hang)
        async with server.decider() as decider:
            runner = Runner(decider, ScriptedExecutor({"read": "x"}), store=store)
            task = asyncio.create_task(runner.run("Why?"))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())

    roles = [message.role for message in asyncio.run(store.load())]
    assert roles == ["user", "assistant", "tool"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_paused_turn_is_continued(streamed: bool) -> None:
    """Its content goes back as it came; contents and usage of all parts are one decision's."""
    paused = reply(text("I search."), SEARCH, word="pause_turn", container={"id": "container_1"})
    server = Server(paused, reply(text("Found.")))

    decision = decide(server, limits=ModelLimits(200_000, 64_000 if streamed else 4_096))

    assert decision.reply == "I search.Found."
    assert decision.stop_reason is StopReason.STOP
    assert decision.usage == Usage(200, 10, 210, 180)
    # Each request sent the parts before it again: the last one says how large they are together.
    assert decision.request_usage == Usage(100, 5, cache_read=90)
    assert server.bodies[0].get("stream", False) is streamed
    assert server.bodies[1]["messages"][1] == {
        "role": "assistant",
        "content": [text("I search."), SEARCH],
    }
    assert server.bodies[1]["container"] == "container_1"
    assert decision.native is not None
    assert decision.native.payload["content"] == [text("I search."), SEARCH, text("Found.")]


@pytest.mark.parametrize("dropped", [False, True])
def test_incomplete_reply_has_text_before_pause(dropped: bool) -> None:
    """All that was yielded of the turn, whether its stream ends early or is cut off."""
    paused = reply(text("First half."), word="pause_turn")
    server = Server(paused, streaming(events_of(reply(text("Second.")))[:4], then_drop=dropped))
    shown: list[Any] = []

    async def main() -> None:
        async with server.decider() as decider:
            async for item in decider.stream(asked()):
                shown.append(item)  # noqa: PERF401  what came before the error counts

    with pytest.raises(IncompleteReply) as caught:
        asyncio.run(main())

    assert caught.value.received == "".join(shown)
    assert caught.value.received.startswith("First half.Sec")


def test_endless_pauses_are_given_up() -> None:
    """The word says what it was; it is no stop."""
    server = Server(reply(text("Hm."), word="pause_turn"))

    decision = decide(server)

    assert len(server.bodies) == 6
    assert (decision.stop_reason, decision.stop_word) == (StopReason.OTHER, "pause_turn")


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (ModelLimits(200_000, 64_000), 32_000),
        (ModelLimits(1_000_000, 128_000), 125_000),
        (ModelLimits(200_000, 8_192), 8_192),
        (ModelLimits(0, 64_000), 32_000),
        (ModelLimits(40_000, 40_000), 10_000),
        (ModelLimits(8_192, 0, known=False), 4_096),
        (ModelLimits(200_000, 64_000, window_includes_reply=True), 16_384),
        (ModelLimits(200_000, 8_192, window_includes_reply=True), 8_192),
        (ModelLimits(40_000, 40_000, window_includes_reply=True), 10_000),
    ],
)
def test_replies_leave_room_for_the_conversation(limits: ModelLimits, expected: int) -> None:
    """One that may be very long is streamed, since the SDK refuses to wait for it."""
    server = Server(reply(text("Yes.")))

    decide(server, limits=limits)

    assert server.bodies[0]["max_tokens"] == expected
    assert server.bodies[0].get("stream", False) is (expected > 8_192)


OLDER = [
    "claude-3-haiku",
    "claude-3-7-sonnet",
    "claude-opus-4",
    "claude-opus-4-1",
    "claude-sonnet-4",
]


@pytest.mark.parametrize("model", OLDER)
def test_reply_of_older_model_fits_the_default_reserve(model: str) -> None:
    """A full context and the reply that is asked for are within the window."""
    server = Server(reply(text("Yes.")))

    decide(server, model=model, limits=None)

    policy = Policy(lookup(model).context_window)
    assert policy.available_tokens + server.bodies[0]["max_tokens"] <= policy.context_window


def test_thinking_of_older_model_is_within_the_reserve_where_it_fits() -> None:
    """`max_tokens` includes it; a larger budget leaves room for a short reply."""
    limits = ModelLimits(200_000, 64_000, window_includes_reply=True)
    server = Server(reply(text("Yes.")))

    for budget in (8_000, 30_000):
        thinking = {"type": "enabled", "budget_tokens": budget}
        decide(server, limits=limits, options={"thinking": thinking})

    assert [body["max_tokens"] for body in server.bodies] == [16_384, 34_096]


def test_max_tokens_may_be_told() -> None:
    """A budget for thinking that is told without it comes on top of the reply."""
    server = Server(reply(text("Yes.")))
    thinking = {"type": "enabled", "budget_tokens": 20_000}

    decide(server, options={"max_tokens": 300, "stop_sequences": ["x"]})
    decide(server, limits=ModelLimits(200_000, 64_000), options={"thinking": thinking})

    assert [body["max_tokens"] for body in server.bodies] == [300, 52_000]
    assert server.bodies[0]["stop_sequences"] == ["x"]


def test_provider_tools_stand_beside_ours() -> None:
    """A name that the API refuses is rewritten, and comes back as it was."""
    web_search = {"type": "web_search_20250305", "name": "web_search"}
    server = Server(reply(call("toolu_1"), word="tool_use"))

    async def rename(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return web.json_response(reply(call("toolu_1", body["tools"][1]["name"]), word="tool_use"))

    server.answers = [rename]
    decision = decide(server, ToolDefinition("fs.read"), options={"tools": [web_search]})

    assert server.bodies[0]["tools"][0] == web_search
    assert decision.tool_calls[0].name == "fs.read"
    assert decision.native is not None


@pytest.mark.parametrize("given", ["Ahoy.", ({"type": "text", "text": "Ahoy."},)])
def test_system_of_options_joins_the_conversations(given: Any) -> None:
    """It comes first; a summary is in neither."""
    server = Server(reply(text("Yes.")))
    summary = ContextSummary("Done so far.", 9).to_message()
    request = attrs.evolve(asked(), history=(summary, Message("user", "Why?")))

    async def main() -> None:
        options = {"system": given, "messages": []}
        async with server.decider(options=options, prompt_cache=False) as decider:
            await decider.decide(request)

    asyncio.run(main())

    (body,) = server.bodies
    assert [block["text"] for block in body["system"]] == ["Ahoy.", "Be brief."]
    assert body["messages"] == [
        {"role": "user", "content": summary.content},
        {"role": "user", "content": "Why?"},
    ]


def test_tools_of_options_may_be_none() -> None:
    """As a configuration leaves them out."""
    server = Server(reply(text("Yes.")))

    assert decide(server, options={"tools": None}).reply == "Yes."
    assert "tools" not in server.bodies[0]


def test_tokens_are_counted_by_the_provider() -> None:
    """The request is counted as it would be sent, without what only a reply needs."""
    server = Server(reply(text("Yes.")))

    async def main() -> int:
        async with server.decider(
            options={"stop_sequences": ["x"], "tool_choice": {"type": "auto"}}
        ) as d:
            assert d.name == "anthropic:claude-x"
            return await d.count_tokens(asked(ToolDefinition("read")))

    assert asyncio.run(main()) == 42
    assert sorted(server.bodies[0]) == ["messages", "model", "system", "tool_choice", "tools"]


def test_it_keeps_a_deciders_promises() -> None:
    """Whatever the history, it answers; cancelled, it stops."""
    checked: list[bool] = []

    class Served:
        """A decider with a server of its own for every question, in its own event loop."""

        async def decide(self, request: Input, /) -> Decision:
            async with Server(reply(text("Yes."))).decider() as decider:
                return await decider.decide(request)

        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            async with Server(reply(text("Yes."))).decider() as decider:
                async for item in decider.stream(request):
                    checked.append(isinstance(item, Decision))
                    yield item

    check_decider(Served)

    assert any(checked)


def test_tool_result_reaches_the_model() -> None:
    """A failure is marked as one."""
    server = Server(reply(call("toolu_1"), word="tool_use"), reply(text("Oh.")))

    run(server, ScriptedExecutor({"read": ToolResult(output="part", error="no such file")}))

    (block,) = server.bodies[1]["messages"][2]["content"]
    assert block["content"] == "part\nError: no such file"
    assert block["is_error"] is True
