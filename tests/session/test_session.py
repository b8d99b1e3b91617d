import asyncio
import itertools
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic import events, truncate
from agentic.context import compactors
from agentic.context.budget import Policy
from agentic.context.compactors import Digest, Model
from agentic.context.strategies import Chain, ClearToolOutputs, KeepLast
from agentic.errors import CompactionRefused, ConfigError, NothingToRestore
from agentic.history import Archive, JsonlStore, MemoryStore
from agentic.loop import Decision
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.session import Session
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import Usage, report

NO_WINDOW = Policy(0, max_messages=30)


class _Short:
    """Summarizes in a few words, and keeps what it was asked to look at."""

    def __init__(self, summary: str = "They spoke.") -> None:
        self.summary = summary
        self.focus: list[str] = []

    async def compact(self, messages: list[Message], /) -> str:
        return self.summary

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        self.focus.append(instructions)
        return self.summary


class _Failing:
    async def compact(self, messages: list[Message], /) -> str:
        raise ConnectionError("the model is away")


def _talk(length: int, text: str = "message") -> list[Message]:
    return [Message("assistant" if n % 2 else "user", f"{text} {n}") for n in range(length)]


def _session(store: Archive | None = None, policy: Policy = NO_WINDOW, **options: Any) -> Session:
    options = {"counter": CharCounter(), "compactor": _Short(), **options}
    return Session("abc123", store or MemoryStore(), policy=policy, **options)


async def _append(session: Session, messages: Sequence[Message]) -> Session:
    for message in messages:
        await session.append(message)
    return session


async def _chat(session: Session, *texts: str, **options: Any) -> ScriptedDecider:
    decider = ScriptedDecider(*["Yes."] * len(texts))
    runner = session.runner(decider, **options)
    for text in texts:
        await runner.run(text)
    return decider


def test_ten_messages_trigger_a_lossless_summary() -> None:
    """The source's first scenario: N = 10."""
    session = _session(policy=Policy(0, max_messages=10))
    texts = [
        f"question {number}, with enough words that a summary of five pays for itself; " * 2
        for number in range(8)
    ]

    decider = asyncio.run(_chat(session, *texts))

    assert [len(request.history) for request in decider.requests] == [1, 3, 5, 7, 9, 7, 9, 11]
    assert decider.requests[5].history[0].summary is not None
    full = asyncio.run(session.store.full())
    assert [message.content for message in full[::2]] == texts
    assert asyncio.run(session.status()).messages == 5


