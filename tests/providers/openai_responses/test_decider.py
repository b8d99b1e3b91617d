"""The official SDK against a local server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
from aiohttp import web
from openai import AsyncOpenAI

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import ContextSummary, Message
from agentic.providers.openai_responses import Decider, decode, encode_tools, validate
from agentic.testing import EventRecorder, ScriptedExecutor, check_decider
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition
from agentic.usage import StopReason

pytestmark = pytest.mark.slow

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
USAGE = {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16}
OVERFLOW = {
    "error": {
        "message": "Your input exceeds the context window of this model. Please adjust your input "
        "and try again.",
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }
}
RATE_LIMIT = {
    "error": {
        "message": "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM).",
        "type": "tokens",
        "param": None,
        "code": "rate_limit_exceeded",
    }
}


def message(text: str, number: int = 1) -> dict[str, Any]:
    """Make an item that says something."""
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def call(number: int, name: str = "read") -> dict[str, Any]:
    """Make an item that calls a tool."""
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": '{"path": "a.py"}',
        "status": "completed",
    }


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """Make a response of these items."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1.0,
        "model": "gpt-5",
        "status": "completed",
        "output": list(output),
        "usage": USAGE,
        **more,
    }


def asked(*history: Message, tools: tuple[ToolDefinition, ...] = ()) -> Input:
    """Make the Input of a first turn."""
    return Input(
        system_prompt="Be brief.",
        user_message="Why?",
        history=history or (Message("user", "Why?"),),
        tools=tools,
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def delta(text: str) -> dict[str, Any]:
    """Make the event of a piece of text."""
    return {
        "type": "response.output_text.delta",
        "delta": text,
        "item_id": "msg_1",
        "output_index": 0,
        "content_index": 0,
        "sequence_number": 1,
        "logprobs": [],
    }


DONE = response(message("Done.", 9))
ROUNDS = [response(REASONING, call(1), call(2)), response(message("More."), call(3)), DONE]


async def ask(decider: Decider, *, streamed: bool) -> list[str | Decision]:
    """Ask for a reply, by the stream or not; give all that comes."""
    if streamed:
        return [item async for item in decider.stream(asked())]
    return [await decider.decide(asked())]


class Whole:
    """A decider that is asked for whole replies only."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider

    async def decide(self, request: Input, /) -> Decision:
        """Ask, and do not stream."""
        return await self.decider.decide(request)


def run(serve: Any, answers: list[Any], job: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start the server with these answers and do a job with it."""

    async def main() -> Any:
        async with serve(*answers) as server:
            return await job(server), server.requests

    return asyncio.run(main())


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_run_with_tools(serve: Any, *, streamed: bool) -> None:
    """Two rounds, calls side by side, every request one that the provider accepts."""

    async def job(server: Any) -> Result:
        decider = server.decider()
        tools = ScriptedExecutor({"read": "print()"})
        asking = decider if streamed else Whole(decider)
        return await Runner(asking, tools, system_prompt="Be brief.").run("Why?")

    result, requests = run(serve, ROUNDS, job)

    assert (result.reply, result.stop_reason) == ("Done.", StopReason.STOP)
    assert [done.call_id for done in result.tool_results] == ["call_1", "call_2", "call_3"]
    assert result.usage.total == 48
    assert [request["input"][1:4] for request in requests[1:]] == [
        [REASONING, call(1), call(2)]
    ] * 2
    assert all(validate(request) == [] for request in requests)
    assert requests[0]["instructions"] == "Be brief."
    assert requests[0]["tools"] == encode_tools([ToolDefinition("read")])


def test_request_keeps_conversation_with_caller(serve: Any) -> None:
    """Options win, and the provider's own tools stand beside the loop's."""
    options = {"temperature": 0.5, "store": True, "tools": [{"type": "web_search"}]}

    async def job(server: Any) -> None:
        await server.decider().decide(asked())
        await server.decider(options=options).decide(asked(tools=(ToolDefinition("read"),)))

    _, (plain, rich) = run(serve, [DONE], job)

    assert plain == {
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "Why?"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert (rich["store"], rich["temperature"]) == (True, 0.5)
    assert [tool["type"] for tool in rich["tools"]] == ["function", "web_search"]


@pytest.mark.parametrize("streamed", [True, False])
def test_no_option_decides_what_is_streamed(serve: Any, *, streamed: bool) -> None:
    """`decide` and `stream` do."""

    async def job(server: Any) -> Any:
        return await ask(server.decider(options={"stream": not streamed}), streamed=streamed)

    (*_, decision), (request,) = run(serve, [DONE], job)

    assert decision.reply == "Done."
    assert bool(request.get("stream")) is streamed


def test_instructions_of_options_join_the_conversations(serve: Any) -> None:
    """They come first, and are the same when a conversation begins with a summary."""
    options = {"instructions": "Ahoy.", "input": "Another."}
    bare = attrs.evolve(asked(), system_prompt="")
    summary = ContextSummary("Done so far.", 9).to_message()

    async def job(server: Any) -> None:
        decider = server.decider(options=options)
        await decider.decide(bare)
        await decider.decide(attrs.evolve(bare, history=(summary, *bare.history)))

    _, (alone, both) = run(serve, [DONE], job)

    assert alone["instructions"] == "Ahoy."
    assert both["instructions"] == "Ahoy."
    assert alone["input"] == [{"role": "user", "content": "Why?"}]
    assert both["input"] == [{"role": "user", "content": summary.content}, *alone["input"]]


def test_system_prompt_is_a_developer_item_for_newer_models(serve: Any) -> None:
    """Instructions that are an option stay where their owner put them."""

    async def job(server: Any) -> None:
        await server.decider("gpt-6.2-sol", options={"instructions": "Ahoy."}).decide(asked())

    _, (body,) = run(serve, [DONE], job)

    assert body["instructions"] == "Ahoy."
    assert body["input"][0] == {"role": "developer", "content": "Be brief."}


@pytest.mark.parametrize(
    ("model", "store", "sent"),
    [("gpt-5", False, 3), ("gpt-5", True, 4), ("ft:o4-mini:a::b", False, 3), ("gpt-oss", False, 4)],
)
def test_unstored_unsealed_reasoning_stays_here(
    serve: Any, model: str, sent: int, *, store: bool
) -> None:
    """It came from a conversation that the provider kept; what followed goes without its ids."""
    thought = {**REASONING, "encrypted_content": None}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "text"}
    history = decode([{"role": "user", "content": "Why?"}, thought, call(1), output])

    async def job(server: Any) -> None:
        await server.decider(model, options={"store": store}).decide(asked(*history))

    _, (request,) = run(serve, [DONE], job)

    assert validate(request) == []
    assert len(request["input"]) == sent
    assert ("id" in request["input"][sent - 2]) == (sent == 4)


@pytest.mark.parametrize(
    "words",
    [
        "Encrypted content is not supported with this model.",
        "Unknown parameter: 'include'.",
        "Invalid value: 'reasoning.encrypted_content'.",
    ],
)
def test_models_without_reasoning_are_asked_again(serve: Any, words: str) -> None:
    """Once: the decider remembers."""
    refusal = {"error": {"message": words, "type": "invalid_request_error", "param": "include"}}

    async def job(server: Any) -> list[Decision]:
        decider = server.decider("gpt-4o")
        return [await decider.decide(asked()), await decider.decide(asked())]

    decisions, requests = run(serve, [(400, refusal), DONE], job)

    assert [decision.reply for decision in decisions] == ["Done.", "Done."]
    assert ["include" in request for request in requests] == [True, False, False]


def test_parallel_requests_learn_together(serving: Any) -> None:
    """Each request that was sent with what the model refuses is sent once more."""
    both = asyncio.Barrier(2)

    async def answer(request: web.Request) -> web.Response:
        if "include" not in await request.json():
            return web.json_response(DONE)
        await both.wait()
        refusal = {"error": {"message": "Encrypted content is not supported with this model."}}
        return web.json_response(refusal, status=400)

    async def ask_both() -> list[Decision]:
        async with (
            serving(answer) as url,
            AsyncOpenAI(api_key="none", base_url=url, max_retries=0) as client,
        ):
            decider = Decider(client, "gpt-4o")
            return await asyncio.gather(decider.decide(asked()), decider.decide(asked()))

    assert [decision.reply for decision in asyncio.run(ask_both())] == ["Done.", "Done."]


def test_a_reply_is_streamed(serve: Any) -> None:
    """Its pieces come as they are made, the Decision last."""
    stream = [
        {
            "type": "response.created",
            "response": response(status="in_progress"),
            "sequence_number": 0,
        },
        delta("Do"),
        {"type": "response.unheard_of", "sequence_number": 2},
        delta("ne."),
        {"type": "response.completed", "response": DONE, "sequence_number": 3},
    ]

    async def job(server: Any) -> list[str | Decision]:
        return await ask(server.decider(), streamed=True)

    (first, second, decision), (request,) = run(serve, [stream], job)

    assert (first, second, decision.reply) == ("Do", "ne.", "Done.")
    assert decision.usage.total == 16
    assert request["stream"] is True


def test_overflow_is_recovered_by_compaction(serve: Any) -> None:
    """The runner compacts its history and asks once more, with less."""
    store = MemoryStore()
    for number in range(12):
        role: Any = "assistant" if number % 2 else "user"
        asyncio.run(store.append(Message(role, f"{number} " + "word " * 100)))

    async def job(server: Any) -> Result:
        policy = Policy(context_window=4_000, keep_recent_tokens=300)
        budget = Manager(CharCounter(), Digest(), policy)
        return await Runner(server.decider(), store=store, budget=budget).run("And now?")

    result, (refused, accepted) = run(serve, [(400, OVERFLOW), DONE], job)

    assert result.reply == "Done."
    assert len(str(accepted)) < len(str(refused))
    assert "Context Summary" in accepted["input"][0]["content"]
    assert validate(accepted) == []


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("refused", [True, False])
def test_an_overflow_says_what_is_known(serve: Any, *, refused: bool, streamed: bool) -> None:
    """The window is the given one where the provider names none, in an error or in a response."""
    failed = response(status="failed", error=OVERFLOW["error"])

    async def job(server: Any) -> None:
        decider = server.decider(limits=ModelLimits(1_000, 100))
        with pytest.raises(ContextOverflow) as overflow:
            await ask(decider, streamed=streamed)
        assert (overflow.value.model, overflow.value.window) == ("gpt-5", 1_000)

    run(serve, [(400, OVERFLOW) if refused else failed], job)


def test_an_overflow_that_opens_a_stream(serve: Any) -> None:
    """No event before it has."""
    begins = {"type": "error", **OVERFLOW["error"], "error": None, "sequence_number": 0}
    begins["type"] = "response.error"

    async def job(server: Any) -> None:
        with pytest.raises(ContextOverflow) as overflow:
            await ask(server.decider(), streamed=True)
        assert overflow.value.model == "gpt-5"

    run(serve, [[begins]], job)


def test_rate_limit_is_failed_request(serve: Any) -> None:
    """With its status; nothing is compacted for it."""

    async def job(server: Any) -> None:
        with pytest.raises(RequestFailed, match="Rate limit reached") as failed:
            await server.decider().decide(asked())
        assert failed.value.status == 429

    run(serve, [(429, RATE_LIMIT)], job)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<html>Please log in</html>", "an answer without output: '<html>"),
        ({}, "an answer without output"),
        ({"error": {"message": "nope"}}, "nope"),
    ],
)
def test_an_answer_without_a_reply(serve: Any, body: Any, problem: str) -> None:
    """A proxy's, for example: it is an error, not a reply without text."""

    async def job(server: Any) -> None:
        with pytest.raises(RequestFailed, match=problem):
            await server.decider().decide(asked())

    run(serve, [body], job)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_response_that_failed_is_raised(serve: Any, *, streamed: bool) -> None:
    """It came with status 200, and is no reply."""
    failed = response(status="failed", error={"code": "server_error", "message": "try again"})

    async def job(server: Any) -> None:
        with pytest.raises(RequestFailed, match="server_error: try again"):
            await ask(server.decider(), streamed=streamed)

    run(serve, [failed], job)


