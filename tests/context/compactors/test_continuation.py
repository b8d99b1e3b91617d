"""A summary request that extends the last request: when it is made, and what is refused."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from agentic._base import _clock
from agentic.bridges import dicts
from agentic.context.budget import Compaction, Policy
from agentic.context.compactors import Continuation, Digest
from agentic.context.view import View
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, openai_chat, openai_responses
from agentic.session import Session
from agentic.testing import AgentScript, ModelServer, ScriptedAnswer, ScriptedDecider
from agentic.tokens import CharCounter
from agentic.usage import StopReason, Usage

_POLICY = Policy(5_000, reserve_tokens=2_000, keep_recent_tokens=500, min_recent_messages=2)
_SUMMARY = "## Done\nThe parser was mended."


class _Model:
    """Answers requests for a summary, and keeps what it was asked."""

    def __init__(self, answer: Decision | Exception | None = None) -> None:
        self.asked: list[Input] = []
        self._answer = answer or Decision(_SUMMARY, usage=Usage(input=9, cache_read=8, output=2))

    async def ask(self, request: Input) -> Decision:
        self.asked.append(request)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _same(time: datetime) -> datetime:
    return time


def _talk(turns: int) -> list[Message]:
    return [
        message
        for turn in range(turns)
        for message in (
            Message("user", f"user {turn}: " + "so it goes. " * 20),
            Message("assistant", f"assistant {turn}: " + "so it goes. " * 20),
        )
    ]


def _view(compactor: Any, **options: Any) -> View:
    options = {"model": "claude-opus-4-8", **options}
    return View(_POLICY, counter=CharCounter(), compactor=compactor, **options)


def _compact(view: View, turns: int = 25) -> Compaction:
    """Let a conversation grow beyond the window; return the first compaction."""
    talk = _talk(turns)
    for length in range(1, len(talk), 2):
        done = view.prepare_sync(talk[:length], system_prompt="Be brief.").compaction
        if done is not None:
            return done
    raise AssertionError("nothing was compacted")


def test_request_extends_the_last_one() -> None:
    """All that was sent, what followed it, and one message between the same two sentences."""
    model = _Model()
    view = _view(Continuation(model.ask))
    sent: list[list[Message]] = []
    talk = _talk(25)

    for length in range(1, len(talk), 2):
        prepared = view.prepare_sync(talk[:length], system_prompt="Be brief.")
        if prepared.compaction is not None:
            break
        sent.append(prepared.messages.copy())

    (request,) = model.asked
    assert list(request.history[: len(sent[-1])]) == sent[-1]
    assert list(request.history[len(sent[-1]) : -1]) == talk[len(sent[-1]) : length]
    assert request.system_prompt == "Be brief."
    text = request.history[-1].content
    assert text == request.user_message
    first, last = text.split("\n")[0], text.split("\n")[-1]
    assert first == last == "Answer with text only. Do not call any tool: no call is carried out."
    done = prepared.compaction
    assert done is not None
    assert done.summary is not None
    assert done.summary.content == _SUMMARY


def test_usage_is_reported_with_cached_tokens_apart() -> None:
    """Whoever pays sees that most of it was read from the cache."""
    done = _compact(_view(Continuation(_Model().ask)))

    assert done.usage.cache_read == 8
    assert done.usage.output == 2
    assert done.fallbacks == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Decision(tool_calls=[ToolCall("c1", "read")]), "the model called read"),
        (Decision(""), "empty"),
        (Decision("", reasoning="Hm."), "only reasoned"),
        (Decision("## Done\nThe par", stop_reason=StopReason.MAX_TOKENS), "max_tokens"),
        (Decision("I'm sorry, but no."), "refused"),
        (Decision("so it goes. " * 9_000), "longer than what it replaces"),
        (ConnectionError("no route"), "no route"),
    ],
)
def test_refused_answer_goes_to_the_fallback(answer: Decision | Exception, reason: str) -> None:
    """Nothing of it is kept, and it says why."""
    done = _compact(_view(Continuation(_Model(answer).ask, fallback=Digest(max_tokens=300))))

    assert done.changed
    assert done.summary is not None
    assert done.summary.content.startswith("# Digest")
    assert len(done.fallbacks) == 1
    assert reason in done.fallbacks[0]


def test_without_fallback_nothing_changes() -> None:
    """As in a chain, where the next compactor is tried."""
    done = _compact(_view(Continuation(_Model(Decision("")).ask, fallback=None)))

    assert not done.changed
    assert done.error is not None


def test_standard_fallback_asks_anew_then_digests() -> None:
    """The second request has a prompt of its own; if that fails, no model is needed."""
    model = _Model(Decision(tool_calls=[ToolCall("c1", "read")]))
    done = _compact(_view(Continuation(model.ask)))

    assert [len(request.history) > 1 for request in model.asked] == [True, False]
    assert done.summary is not None
    assert done.summary.content.startswith("# Digest")
    assert len(done.fallbacks) == 2


def test_expired_cache_is_not_extended() -> None:
    """All of it would have to be paid again."""
    model = _Model()
    view = _view(Continuation(model.ask))
    clock = datetime(2026, 11, 27, 12, tzinfo=UTC)
    talk = _talk(25)

    for length in range(1, len(talk), 2):
        with _clock.use_clock(partial(_same, clock)):
            done = view.prepare_sync(talk[:length]).compaction
        clock += timedelta(minutes=5)
        if done is not None:
            break

    assert done is not None
    assert "expired" in done.fallbacks[0]
    assert {len(request.history) for request in model.asked} == {1}


def test_after_a_restart_the_replies_tell_the_age() -> None:
    """A process does not know when another one sent its last request."""
    clock = datetime(2026, 11, 27, 12, tzinfo=UTC)
    for minutes, extends in ((1, True), (9, False)):
        model, talk = _Model(), _talk(25)
        first = _view(Continuation(model.ask))
        length = 1
        while first.prepare_sync(talk[:length]).compaction is None and length < 20:
            length += 2
        talk[length] = talk[length].replace(timestamp=clock)
        view = _view(Continuation(model.ask), state=first.state())

        with _clock.use_clock(partial(_same, clock + timedelta(minutes=minutes))):
            done = asyncio.run(view.compact(talk[: length + 2]))

        assert done.changed, done.error
        assert (done.fallbacks == ()) is extends


def test_another_model_is_not_extended() -> None:
    """Its cache holds nothing of it."""
    model = _Model()
    view = _view(Continuation(model.ask))
    talk = _talk(8)
    view.prepare_sync(talk[:-1])
    view.model = "gpt-5"

    done = asyncio.run(view.compact(talk))

    assert "was for claude-opus-4-8, and the next one is for gpt-5" in done.fallbacks[0]


def test_open_round_is_left_out() -> None:
    """A request with a call that has no result would be refused; what precedes it is cached."""
    model = _Model()
    view = _view(Continuation(model.ask))
    talk = [*_talk(8), Message("user", "Read on.")]
    view.prepare_sync(talk)
    talk.append(Message("assistant", tool_calls=[ToolCall("c1", "read"), ToolCall("c2", "read")]))
    talk.append(Message("tool", tool_results=[ToolResult("c1", "read", "x = 1")]))

    done = asyncio.run(view.compact(talk))

    assert done.fallbacks == ()
    assert model.asked[-1].history[:-1] == tuple(talk[:-2])
    assert done.messages[-2:] == talk[-2:]


def test_full_window_is_not_extended() -> None:
    """The reserve of the policy is what leaves room for it."""
    model = _Model()
    policy = Policy(4_000, reserve_tokens=100, keep_recent_tokens=500, min_recent_messages=2)
    view = View(policy, counter=CharCounter(), compactor=Continuation(model.ask))

    done = _compact(view, 40)

    assert "has no room" in done.fallbacks[0]


def _noticing(body: Mapping[str, Any]) -> bool:
    return "about to be left out" in str(body)[-4_000:]


_WIRES = [
    pytest.param(anthropic, "/v1/messages", "messages", "claude-fable-5-2", id="anthropic"),
    pytest.param(openai_chat, "/v1/chat/completions", "messages", "gpt-5", id="chat"),
    pytest.param(openai_responses, "/v1/responses", "input", "gpt-6.2-sol", id="responses"),
]


@pytest.mark.parametrize(("wire", "path", "key", "model"), _WIRES)
@pytest.mark.parametrize("complete", [True, False])
def test_owner_of_dicts_asks_by_their_own_call(
    wire: Any, path: str, key: str, model: str, *, complete: bool
) -> None:
    """The server reads nearly all of the summary request from its cache."""
    server = ModelServer(
        script=AgentScript(turns=60, rounds=0), aside=_noticing, window=16_000, strict=True
    )
    rest: dict[str, Any] = {"model": model, "max_tokens": 500}
    rest |= {"cache_control": {"type": "ephemeral"}} if wire is anthropic else {}

    def ask(request: Any) -> Any:
        body = request if complete else {**rest, key: request}
        return server.post(path, body).body

    talk = dicts.Conversation(wire, Policy(16_000), compactor=Continuation(ask), model=model)
    items: list[Any] = []
    summaries = 0
    for turn in range(40):
        items.append({"role": "user", "content": f"Request {turn}: " + "please look. " * 120})
        body = {**rest, key: items}
        sent = talk.fit_request(body) if complete else {**rest, key: talk.fit(items)}
        reply = server.post(path, sent)
        assert reply.status == 200, reply.body
        talk.report(reply.body)
        items += (
            reply.body.get("output") or [reply.body.get("choices", [{}])[0].get("message")]
            if wire is not anthropic
            else [{"role": "assistant", "content": reply.body["content"]}]
        )
        assert talk.latest is not None
        if talk.latest.compaction is not None:
            summaries += 1
            assert talk.latest.compaction.fallbacks == ()

    asides = [each for each in server.served if each.aside]
    assert summaries == len(asides) > 0
    assert server.report.refused == {}
    for each in asides:
        assert each.read / each.tokens > 0.9


def test_concurrent_calls_ask_with_their_own_request() -> None:
    """A second call may begin while the first one is about to ask for its summary."""
    asked: list[dict[str, Any]] = []

    async def ask(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"choices": [{"message": {"role": "assistant", "content": _SUMMARY}}]}

    talk = dicts.Conversation(openai_chat, _POLICY, compactor=Continuation(), ask=ask)
    roles = ("user", "assistant")
    items = [{"role": roles[n % 2], "content": f"{n}: " + "so it goes. " * 20} for n in range(49)]

    def request(user: str, length: int, model: str = "gpt-4.1") -> dict[str, Any]:
        return {"model": model, "user": user, "messages": items[:length]}

    async def run() -> None:
        for length in range(1, 40, 2):
            talk.fit_request(request("nobody", length))
        one = talk.fit_request_async(request("one", 49))
        other = talk.fit_request_async(request("other", 3, "gpt-4.1-mini"))
        alone = talk.fit_async(items[:5])
        for user, sent in zip(("one", "other"), await asyncio.gather(one, other), strict=True):
            assert sent["user"] == user
        await alone

    asyncio.run(run())

    assert [each.get("user") for each in asked] == ["one"]
    assert asked[0]["model"] == "gpt-4.1"
    assert len(asked[0]["messages"]) > 20


def test_runner_with_a_bare_policy_asks_its_decider() -> None:
    """One argument: the decider that runs the agent also writes its summaries."""
    asked: list[Input] = []

    class _Decider:
        name = "anthropic:claude-opus-4-8"

        async def decide(self, request: Input, /) -> Decision:
            asked.append(request)
            if "about to be left out" in request.user_message:
                return Decision(_SUMMARY)
            return Decision("so it goes. " * 40)

    runner = Runner(_Decider(), store=MemoryStore(), budget=_POLICY)

    async def run() -> Any:
        for turn in range(30):
            result = await runner.run(f"Request {turn}: " + "please look. " * 20)
            if result.summary is not None:
                return result
        raise AssertionError("nothing was compacted")

    result = asyncio.run(run())

    assert result.summary.content == _SUMMARY
    summary_request = next(each for each in asked if "left out" in each.user_message)
    before = asked[asked.index(summary_request) - 1]
    assert summary_request.history[: len(before.history)] == before.history
    assert summary_request.tools == before.tools


def test_session_asks_the_decider_of_its_runner() -> None:
    """Without a Runner, its summaries are digests."""
    decider = ScriptedDecider(*[Decision("so it goes. " * 40)] * 8, *[Decision(_SUMMARY)] * 2)

    async def talk(*, with_runner: bool) -> Any:
        session = Session("s1", MemoryStore(), counter=CharCounter(), policy=_POLICY)
        for message in _talk(4):
            await session.append(message)
        if with_runner:
            runner = session.runner(decider)
            for turn in range(8):
                await runner.run(f"Request {turn}")
        return await session.summarize()

    asked, digest = asyncio.run(talk(with_runner=True)), asyncio.run(talk(with_runner=False))

    assert asked.summary.content == _SUMMARY
    assert digest.summary.content.startswith("# Digest")


def test_scripted_answer_can_be_cut_off() -> None:
    """By the word of each wire, as the deciders read it."""
    for each in _WIRES:
        values: Any = each.values
        wire, path, key, model = values
        server = ModelServer(script=lambda _: ScriptedAnswer(text="So", truncated=True))
        body = {"model": model, "max_tokens": 9, key: [{"role": "user", "content": "Why?"}]}

        decision = wire.decode_response(server.post(path, body).body)

        assert decision.stop_reason is StopReason.MAX_TOKENS
