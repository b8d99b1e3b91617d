"""A provider's own compaction, beside a digest of the same messages, on a server that checks it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import attrs
import pytest

from agentic.bridges import dicts
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Continuation, Digest, ProviderCompactor, first_of
from agentic.errors import RequestFailed
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ProviderPayload
from agentic.messages._provider_compaction import NativeCompaction
from agentic.providers import anthropic, openai_chat, openai_responses
from agentic.session import Session
from agentic.testing import AgentScript, ModelServer, ScriptedAnswer
from agentic.tokens import CharCounter
from agentic.tools import Registry, tool
from agentic.usage import StopReason, Usage

_WINDOW = 8_000
_KEY = "sk-4711-secret"
_POLICY = Policy(_WINDOW, reserve_tokens=2_000, keep_recent_tokens=1_500)
_LIMITS = ModelLimits(_WINDOW, 1_000)


@tool
def read(path: str) -> str:
    """Read a file."""
    return f"{path} says what it says. " * 60


@contextlib.asynccontextmanager
async def _decider(kind: str, url: str, limits: ModelLimits = _LIMITS) -> AsyncIterator[Any]:
    if kind == "anthropic":
        sdk = pytest.importorskip("anthropic")
        async with sdk.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            yield anthropic.Decider(client, "claude-fable-5-2", limits=limits)
        return
    sdk = pytest.importorskip("openai")
    async with sdk.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if kind == "responses":
            yield openai_responses.Decider(client, "gpt-6.2-sol", limits=limits)
        else:
            yield openai_chat.Decider(client, "qwen3", limits=limits)


def _server(rounds: int = 1, **options: Any) -> ModelServer:
    script = AgentScript(turns=900, rounds=rounds, thinking="I read on.")
    return ModelServer(script=script, **{"window": _WINDOW, "strict": True, **options})


def _session(compactor: Any = None, policy: Policy = _POLICY) -> Session:
    chain = compactor or first_of(ProviderCompactor(), Digest(max_tokens=600))
    return Session(
        "s1",
        MemoryStore(),
        counter=CharCounter(),
        policy=policy,
        compactor=chain,
        system_prompt="Be brief.",
        executor=Registry([read]),
    )


def _run(work: Callable[[str, ModelServer], Any], server: ModelServer) -> Any:
    with server.serve() as url:
        return asyncio.run(work(url, server))


def _native(history: list[Message]) -> NativeCompaction | None:
    summary = next((each.summary for each in history if each.summary is not None), None)
    return None if summary is None else NativeCompaction.of_summary(summary)


def _texts(body: Any) -> str:
    return str(body.get("messages") or body.get("input"))


@pytest.mark.parametrize("kind", ["anthropic", "responses"])
def test_compaction_is_sent_first_and_a_digest_is_kept(kind: str) -> None:
    """Nothing is refused, and reasoning behind the compaction stays valid."""

    async def talk(url: str, _: ModelServer) -> None:
        session = _session()
        async with session, _decider(kind, url) as decider:
            runner = session.runner(decider)
            for number in range(16):
                await runner.run(f"Request {number}: read what part {number} needs.")
            history = await session.store.load()
        native = _native(history)
        assert native is not None
        summary = next(each.summary for each in history if each.summary is not None)
        assert summary.content.startswith("# Digest")
        assert "Request 0" in summary.content

    server = _server()
    _run(talk, server)

    report = server.report
    assert report.refused == {}
    asides = [each for each in report.served if each.aside]
    assert len(asides) > 1
    last = report.served[-1].body
    # Nothing but the system prompt stands before it.
    first = next(m for m in last.get("messages") or last["input"] if m.get("role") != "developer")
    assert "compaction" in str(first)
    assert "# Digest" not in _texts(last)
    assert (report.reasoning_lost, report.reasoning_dropped) == (0, 0)
    if kind == "anthropic":
        # What a compaction is made of has been sent before, and is read from the cache. OpenAI's
        # endpoint takes no tools, so what it reads begins in another way.
        assert all(each.read / each.tokens > 0.5 for each in asides)


@pytest.mark.parametrize("kind", ["anthropic", "responses"])
@pytest.mark.parametrize("ahead", [False, True])
def test_reasoning_stays_valid_behind_each_compaction(kind: str, *, ahead: bool) -> None:
    """Also behind one that was made while tools ran, and of a conversation that ends with a reply.

    Each block stands for what it was made of, though all of them say the same.
    """

    async def talk(url: str, _: ModelServer) -> None:
        session = _session()
        async with session, _decider(kind, url) as decider:
            runner = session.runner(decider)
            runner.summarize_ahead = ahead
            for number in range(8):
                await runner.run(f"Request {number}: read what part {number} needs.")

    server = _server(rounds=3)
    _run(talk, server)

    report = server.report
    assert sum(each.aside for each in report.served) > 2
    assert report.refused == {}
    assert (report.reasoning_dropped, report.reasoning_lost) == (0, 0)


def test_request_behind_results_does_not_end_the_tool_loop() -> None:
    """A turn that was broken off, and what is asked then, are one turn of the user's."""

    async def talk(url: str, _: ModelServer) -> None:
        session = _session(Continuation())
        async with session, _decider("anthropic", url) as decider:
            runner = session.runner(decider, max_turns=4)
            for number in range(8):
                result = await runner.run(f"Request {number}: read what part {number} needs.")
                assert result.exhausted

    server = _server(rounds=60)
    _run(talk, server)

    assert any("Context Summary" in _texts(each.body) for each in server.served)
    assert server.report.refused == {}