@pytest.mark.parametrize("dropped", [[delta("Hel"), None], [delta("Hel")]], ids=["abort", "end"])
def test_dropped_connection_is_no_reply(serve: Any, dropped: list[Any]) -> None:
    """Whether it is torn or just ends; the error holds what had arrived."""

    async def job(server: Any) -> None:
        with pytest.raises(IncompleteReply) as broken:
            await ask(server.decider(), streamed=True)
        assert broken.value.received == "Hel"

    run(serve, [dropped], job)


def test_cancelled_run_leaves_whole_session(serve: Any) -> None:
    """What was stored can be sent again."""
    store = MemoryStore()

    async def job(server: Any) -> None:
        tools = ScriptedExecutor({"read": "text"})
        running = asyncio.create_task(Runner(server.decider(), tools, store=store).run("Why?"))
        await server.silent.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(serve, [ROUNDS[0], None], job)

    history = asyncio.run(store.load())
    assert [said.role for said in history] == ["user", "assistant", "tool"]


def test_the_pieces_can_be_watched(serve: Any) -> None:
    """The loop prefers the stream."""
    stream = [delta("Do"), delta("ne."), {"type": "response.completed", "response": DONE}]

    async def job(server: Any) -> list[str]:
        with EventRecorder() as recorder:
            await Runner(server.decider()).run("Why?")
        return [update.delta for update in recorder.of(events.MessageUpdate)]

    assert run(serve, [stream], job)[0] == ["Do", "ne."]


