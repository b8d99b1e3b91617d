import asyncio
import json
from typing import Any

import pytest
from google import genai
from google.genai import types

from agentic import providers
from agentic.context import budget, compactors
from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Message, ProviderPayload, ToolCall
from agentic.providers import gemini
from agentic.testing import ScriptedExecutor, check_decider
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, Usage

pytestmark = pytest.mark.slow

SIGNATURE = "+/8A+/8A"
TOOL = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {}})
USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
# Vertex AI's and AI Studio's wording: https://github.com/google-gemini/gemini-cli/issues/4035
TOO_LONG = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."


def _response(*parts: Any, **fields: Any) -> dict[str, Any]:
    content = {"parts": list(parts), "role": "model"}
    candidate = {"content": content, "finishReason": "STOP", "index": 0, **fields}
    return {"candidates": [candidate], "usageMetadata": USAGE, "responseId": str(len(parts))}


def _chunk(*parts: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0}]}


def _error(code: int, status: str, message: str) -> tuple[int, Any]:
    return code, {"error": {"code": code, "message": message, "status": status}}


def _input(*history: Message, **fields: Any) -> Input:
    given: dict[str, Any] = {
        "system_prompt": "",
        "user_message": "",
        "history": history or (Message("user", "Hi."),),
        "tools": (),
        "tool_calls": (),
        "tool_results": (),
        "turn": 1,
    }
    return Input(**{**given, **fields})


def _call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


HELLO = _response({"text": "Hello."})


async def _stream(decider: gemini.Decider, request: Input) -> list[str | Decision]:
    return [item async for item in decider.stream(request)]


class _Unstreamed:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: gemini.Decider) -> None:
        self.decide = decider.decide