def test_every_switch_keeps_everything_and_undo_brings_it_back() -> None:
    """Anthropic (native), OpenAI (native), a local model (digest), and back, with undo at each."""
    # So large that every compaction is one that the test asks for.
    window = 10 * _WINDOW
    policy, limits = attrs.evolve(_POLICY, context_window=window), ModelLimits(window, 1_000)

    async def talk(url: str, _: ModelServer) -> None:
        session = _session(policy=policy)
        asked = 0
        async with session:
            for kind in ("anthropic", "responses", "chat", "responses", "anthropic"):
                async with _decider(kind, url, limits) as decider:
                    runner = session.runner(decider)
                    before = await session.store.full()
                    for _each in range(5):
                        await runner.run(f"Request {asked}: read what part {asked} needs.")
                        asked += 1
                    done = await session.summarize()
                    assert done.changed, done.error
                    compacted = await session.store.load()
                    made = _native(compacted)
                    assert (made is not None) == (kind != "chat")
                    assert made is None or kind in made.provider
                    await runner.run(f"Request {asked}: and now?")
                    asked += 1
                    await session.undo()
                    restored = await session.store.load()
                    assert len(restored) > len(compacted)
                    await runner.run(f"Request {asked}: go on.")
                    asked += 1
                    full = await session.store.full()
                    assert full[: len(before)] == before
            requests = [m.content for m in await session.store.full() if m.role == "user"]
        assert [text.split(":")[0] for text in requests] == [f"Request {n}" for n in range(asked)]

    server = _server(window=window)
    _run(talk, server)

    assert server.report.refused == {}


def test_refused_compaction_gives_way_to_the_readable_one() -> None:
    """The next request has the digest in its place, and the run goes on."""

    async def talk(url: str, server: ModelServer) -> None:
        session = _session()
        async with session, _decider("anthropic", url) as decider:
            runner = session.runner(decider)
            for number in range(8):
                await runner.run(f"Request {number}: read what part {number} needs.")
            assert (await session.summarize()).changed
            server._compacted.clear()  # as if it had been made long ago, or elsewhere
            result = await runner.run("And now?")
        assert result.tool_calls
        assert server.report.refused == {"signature": 1}
        assert "# Digest" in _texts(server.served[-1].body)

    _run(talk, _server())


class _Failing:
    name = "anthropic:claude-fable-5-2"

    def __init__(self, answer: Decision | Exception) -> None:
        self._answer = answer

    async def compact_natively(self, request: Input, instructions: str, /) -> Decision:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _made(block: dict[str, str], **fields: Any) -> Decision:
    payload = [{"type": "compaction", **block}]
    return Decision("", native=ProviderPayload("anthropic", payload), **fields)