def test_tool_names_are_the_loops(serve: Any) -> None:
    """A tool with a dot is called by a name without, and found."""
    name = encode_tools([ToolDefinition("files.read")])[0]["name"]

    async def job(server: Any) -> Result:
        tools = ScriptedExecutor({"files.read": "text"})
        return await Runner(server.decider(), tools).run("Why?")

    result, requests = run(serve, [response(REASONING, call(1, name)), DONE], job)

    assert [done.output for done in result.tool_results] == ["text"]
    assert requests[1]["input"][1:3] == [REASONING, call(1, name)]


def test_a_reply_of_full_length_was_cut(serve: Any) -> None:
    """llama.cpp neither says so nor repeats the limit."""

    async def job(server: Any) -> Decision:
        return await server.decider(options={"max_output_tokens": 7}).decide(asked())  # type: ignore[no-any-return]

    assert run(serve, [DONE], job)[0].stop_reason == StopReason.MAX_TOKENS


def test_undecryptable_reasoning_is_another_matter(serve: Any) -> None:
    """Asking without the option would not mend it."""
    words = "The encrypted content gAAAA could not be verified."

    async def job(server: Any) -> None:
        with pytest.raises(RequestFailed, match="could not be verified"):
            await ask(server.decider(), streamed=False)

    _, requests = run(serve, [(400, {"error": {"message": words}}), DONE], job)

    assert len(requests) == 1


def test_the_provider_counts_tokens(serve: Any) -> None:
    """Of all that the request would send, and with the options that count."""

    async def job(server: Any) -> int:
        options = {"temperature": 0.5, "reasoning": {"effort": "low"}}
        return await server.decider(options=options).count_tokens(asked())  # type: ignore[no-any-return]

    tokens, (request,) = run(serve, [DONE], job)

    assert tokens == 42
    assert set(request) == {"model", "instructions", "input", "reasoning"}


def test_it_keeps_a_deciders_promises(serve: Any) -> None:
    """Every client is opened in the loop that asks."""

    class Fresh:
        def __init__(self) -> None:
            self.server = serve(DONE)

        async def decide(self, request: Input, /) -> Decision:
            async with self.server as server:
                return await server.decider().decide(request)  # type: ignore[no-any-return]

        async def stream(self, request: Input, /) -> Any:
            async with self.server as server:
                async for item in server.decider().stream(request):
                    yield item

    check_decider(Fresh)