def test_runs_send_replies_back_unchanged(google: Any) -> None:
    """Two rounds, the first with parallel calls; signatures and unknown parts go back unchanged."""
    first = _response(
        {"text": "Hm.", "thought": True},
        {**_call("read", path="a"), "thoughtSignature": SIGNATURE},
        _call("read", path="b"),
        {"somethingNew": {"n": 1}},
    )
    second = _response({**_call("read", path="c"), "thoughtSignature": SIGNATURE, "new": 1})
    google.answers = [first, second, HELLO]
    executor = ScriptedExecutor({"read": "text"})

    runner = Runner(_Unstreamed(google.decider()), executor, system_prompt="Be brief.")
    result = asyncio.run(runner.run("Read them."))

    assert result.reply == "Hello."
    assert result.usage == Usage(input=27, output=9, total=36)
    sent = google.requests[-1]
    assert sent["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    said = [first["candidates"][0]["content"], second["candidates"][0]["content"]]
    assert [content for content in sent["contents"] if content["role"] == "model"] == said
    assert [len(content["parts"]) for content in sent["contents"]] == [1, 4, 2, 1, 1]
    assert gemini.validate({**sent, "model": "gemini-3-pro"}) == []


def test_streamed_runs_send_replies_back_unchanged(google: Any) -> None:
    """The SDK's own spelling of bytes is undone."""
    signed = {**_call("read"), "thoughtSignature": SIGNATURE}
    google.answers = [[_chunk(signed), _response({"text": ""})], [_chunk({"text": "Hel"}), HELLO]]

    runner = Runner(google.decider(), ScriptedExecutor({"read": "text"}))
    result = asyncio.run(runner.run("Read."))

    assert result.reply == "HelHello."
    assert google.requests[-1]["contents"][1] == {"parts": [signed], "role": "model"}


def test_stream_gives_pieces_then_the_decision(google: Any) -> None:
    """With the usage of the last event."""
    google.answers = [[_chunk({"text": "Hel"}), _response({"text": "lo."})]]

    *pieces, decision = asyncio.run(_stream(google.decider(), _input()))

    assert pieces == ["Hel", "lo."]
    assert isinstance(decision, Decision)
    assert decision.reply == "Hello."
    assert decision.usage == Usage(input=9, output=3, total=12)


def test_native_items_leave_byte_for_byte(google: Any) -> None:
    """The SDK would refuse the part, and spell its bytes anew."""
    google.answers = [HELLO]
    content = {"role": "user", "parts": [{"newKind": {"n": 1}, "thoughtSignature": SIGNATURE}]}
    message = Message("user", native=ProviderPayload(gemini.ADAPTER.name, {"content": content}))

    asyncio.run(google.decider().decide(_input(message)))

    assert json.dumps(google.requests[0]["contents"]) == json.dumps([content])


def test_options_and_tools_add_up(google: Any) -> None:
    """What the caller wants of HTTP stays too, be it a dict or the SDK's object."""
    google.answers = [HELLO]
    for http in ({"extra_body": {"labels": {"a": "b"}}}, types.HttpOptions(timeout=5000), None):
        options = {"temperature": 0.5, "tools": [{"google_search": {}}], "http_options": http}
        decider = google.decider(options=options)
        asyncio.run(decider.decide(_input(tools=(TOOL,))))

    sent = google.requests[0]
    assert sent["generationConfig"] == {"temperature": 0.5}
    assert sent["labels"] == {"a": "b"}
    assert [list(tool) for tool in sent["tools"]] == [["googleSearch"], ["functionDeclarations"]]


@pytest.mark.parametrize(
    "given",
    ["Ahoy.", {"parts": [{"text": "Ahoy."}]}, types.Content(parts=[types.Part(text="Ahoy.")])],
)
def test_instruction_of_options_joins_the_conversations(google: Any, given: Any) -> None:
    """It comes first; alone, it is the SDK's to write."""
    google.answers = [HELLO]
    decider = google.decider(options={"system_instruction": given})

    asyncio.run(decider.decide(_input(Message("system", "Be brief."), Message("user", "Hi."))))
    asyncio.run(decider.decide(_input()))

    both, alone = (request["systemInstruction"]["parts"] for request in google.requests)
    assert both == [{"text": "Ahoy."}, {"text": "Be brief."}]
    assert alone == [{"text": "Ahoy."}]


def test_budget_recovers_from_an_overflow(google: Any) -> None:
    """One compaction, one smaller request."""
    google.answers = [_error(400, "INVALID_ARGUMENT", TOO_LONG), HELLO]
    policy = budget.Policy(100_000, keep_recent_tokens=50)
    manager = budget.Manager(CharCounter(), compactors.Digest(), policy)
    history = [Message(role, "word " * 400) for role in ("user", "assistant") * 4]

    runner = Runner(google.decider(), budget=manager, store=MemoryStore())
    result = asyncio.run(runner.run(Request("Go on.", history=history)))

    assert result.reply == "Hello."
    assert result.summary is not None
    first, second = (len(json.dumps(request)) for request in google.requests)
    assert second < first


def test_overflow_tells_the_windows_size(google: Any) -> None:
    """Where there is no budget, the error reaches the caller."""
    google.answers = [_error(400, "INVALID_ARGUMENT", TOO_LONG)]

    with pytest.raises(ContextOverflow) as overflow:
        asyncio.run(_stream(google.decider(), _input()))

    assert overflow.value.window == 1_048_576


def test_overflow_claims_no_unknown_window(google: Any) -> None:
    """The catalog's guess at an unknown model is none."""
    google.answers = [_error(400, "INVALID_ARGUMENT", "The input token count exceeds the limit.")]
    decider = gemini.Decider(google.client(), "gemini-of-tomorrow")

    with pytest.raises(ContextOverflow) as overflow:
        asyncio.run(decider.decide(_input()))

    assert overflow.value.window is None


def test_a_refusal_keeps_its_status(google: Any) -> None:
    """A quota is no overflow."""
    google.answers = [_error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.")]

    for ask in (google.decider().decide(_input()), _stream(google.decider(), _input())):
        with pytest.raises(RequestFailed, match="quota") as failed:
            asyncio.run(ask)
        assert failed.value.status == 429


def test_error_within_stream_keeps_status(google: Any) -> None:
    """It comes after the first pieces."""
    google.answers = [[_chunk({"text": "Hel"}), _error(503, "UNAVAILABLE", "overloaded")[1]]]

    with pytest.raises(RequestFailed) as failed:
        asyncio.run(_stream(google.decider(), _input()))

    assert failed.value.status == 503


@pytest.mark.parametrize("events", [["drop"], []])
def test_broken_off_stream_is_incomplete(google: Any, events: list[Any]) -> None:
    """Whether the connection dropped or just ended without an end mark."""
    google.answers = [[_chunk({"text": "Hel"}), *events]]

    with pytest.raises(IncompleteReply) as broken:
        asyncio.run(_stream(google.decider(), _input()))

    assert broken.value.received == "Hel"


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_the_sdks_own_transport_breaks_off(google: Any) -> None:
    """It prefers aiohttp where that is installed."""
    google.answers = [[_chunk({"text": "Hel"}), "drop"]]

    async def main() -> None:
        client = genai.Client(api_key="key", http_options={"base_url": google.url})
        try:
            await _stream(gemini.Decider(client, "gemini-3-pro"), _input())
        finally:
            await client.aio.aclose()

    with pytest.raises(IncompleteReply):
        asyncio.run(main())


def test_no_server_is_a_failed_request(google: Any) -> None:
    """There is no status then."""
    google.url = "http://127.0.0.1:1"

    with pytest.raises(RequestFailed) as failed:
        asyncio.run(google.decider().decide(_input()))

    assert failed.value.status is None


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (["not a response"], "an answer without candidates"),
        ({}, "an answer without candidates"),
        ({"error": {"code": 500, "message": "nope"}}, "HTTP 500.*nope"),
    ],
)
def test_an_answer_without_a_reply(google: Any, answer: Any, problem: str) -> None:
    """A proxy's, for example: it is an error, not a reply without text."""
    google.answers = [answer]

    with pytest.raises(RequestFailed, match=problem):
        asyncio.run(google.decider().decide(_input()))