def test_five_thousand_tokens_trigger_a_summary() -> None:
    """The source's second scenario: K = 5,000."""
    session = _session(policy=Policy(0, max_tokens=5_000))
    texts = ["long " * 500] * 12  # 625 tokens each

    decider = asyncio.run(_chat(session, *texts))

    sizes = [sum(len(m.content) // 4 for m in request.history) for request in decider.requests]
    assert max(sizes) < 5_000
    assert min(b - a for a, b in itertools.pairwise(sizes)) < -1_000
    assert len(asyncio.run(session.store.full())) == 24


def test_two_agents_have_two_settings() -> None:
    """One store each, one compactor between them, thresholds of their own."""
    quick = _session(policy=Policy(0, max_messages=15, max_tokens=32_000))
    researcher = _session(policy=Policy(0, max_messages=50, max_tokens=180_000))
    texts = [str(number) for number in range(10)]

    asyncio.run(_chat(quick, *texts))
    asyncio.run(_chat(researcher, *texts))

    statuses = [asyncio.run(each.status()) for each in (quick, researcher)]
    assert [status.summary is not None for status in statuses] == [True, False]
    assert [status.max_messages for status in statuses] == [15, 50]


def test_resuming_greets_with_what_is_there(tmp_path: Path) -> None:
    """The source's sixth scenario: 52 messages of which 25 are summarized."""
    talk, path = _talk(52), tmp_path / "abc123.jsonl"

    async def first_process() -> None:
        async with _session(JsonlStore(path), Policy(0, min_recent_messages=6)) as session:
            await _append(session, talk[:31])
            await session.summarize()
            await _append(session, talk[31:])

    async def second_process() -> tuple[str, list[Message]]:
        async with _session(JsonlStore(path)) as session:
            return await session.greeting(), await session.build_messages_for_llm("Be brief.")

    asyncio.run(first_process())
    greeting, sent = asyncio.run(second_process())

    assert greeting == "Resuming session abc123\n52 messages in history (25 summarized)"
    assert sent[1].content.startswith("[Context Summary - 25 previous messages]")
    assert [m.content for m in sent[2:]] == [m.content for m in talk[25:]]


def test_a_new_session_greets_nobody() -> None:
    """There is nothing to resume."""
    session = _session()

    assert asyncio.run(session.greeting()) == ""
    assert asyncio.run(session.build_messages_for_llm()) == []


def test_session_without_summary_greets_plainly() -> None:
    """Nothing was summarized, so nothing is said of it."""
    session = asyncio.run(_append(_session(), _talk(1)))

    assert asyncio.run(session.greeting()) == "Resuming session abc123\n1 message in history"


def test_request_is_prompt_summary_and_rest() -> None:
    """In this order; a system prompt that the history begins with is not sent twice."""
    prompt = Message("system", "Be brief.")
    session = asyncio.run(_append(_session(), [prompt, *_talk(12)]))
    asyncio.run(session.summarize(allow_growth=True))

    sent = asyncio.run(session.build_messages_for_llm("Be brief."))

    assert sent[0] == prompt
    assert sent[1].summary is not None
    assert [m.content for m in sent[2:]] == [m.content for m in _talk(12)[6:]]


def test_own_loop_gets_automatic_summaries() -> None:
    """Without a Runner, what is due is done before a request is made."""
    session = asyncio.run(_append(_session(), _talk(30)))

    prepared = asyncio.run(session.prepare("Be brief."))

    assert prepared.compaction is not None
    assert prepared.compaction.reason == "messages"
    assert len(prepared.messages) == 8
    assert len(asyncio.run(session.store.full())) == 30


def test_forced_summary_does_not_grow_context() -> None:
    """Unless it is told to; either way both sizes are told."""
    session = asyncio.run(_append(_session(), _talk(12)))

    refused = asyncio.run(session.summarize())
    grown = asyncio.run(session.summarize(allow_growth=True))

    assert not refused.changed
    assert re.search(r"larger than what it replaces \(\d+ > \d+ tokens\)", str(refused.error))
    assert (grown.changed, grown.error) == (True, None)
    assert grown.tokens_before == refused.tokens_before < grown.tokens_after


def test_unprofitable_summary_is_no_news() -> None:
    """At no turn: nobody can do anything about it, and nothing is lost."""

    class Verbose:
        async def compact(self, messages: list[Message], /) -> str:
            return "and then " * 5_000

    session = asyncio.run(_append(_session(compactor=Verbose()), _talk(30)))

    for _ in range(3):
        prepared = asyncio.run(session.prepare("Be brief."))
        assert prepared.notes == ()
        asyncio.run(_append(session, _talk(12)))
    assert len(asyncio.run(session.store.load())) == 66


def test_shortened_long_summary_says_so() -> None:
    """At most 30 % of what is available; never dropped."""
    policy = Policy(4_000, 1_000, 500)
    session = asyncio.run(_append(_session(policy=policy), _talk(6)))
    text = "first line\n" + "the parser is done\n" * 500 + "last line"
    view = [ContextSummary(text, 3, 0, 2).to_message(), *_talk(6)[3:]]
    asyncio.run(session.store.replace(view))

    prepared = asyncio.run(session.prepare("Be brief."))

    summary = prepared.messages[1]
    counted = len(summary.content) / 4 + 4
    room = 3_000 - len("Be brief.") / 4 - 4
    assert 0.28 * room < counted <= 0.3 * room
    assert summary.content.startswith("[Context Summary - 3 previous messages]")
    assert "first line" in summary.content
    assert "last line" in summary.content
    assert "[Shortened to fit: not all of this summary of" in summary.content
    assert [note.kind for note in prepared.notes] == ["summary_shortened"]
    assert asyncio.run(session.store.load()) == view


@pytest.mark.parametrize("door", ["request", "runner"])
def test_summary_past_the_history_is_ignored(door: str, caplog: pytest.LogCaptureFixture) -> None:
    """The messages themselves are sent in its place, and the log tells of it once."""
    talk = _talk(4)
    session = asyncio.run(_append(_session(), talk))
    asyncio.run(session.store.replace([ContextSummary("lost", 9, 0, 8).to_message()]))

    with caplog.at_level(logging.WARNING, "agentic.session"):
        if door == "request":
            sent = asyncio.run(session.build_messages_for_llm())
        else:
            decider = asyncio.run(_chat(session, "Go on."))
            sent = list(decider.requests[0].history[:-1])
        status = asyncio.run(session.status())

    assert sent == talk
    assert status.summary is None
    assert status.ignored_summary is not None
    assert [record.getMessage() for record in caplog.records] == [
        "a summary of messages up to number 9 is ignored: the archive has 4"
    ]


def test_recent_outputs_are_truncated_to_fit() -> None:
    """Rather than fewer than the recent messages, less of each output; and it says so."""
    talk: list[Message] = []
    for number in range(4):
        call = ToolCall(f"c{number}", "read")
        talk.append(Message("assistant", tool_calls=[call]))
        talk.append(Message("tool", tool_results=[ToolResult(call.id, "read", "x" * 4_000)]))
    policy = Policy(2_000, 500, 400, min_recent_messages=6)
    request = Message("user", "Read.")
    session = asyncio.run(_append(_session(policy=policy, auto_summarize=False), [request, *talk]))

    prepared = asyncio.run(session.prepare("Be brief."))

    assert prepared.fits
    assert [note.kind for note in prepared.notes] == ["outputs_truncated"]
    results = [result for message in prepared.messages for result in message.tool_results]
    assert [result.call_id for result in results] == ["c1", "c2", "c3"]
    assert all("are left out" in result.notice for result in results)
    assert all(len(result.output) == 1_024 for result in results)


def test_unfitting_request_says_what_overflows() -> None:
    """Never a silent overflow."""
    policy = Policy(1_000, 250, 200)
    session = asyncio.run(_append(_session(policy=policy), [Message("user", "long " * 1_000)]))

    prepared = asyncio.run(session.prepare())

    assert not prepared.fits
    assert prepared.notes[-1].kind == "over_window"
    assert "1,254 tokens of 750" in prepared.notes[-1].text
    assert "the latest request" in prepared.notes[-1].text


def test_demanded_summary_keeps_newest_and_focuses() -> None:
    """All but the six newest, with regard to what was asked."""
    compactor = _Short()
    session = asyncio.run(_append(_session(compactor=compactor), _talk(20)))

    done = asyncio.run(session.summarize("the ports"))

    assert done.changed
    assert len(done.dropped) == 14
    assert compactor.focus == ["the ports"]
    assert len(asyncio.run(session.build_messages_for_llm())) == 7


def test_without_summaries_only_view_is_cut() -> None:
    """Only on demand, and yet never over the window."""
    policy = Policy(1_000, 250, 200, max_messages=10)
    session = _session(policy=policy, auto_summarize=False)
    texts = ["long " * 100] * 12

    decider = asyncio.run(_chat(session, *texts))
    prepared = asyncio.run(session.prepare())

    sizes = [sum(len(m.content) / 4 for m in request.history) for request in decider.requests]
    assert max(sizes) <= 750
    assert prepared.fits
    assert len(asyncio.run(session.store.load())) == 24
    assert asyncio.run(session.summarize()).changed


@pytest.mark.parametrize("door", ["request", "runner", "summarize"])
def test_failing_summarizer_fails_nothing_but_reports(door: str) -> None:
    """The conversation goes on, nothing is lost, and the error is in the record or the event."""
    session = asyncio.run(_append(_session(compactor=_Failing()), _talk(30)))

    with EventRecorder("context_compaction_end") as recorder:
        if door == "request":
            notes = asyncio.run(session.prepare()).notes
            assert [note.kind for note in notes] == ["summary_failed"]
            assert "ConnectionError: the model is away" in notes[0].text
        elif door == "runner":
            asyncio.run(_chat(session, "Go on."))
        else:
            error = asyncio.run(session.summarize()).error
            assert isinstance(error, ConnectionError)

    (event,) = recorder.of(events.ContextCompactionEnd)
    assert isinstance(event.error, ConnectionError)
    assert asyncio.run(session.store.load())[:30] == _talk(30)


def test_there_may_be_nothing_to_summarize() -> None:
    """A refusal is in the record, and nothing is raised."""
    done = asyncio.run(_session().summarize())

    assert not done.changed
    assert isinstance(done.error, CompactionRefused)


def test_undo_twice_takes_two_summaries_back() -> None:
    """Each tells what it brings back; then there is nothing left."""
    session = asyncio.run(_append(_session(), _talk(20)))
    asyncio.run(session.summarize())
    asyncio.run(_append(session, _talk(10, "later")))
    asyncio.run(session.summarize())

    latest = asyncio.run(session.undo())
    assert latest.added[0].summary is not None
    assert latest.added[0].summary.generation == 2
    assert [m.content for m in latest.dropped[-4:]] == [f"later {n}" for n in range(4)]
    first = asyncio.run(session.undo())
    assert [m.content for m in first.dropped] == [m.content for m in _talk(14)]

    assert asyncio.run(session.build_messages_for_llm()) == [*_talk(20), *_talk(10, "later")]
    with pytest.raises(NothingToRestore):
        asyncio.run(session.undo())


def test_undo_delays_the_next_automatic_summary() -> None:
    """N waits until the history has grown by a quarter, or somebody asks."""
    session = asyncio.run(_append(_session(), _talk(30)))
    assert asyncio.run(session.prepare()).compaction is not None

    asyncio.run(session.undo())

    assert not asyncio.run(session.status()).will_trigger
    assert asyncio.run(session.prepare()).compaction is None
    asyncio.run(_chat(session, "one", "two", "three"))
    assert len(asyncio.run(session.store.load())) == 36
    asyncio.run(_chat(session, "four", "five"))
    assert len(asyncio.run(session.store.load())) < 20


def test_summary_on_demand_works_after_undo() -> None:
    """On demand there is no waiting, and afterwards the triggers count again."""
    session = asyncio.run(_append(_session(), _talk(30)))
    asyncio.run(session.summarize())
    asyncio.run(session.undo())

    assert asyncio.run(session.summarize()).changed
    asyncio.run(_append(session, _talk(28, "later")))

    assert asyncio.run(session.status()).will_trigger


def test_appends_during_slow_summary_stay_visible() -> None:
    """A summary that takes its time hides nothing that was said meanwhile."""
    waiting, go_on = asyncio.Event(), asyncio.Event()

    class _Slow:
        async def compact(self, messages: list[Message], /) -> str:
            waiting.set()
            await go_on.wait()
            return "They spoke."

    async def talk() -> list[Message]:
        session = await _append(_session(compactor=_Slow()), _talk(20))
        summary = asyncio.create_task(session.summarize())
        await waiting.wait()
        await session.append(Message("user", "Meanwhile."))
        go_on.set()
        await summary
        return await session.build_messages_for_llm()

    sent = asyncio.run(talk())

    assert sent[0].summary is not None
    assert sent[-1].content == "Meanwhile."


def test_strategies_change_view_not_history() -> None:
    """As in a Runner; a plain callable is closed for the provider."""
    session = _session(strategies=[KeepLast(2), lambda messages: messages[-1:]])
    asyncio.run(_append(session, _talk(9)))

    assert asyncio.run(session.build_messages_for_llm()) == _talk(9)[-1:]
    assert len(asyncio.run(session.store.load())) == 9


def test_session_runner_keeps_truncated_outputs() -> None:
    """The store of the session is an OutputStore, and the runner uses it as one."""
    session = _session()
    call = ToolCall("c1", "read")
    runner = session.runner(
        ScriptedDecider(Decision("", [call]), "Done."),
        ScriptedExecutor({"read": "one\ntwo\nthree"}),
        truncation=truncate.Options(max_lines=1),
    )

    result = asyncio.run(runner.run("Read it.")).tool_results[0]

    assert result.ref is not None
    assert asyncio.run(MemoryStore.get(session.store, result.ref)) == "one\ntwo\nthree"  # type: ignore[arg-type]


def test_placeholders_name_the_models_recall_tool() -> None:
    """A model that has no such tool is not sent to it; one in a chain counts, too."""
    clear = ClearToolOutputs(60, keep_rounds=0, min_tokens=0)
    call = Message("assistant", tool_calls=[ToolCall("c1", "read")])
    answer = Message("tool", tool_results=[ToolResult("c1", "read", "x" * 1_000)])
    sent = []
    for recall in (False, True):
        session = _session(strategies=[Chain([clear])], recall=recall)
        asyncio.run(_append(session, [Message("user", "Read."), call, answer]))
        sent.append(asyncio.run(session.build_messages_for_llm())[-1])

    before, after = sent

    assert "Call it again if you need them." in before.tool_results[0].notice
    assert 'Read them again: recall(ref="c1")' in after.tool_results[0].notice


def test_leaving_a_session_leaves_its_store(tmp_path: Path) -> None:
    """The file's lock is given back, so that the next process can write."""
    path = tmp_path / "s.jsonl"

    async def say(text: str) -> int:
        async with _session(JsonlStore(path)) as session:
            await session.append(Message("user", text))
            return len(await session.build_messages_for_llm())

    assert asyncio.run(say("one")) == 1
    assert asyncio.run(say("two")) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"policy": 3.5},
        {"compactor": "digest"},
        {"counter": len},
        {"auto_summarize": "no"},
        {"strategies": KeepLast},
        {"strategies": 3},
        {"store": object()},
    ],
)
def test_unfit_part_is_refused_at_once(options: dict[str, Any]) -> None:
    """Found where it is made, with what was given, what is allowed and what to do."""
    with pytest.raises(ConfigError, match=r"(?s)^.+ must be .+, got .+; .+"):
        _session(**options)