@pytest.mark.parametrize(
    "answer",
    [
        RequestFailed("anthropic", 400, "compaction_nothing_to_summarize"),
        RequestFailed("anthropic", 529, "compaction_unavailable"),
        ConnectionError("no route"),
        Decision("Not a compaction."),
        Decision(""),
        _made({"content": "Half of a"}, stop_reason=StopReason.MAX_TOKENS),
        _made({"content": "and so it goes on, " * 9_000}),
        _made({"encrypted_content": "cmp_1"}, usage=Usage(input=9_000, output=8_000, reasoning=9)),
    ],
)
def test_failure_goes_to_the_next_compactor(answer: Decision | Exception) -> None:
    """And changes nothing by itself."""
    talk = [Message("user", f"Request {n}: " + "so it goes. " * 60) for n in range(40)]
    chain = first_of(ProviderCompactor(_Failing(answer)), Digest(max_tokens=600))

    done = asyncio.run(Manager(CharCounter(), chain, _POLICY).compact_if_needed(talk))

    assert done.changed
    assert done.summary is not None
    assert NativeCompaction.of_summary(done.summary) is None
    assert "ProviderCompactor" in done.fallbacks[0]
    alone = Manager(CharCounter(), ProviderCompactor(_Failing(answer)), _POLICY)
    failed = asyncio.run(alone.compact_if_needed(talk))
    assert not failed.changed
    assert failed.messages is talk
    assert failed.error is not None


def test_empty_block_is_no_compaction() -> None:
    """As the provider documents it: it means that there is no summary."""

    async def talk(url: str, _: ModelServer) -> Any:
        session = _session(first_of(ProviderCompactor(), Continuation()))
        async with session, _decider("anthropic", url) as decider:
            runner = session.runner(decider)
            for number in range(6):
                await runner.run(f"Request {number}: read what part {number} needs.")
            return await session.summarize()

    done = _run(talk, _server(summary=lambda _: ScriptedAnswer(text="")))

    assert done.changed
    assert "made no compaction" in done.fallbacks[0]


def test_runner_without_a_native_decider_uses_the_next() -> None:
    """A local model has no endpoint for it."""
    decider = type("Local", (), {"decide": lambda *_: None})()

    runner = Runner(decider, store=MemoryStore(), budget=_POLICY)

    assert runner._view.native is None


def test_list_of_dicts_begins_with_the_compaction() -> None:
    """The owner's own call asks for it, and the list stays theirs."""
    server = _server(rounds=0)
    rest = {"model": "claude-fable-5-2", "max_tokens": 500}

    class _OwnCall:
        name = "anthropic:claude-fable-5-2"

        async def compact_natively(self, request: Input, instructions: str, /) -> Decision:
            body = {**rest, **anthropic.encode_request(request.history)}
            headers = {"anthropic-beta": "compact-2026-09-04"}
            asked = {**body, "compaction": {"type": "summarize"}}
            return anthropic.decode_response(server.post("/v1/messages", asked, headers).body)

    chain = first_of(ProviderCompactor(_OwnCall()), Digest(max_tokens=600))
    talk = dicts.Conversation(anthropic, _POLICY, compactor=chain, model="claude-fable-5-2")
    items: list[Any] = []
    for number in range(16):
        items.append({"role": "user", "content": f"Request {number}: " + "please look. " * 150})
        reply = server.post("/v1/messages", {**rest, "messages": talk.fit(items)})
        assert reply.status == 200, reply.body
        talk.report(reply.body)
        items.append({"role": "assistant", "content": reply.body["content"]})

    report = server.report
    assert report.refused == {}
    assert (report.reasoning_lost, report.reasoning_dropped) == (0, 0)
    assert sum(each.aside for each in report.served) > 1
    sent = report.served[-1].body["messages"]
    assert sent[0]["content"][0]["type"] == "compaction"
    talk._list.view.model = "claude-opus-4-8"
    other = talk.fit(items)
    assert "# Digest" in str(other[0])
    assert "compaction" not in {block["type"] for each in other for block in _blocks(each)}


def _blocks(item: Any) -> list[Any]:
    return item["content"] if isinstance(item["content"], list) else []


def test_redaction_removes_what_was_made_of_the_message() -> None:
    """The provider's item may hold the secret, and nobody can look into it."""

    async def talk(url: str, _: ModelServer) -> None:
        session = _session()
        async with session, _decider("anthropic", url) as decider:
            await session.append(Message("user", f"My key is {_KEY}.", id="leak"))
            runner = session.runner(decider)
            for number in range(8):
                await runner.run(f"Request {number}: read what part {number} needs.")
            assert (await session.summarize()).changed
            assert _native(await session.store.load()) is not None
            store: Any = session.store
            await store.redact("leak", "[a key was here]", secret=_KEY)
            assert _native(await session.store.load()) is None
            result = await session.runner(decider).run("And now?")
        assert result.tool_calls
        assert _KEY not in _texts(server.served[-1].body)
        assert "compaction" not in _texts(server.served[-1].body)

    server = _server()
    _run(talk, server)
    assert server.report.refused == {}