def test_cancelled_run_leaves_history_whole(google: Any) -> None:
    """The request is stored, and the next run goes on from there."""
    google.answers = ["hang", HELLO]
    store = MemoryStore()
    runner = Runner(google.decider(), store=store)

    async def main() -> None:
        run = asyncio.create_task(runner.run("Hi."))
        await asyncio.to_thread(google.asked.wait)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await runner.run("Again.")
        assert [each.content for each in await store.full()] == ["Hi.", "Again.", "Hello."]

    asyncio.run(main())


def test_cut_and_withheld_replies_are_replies(google: Any) -> None:
    """The decision says so."""
    google.answers = [_response({"text": "Hel"}, finishReason="MAX_TOKENS")]

    decision = asyncio.run(google.decider().decide(_input()))

    assert (decision.reply, decision.stop_reason) == ("Hel", StopReason.MAX_TOKENS)


def test_a_decider_keeps_its_promises(google: Any) -> None:
    """All of those that the contract lists, streamed too."""
    google.answers = [HELLO]

    client = google.client()

    check_decider(lambda: gemini.Decider(client, "gemini-3-pro"))


def test_tokens_include_prompt_and_tools(google: Any) -> None:
    """The Gemini API counts a whole request in a field of its own."""
    google.answers = [{"totalTokens": 31}]
    request = _input(system_prompt="Be brief.", tools=(TOOL,))

    assert asyncio.run(google.decider().count_tokens(request)) == 31
    counted = google.requests[0]["generateContentRequest"]
    assert counted["model"] == "models/gemini-3-flash-preview"
    assert set(counted) == {"model", "contents", "systemInstruction", "tools"}
    assert google.requests[0]["contents"] == []


@pytest.mark.parametrize("prompt", ["", "Be brief."])
def test_instruction_of_options_is_counted(google: Any, prompt: str) -> None:
    """It is a part of the request that a reply is asked for."""
    google.answers = [{"totalTokens": 31}]
    decider = google.decider(options={"system_instruction": "Ahoy."})

    asyncio.run(decider.count_tokens(_input(system_prompt=prompt)))

    counted = google.requests[0]["generateContentRequest"]["systemInstruction"]["parts"]
    assert [part["text"] for part in counted] == list(filter(None, ["Ahoy.", prompt]))


def test_vertex_ai_gets_the_same_words(google: Any) -> None:
    """Its count endpoint takes the request's own fields."""
    google.answers = [HELLO, {"totalTokens": 31}, {}]
    client = google.client(vertexai=True)
    decider = gemini.Decider(client, "gemini-3-flash-preview")

    assert asyncio.run(decider.decide(_input())).reply == "Hello."
    assert asyncio.run(decider.count_tokens(_input(system_prompt="Be brief."))) == 31
    assert set(google.requests[1]) == {"contents", "systemInstruction"}
    with pytest.raises(RequestFailed, match="no token count"):
        asyncio.run(decider.count_tokens(_input()))


def test_renamed_tools_are_called_by_name(google: Any) -> None:
    """It is declared under another, and so is its call."""
    tool = ToolDefinition("2.files")
    (declared,) = gemini.encode_tools([tool])[0]["functionDeclarations"]
    google.answers = [_response(_call(declared["name"]))]

    decision = asyncio.run(google.decider().decide(_input(tools=(tool,))))

    assert gemini.validate(google.requests[0]) == []
    assert [call.name for call in decision.tool_calls] == ["2.files"]


def test_sdk_never_runs_calls(google: Any) -> None:
    """They are the loop's, with ids that were made."""
    google.answers = [_response(_call("read"))]

    decision = asyncio.run(google.decider().decide(_input(tools=(TOOL,))))

    assert [(call.name, call.arguments) for call in decision.tool_calls] == [("read", "{}")]
    assert isinstance(decision.tool_calls[0], ToolCall)
    assert len(google.requests) == 1


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize("streamed", [False, True])
def test_connect_retries_what_may_pass(
    google: Any, streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK asks again after an overload, as it does only if it is told to."""
    monkeypatch.setenv("GEMINI_API_KEY", "none")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", google.url)
    overload = _error(503, "UNAVAILABLE", "The model is overloaded.")
    google.answers = [overload, [HELLO] if streamed else HELLO]

    async def ask() -> Decision:
        decider = providers.connect("gemini:gemini-3-flash-preview")
        async with decider.client.aio:  # type: ignore[attr-defined]
            if not streamed:
                return await decider.decide(_input())
            *_, decision = [item async for item in decider.stream(_input())]
            assert isinstance(decision, Decision)
            return decision

    assert asyncio.run(ask()).reply == "Hello."
    assert len(google.requests) == 2


def test_custom_clients_retry_as_configured(google: Any) -> None:
    """Without retry options, the SDK asks once."""
    google.answers = [_error(503, "UNAVAILABLE", "The model is overloaded."), HELLO]

    with pytest.raises(RequestFailed):
        asyncio.run(google.decider().decide(_input()))

    assert len(google.requests) == 1