@pytest.mark.parametrize("name", ["store", "budget", "strategies"])
def test_runner_refuses_what_session_brings(name: str) -> None:
    """Two stores, or two budgets, cannot be meant."""
    with pytest.raises(ConfigError, match="is provided by the session itself"):
        _session().runner(ScriptedDecider(), **{name: None})


def test_production_compactors_fit() -> None:
    """The digest and a model, as they are used in earnest."""
    for compactor in (Digest(), Model(_answer, window=8_000)):
        session = asyncio.run(_append(_session(compactor=compactor), _talk(30, "fact " * 30)))

        assert asyncio.run(session.summarize("facts")).changed


async def _answer(prompt: str) -> str:
    assert "facts" in prompt
    return "## Topics\nFacts were told."


def test_usage_of_summary_is_reported() -> None:
    """By `prepare`, on demand, and by a Runner of the session, each for its own."""

    async def ask(_: str) -> str:
        report(Usage(input=100, output=20))
        return "They spoke."

    async def use() -> list[Usage]:
        compactor = compactors.first_of(compactors.with_digest(Model(ask)), Digest())
        session = _session(compactor=compactor)
        await _append(session, _talk(40, "a message that is worth a summary " * 9))
        prepared = await session.prepare()
        assert prepared.compaction is not None
        await _append(session, _talk(20, "one more " * 40))
        asked_for = await session.summarize()
        await _append(session, _talk(40, "and another " * 40))
        result = await session.runner(ScriptedDecider("Done.")).run("hi")
        return [prepared.compaction.usage, asked_for.usage, result.usage]

    assert asyncio.run(use()) == [Usage(input=100, output=20, total=120)] * 3
