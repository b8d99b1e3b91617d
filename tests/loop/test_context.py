import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic import events
from agentic.context.budget import Compactor, Manager, Policy
from agentic.context.compactors import Digest, Model
from agentic.context.strategies import FitContextWindow
from agentic.errors import CompactionRefused, ContextOverflow
from agentic.history import JsonlStore, MemoryStore
from agentic.loop import Decision, Input, Request, RunLimit, RunLimits, Runner
from agentic.messages import ContextSummary, Media, Message, ToolCall
from agentic.messages._landmarks import find_task
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter, count_tokens
from agentic.usage import Usage, report

_COUNTER = CharCounter()
_OVERFLOW = ContextOverflow("tiny")


def _session(messages: int = 10, tokens: int = 200) -> MemoryStore:
    """Make a store with a conversation of so many messages of about this size."""
    store = MemoryStore()
    for number in range(messages):
        role: Any = "assistant" if number % 2 else "user"
        asyncio.run(store.append(Message(role, f"{number} " + "word" * tokens)))
    return store


def _budget(compactor: Compactor | None, **policy: Any) -> Manager:
    return Manager(_COUNTER, compactor, Policy(**{"context_window": 1_000, **policy}))


class _Answering:
    """A compactor that plays one answer, and counts how often it was asked."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.asked = answer, 0

    async def compact(self, messages: list[Message], /) -> str:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class _Hanging:
    async def compact(self, messages: list[Message], /) -> str:
        await asyncio.Event().wait()
        raise NotImplementedError


# strategies: what is seen, and what is kept


def test_strategy_changes_view_not_history() -> None:
    """The model sees less, the store and the result hold everything."""
    store, decider = _session(), ScriptedDecider("Done.")
    strategy = FitContextWindow(700, low_watermark=1.0)

    result = Runner(decider, store=store, strategies=[strategy]).run_sync("hi")

    (request,) = decider.requests
    assert count_tokens(request.history) <= 700
    assert len(result.history) == len(asyncio.run(store.load())) == 12
    assert list(request.history) == strategy.compact(list(result.history[:-1]))


def test_ordered_strategies_may_be_plain_callables() -> None:
    """Each gets what the one before gave."""
    decider = ScriptedDecider("Done.")
    first: Callable[[list[Message]], list[Message]] = lambda messages: messages[-3:]  # noqa: E731
    seen: list[int] = []

    def second(messages: list[Message]) -> list[Message]:
        seen.append(len(messages))
        return messages[1:]

    Runner(decider, store=_session(), strategies=[first, second]).run_sync("hi")

    assert seen == [3]
    assert len(decider.requests[0].history) == 2


@pytest.mark.parametrize("unchanged", [lambda messages: messages, lambda messages: messages[:]])
def test_view_equalling_history_is_no_change(
    unchanged: Callable[[list[Message]], list[Message]],
) -> None:
    """`context_changed` is told only when a strategy changed the view; an equal list is none."""
    with EventRecorder("context_changed") as recorder:
        Runner(ScriptedDecider("a"), strategies=[unchanged]).run_sync("hi")
        Runner(ScriptedDecider("b"), store=_session(), strategies=[lambda _: _[1:]]).run_sync("hi")

    (event,) = recorder.of(events.ContextChanged)
    assert (event.messages_before, event.messages_after) == (11, 10)


def test_careless_callable_leaves_the_history_alone() -> None:
    """A strategy sees a list of its own, so a careless one loses nothing."""

    def careless(messages: list[Message]) -> list[Message]:
        del messages[:-1]
        return messages

    decider, store = ScriptedDecider("Done."), _session()

    result = Runner(decider, store=store, strategies=[careless]).run_sync("hi")

    assert len(decider.requests[0].history) == 1
    assert len(result.history) == 12


# compaction: when it is due, and what becomes of it


def test_full_context_is_compacted_before_decision() -> None:
    """The model sees the summary and what is recent; the store holds them too, and all in full."""
    store, decider = _session(), ScriptedDecider("Done.")

    budget = _budget(Digest(max_tokens=200))

    result = Runner(decider, store=store, budget=budget).run_sync("hi")

    sent = decider.requests[0].history
    assert result.summary is not None
    assert sent[0].summary == result.summary
    assert count_tokens(sent) <= 750
    assert asyncio.run(store.load()) == list(result.history)
    assert len(asyncio.run(store.full())) == 12


def test_every_decision_checks_the_budget() -> None:
    """A tool output that fills the window is compacted away within the run."""
    calls = [Decision("", [ToolCall(f"c{n}", "t")]) for n in range(6)]
    decider = ScriptedDecider(*calls, "Done.")
    executor = ScriptedExecutor({"t": "word" * 300})

    result = Runner(decider, executor, budget=_budget(_Answering("so far"))).run_sync("hi")

    assert result.summary is not None
    assert result.summary.generation > 1
    assert max(count_tokens(request.history) for request in decider.requests) <= 750
    assert all(request.history[-1].tool_results for request in decider.requests[1:])


@pytest.mark.parametrize(
    ("compactor", "error"),
    [
        (_Answering(OSError("no model")), OSError),
        (_Answering("  "), CompactionRefused),
        (_Answering("word" * 5_000), type(None)),  # no failure, but of no use
        (_Hanging(), TimeoutError),
    ],
)
@pytest.mark.usefixtures("idle_clock")
def test_failed_compaction_still_sends_fitting_request(
    compactor: Compactor, error: type[Exception]
) -> None:
    """The history is untouched, the event has the error, and the view is cut to the window."""
    store, decider = _session(), ScriptedDecider("Done.")
    budget = _budget(compactor, timeout_seconds=0.05)

    with EventRecorder("context_compaction_end") as recorder:
        result = Runner(decider, store=store, budget=budget).run_sync("hi")

    (end,) = recorder.of(events.ContextCompactionEnd)
    assert isinstance(end.error, error)
    assert (result.summary, result.reply) == (None, "Done.")
    assert asyncio.run(store.load()) == asyncio.run(store.full()) == list(result.history)
    assert count_tokens(decider.requests[0].history) <= 750


def test_window_filling_summary_is_shown_partly() -> None:
    """It pays for itself, but no request would fit beside it; nothing of it is lost."""
    store, decider = _session(), ScriptedDecider("Done.")
    budget = _budget(_Answering("word" * 760))

    result = Runner(decider, store=store, budget=budget).run_sync("hi")

    sent = decider.requests[0].history
    assert result.summary is not None
    assert asyncio.run(store.load())[0].summary == result.summary
    assert "Shortened to fit" in sent[0].content
    assert count_tokens(sent) <= 750


def test_ever_failing_compactor_ends_no_run() -> None:
    """Turn after turn fits the window, with the task in it, and the archive is whole."""
    calls = [Decision("", [ToolCall(f"c{n}", "t")]) for n in range(30)]
    store, decider = MemoryStore(), ScriptedDecider(*calls, "Done.")
    compactor = _Answering(OSError("no model"))
    executor = ScriptedExecutor({"t": "word" * 100})

    result = Runner(decider, executor, store, _budget(compactor)).run_sync("The task.")

    assert result.reply == "Done."
    assert max(count_tokens(request.history) for request in decider.requests) <= 750
    assert all(request.history[0].content == "The task." for request in decider.requests)
    assert len(asyncio.run(store.full())) == len(result.history) == 62
    assert 1 < compactor.asked < 31


def test_unreplaceable_store_keeps_the_history() -> None:
    """A compaction that could not be stored has not happened."""

    class Fixed(MemoryStore):
        async def replace(self, messages: Any) -> None:
            raise OSError("read-only")

    store, decider = Fixed(), ScriptedDecider("Done.")
    for message in asyncio.run(_session().load()):
        asyncio.run(store.append(message))

    with EventRecorder("context_compaction_end") as recorder:
        result = Runner(decider, store=store, budget=_budget(Digest(max_tokens=200))).run_sync("hi")

    assert isinstance(recorder.of(events.ContextCompactionEnd)[0].error, OSError)
    assert (result.summary, len(result.history)) == (None, 12)
    assert count_tokens(decider.requests[0].history) <= 750


def test_file_session_survives_compaction_and_resume(tmp_path: Path) -> None:
    """A later process goes on from the summary; the archive and its undo have everything."""

    async def talk(number: int) -> list[Message]:
        async with JsonlStore(tmp_path / "session.jsonl") as store:
            runner = Runner(
                ScriptedDecider("word" * 150), store=store, budget=_budget(Digest(max_tokens=200))
            )
            await runner.run(f"Request {number}: " + "word" * 50)
            return await store.full()

    for number in range(8):
        archive = asyncio.run(talk(number))

    history = asyncio.run(JsonlStore(tmp_path / "session.jsonl").load())
    assert len(archive) == 16
    assert history[0].summary is not None
    assert len(history) < 16
    assert history[-2:] == archive[-2:]


# overflow: the provider says that it is too much


def test_overflow_leads_to_one_smaller_request() -> None:
    """The compaction is forced, the second request strictly smaller, and the run goes on."""
    store, decider = _session(), ScriptedDecider(_OVERFLOW, "Done.")
    budget = _budget(_Answering("so far"), context_window=100_000)

    with EventRecorder("context_compaction_end") as recorder:
        result = Runner(decider, store=store, budget=budget).run_sync("hi")

    first, second = (count_tokens(request.history) for request in decider.requests)
    assert second < first
    assert [end.reason for end in recorder.of(events.ContextCompactionEnd)] == ["force"]
    assert result.reply == "Done."
    assert result.summary is not None


@pytest.mark.parametrize(
    "compactor", [None, _Answering(OSError("no model")), _Answering("word" * 5_000)]
)
def test_overflow_shrinks_whatever_compactor_does(
    compactor: Compactor | None,
) -> None:
    """Without a summary, or with a longer one, the view is cut; the request stays in it."""
    decider = ScriptedDecider(_OVERFLOW, "Done.")
    budget = _budget(compactor, context_window=100_000)

    Runner(decider, store=_session(), budget=budget).run_sync("hi")

    first, second = (request.history for request in decider.requests)
    assert count_tokens(second) < count_tokens(first)
    assert second[-1].content == "hi"


def test_overflow_refuses_a_longer_summary() -> None:
    """A forced summary that is longer than what it replaces is refused."""
    store, decider = _session(), ScriptedDecider(_OVERFLOW, "Done.")
    budget = _budget(_Answering("word" * 5_000), context_window=100_000)

    result = Runner(decider, store=store, budget=budget).run_sync("hi")

    assert result.summary is None
    assert asyncio.run(store.load()) == asyncio.run(store.full())


@pytest.mark.parametrize("budget", [None, Manager()])
def test_refused_images_are_left_out_once(budget: Manager | None) -> None:
    """The provider stated how many it takes, and no summary is made for their sake."""
    decider = ScriptedDecider(ContextOverflow("tiny", 12, 8, "images"), "Done.")
    photos = [Media("image/png", bytes([n])) for n in range(12)]
    history = [Message("user", "Look.", media=photos), Message("assistant", "Seen.")]
    store = MemoryStore()
    for message in history:
        asyncio.run(store.append(message))

    result = Runner(decider, store=store, budget=budget).run_sync("And now?")

    assert (result.reply, result.summary) == ("Done.", None)
    assert [len(each.history[0].media) for each in decider.requests] == [12, 6]


def test_a_second_overflow_ends_the_run() -> None:
    """There is one retry, not a third request."""
    decider = ScriptedDecider(_OVERFLOW, ContextOverflow("tiny", 9, 8), "never")
    budget = _budget(_Answering("so far"), context_window=100_000)

    with EventRecorder("agent_end") as recorder, pytest.raises(ContextOverflow, match="accepts 8"):
        Runner(decider, store=_session(), budget=budget).run_sync("hi")

    assert decider.steps_left == 1
    assert isinstance(recorder.of(events.AgentEnd)[0].error, ContextOverflow)


@pytest.mark.parametrize("budget", [None, Manager()])
def test_overflow_without_budget_ends_run(budget: Manager | None) -> None:
    """Nothing may be left out that nobody can measure."""
    decider = ScriptedDecider(_OVERFLOW, "never")

    with pytest.raises(ContextOverflow):
        Runner(decider, store=_session(), budget=budget).run_sync("hi")

    assert decider.steps_left == 1


def test_unshrinkable_request_is_not_repeated() -> None:
    """One message that is too large ends the run without a second request."""
    decider = ScriptedDecider(_OVERFLOW, "never")
    budget = _budget(_Answering("so far"), context_window=100_000)

    with pytest.raises(ContextOverflow):
        Runner(decider, budget=budget).run_sync("word" * 1_000)

    assert decider.steps_left == 1


def test_reply_after_overflow_begins_once() -> None:
    """A display sees one message begin and end, whatever it took."""
    decider = ScriptedDecider(_OVERFLOW, "Done.")
    budget = _budget(_Answering("so far"), context_window=100_000)

    with EventRecorder("message_start", "message_end") as recorder:
        Runner(decider, store=_session(), budget=budget).run_sync("hi")

    assert recorder.names == ["message_start", "message_end"] * 2


# measuring


def test_providers_reported_size_counts() -> None:
    """A provider that counts more than the counter triggers the compaction."""
    store = _session(messages=8, tokens=50)
    call = Decision("", [ToolCall("c1", "t")], Usage(input=5_000, output=10))
    decider, executor = ScriptedDecider(call, "Done."), ScriptedExecutor({"t": ""})
    budget = _budget(_Answering("so far"), context_window=4_000)

    with EventRecorder("context_compaction_end", "turn_start") as recorder:
        Runner(decider, executor, store, budget).run_sync("hi")

    assert recorder.names == ["turn_start", "context_compaction_end", "turn_start"]
    assert recorder.of(events.ContextCompactionEnd)[0].reason == "window"


def test_size_is_exact_after_first_call() -> None:
    """What the loop says it sends is within a percent of what the provider then counts."""

    def provider(messages: Sequence[Message]) -> int:
        return round(1.3 * count_tokens(messages))

    def decide(request: Input) -> Decision:
        calls = [ToolCall(f"c{request.turn}", "t")] if request.turn < 20 else []
        used = Usage(500 + provider(request.history), provider([Message("assistant", "I look.")]))
        return Decision("I look.", calls, used)

    decider = ScriptedDecider(*[decide] * 20)
    executor = ScriptedExecutor({"t": lambda call: f"{call.id} " + "word" * 300})
    budget = _budget(None, context_window=100_000)

    with EventRecorder("turn_start", "turn_end") as recorder:
        Runner(decider, executor, budget=budget).run_sync("hi")

    said = [turn.context_tokens or 0 for turn in recorder.of(events.TurnStart)]
    counted = [turn.usage.input for turn in recorder.of(events.TurnEnd)]
    off = [abs(a - b) / b for a, b in zip(said, counted, strict=True)]
    assert max(off[2:]) < 0.01


def test_reported_size_counts_in_next_run() -> None:
    """With a store the runs are one conversation, and its size is known from the start."""
    decider = ScriptedDecider(Decision("1234", usage=Usage(input=500, output=20)), "Done.")
    runner = Runner(decider, store=MemoryStore(), budget=_budget(None))

    runner.run_sync("1234")
    with EventRecorder("turn_start") as recorder:
        runner.run_sync("1234")

    assert recorder.of(events.TurnStart)[0].context_tokens == 500 + 20 + 5


def test_cut_view_stays_until_full() -> None:
    """Though the measure moves with every report, most requests begin as the one before did."""

    def decide(request: Input) -> Decision:
        tokens = round((1.2 + request.turn % 3 / 20) * count_tokens(request.history)) + 50
        calls = [ToolCall(f"c{request.turn}", "t")] if request.turn < 100 else []
        return Decision("", calls, Usage(input=tokens, output=5))

    decider = ScriptedDecider(*[decide] * 100)
    executor = ScriptedExecutor({"t": "word" * 50})

    Runner(decider, executor, budget=_budget(None, context_window=3_000), max_turns=100).run_sync(
        "hi"
    )

    views = [request.history for request in decider.requests]
    kept = sum(after[: len(before)] == before for before, after in itertools.pairwise(views))
    assert kept > 80


def test_without_store_requests_teach_nothing() -> None:
    """What a provider reported with one system prompt does not shrink another conversation."""
    earlier = [Message("user", "word" * 100), Message("assistant", "word" * 100)] * 2
    decider = ScriptedDecider(Decision("a", usage=Usage(input=900, output=1)), "b")
    runner = Runner(decider, budget=_budget(None))

    runner.run_sync(Request("hi", "word" * 600))
    runner.run_sync(Request("hi", history=earlier))

    assert len(decider.requests[1].history) == 5


def test_system_prompt_and_tools_count() -> None:
    """What is sent beside the messages takes its part of the window."""
    decider, executor = ScriptedDecider("Done."), ScriptedExecutor({"t": ""})
    budget = Manager(_COUNTER)

    with EventRecorder("turn_start") as recorder:
        Runner(decider, executor, budget=budget, system_prompt="word" * 100).run_sync("1234")

    (turn,) = recorder.of(events.TurnStart)
    assert turn.context_tokens is not None
    assert turn.context_tokens > 100 + count_tokens(decider.requests[0].history)


def test_compaction_leaves_room_for_overhead() -> None:
    """With a long system prompt less of the conversation stays."""
    store, decider = _session(messages=20, tokens=100), ScriptedDecider("Done.")
    runner = Runner(
        decider, store=store, budget=_budget(_Answering("so far")), system_prompt="word" * 400
    )

    runner.run_sync("hi")

    assert 400 + count_tokens(asyncio.run(store.load())) <= 750


class _CountingCounter:
    """Counts by length, and remembers each text that it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str, /) -> int:
        self.texts.append(text)
        return -(-len(text) // 4)


@pytest.mark.parametrize("compactor", [None, Digest(), _Answering(OSError("no model"))])
def test_long_run_counts_no_text_twice(compactor: Compactor | None) -> None:
    """300 turns, with one counter in the budget, the strategy and the meter."""

    def decide(request: Input) -> Decision:
        used = Usage(input=count_tokens(request.history), output=10)
        call = ToolCall(f"c{request.turn}", "t", f'{{"turn": {request.turn}}}')
        return Decision(f"Turn {request.turn}.", [call] if request.turn < 300 else [], used)

    counter, outputs = _CountingCounter(), itertools.count()
    decider = ScriptedDecider(*[decide] * 300)
    executor = ScriptedExecutor({"t": lambda _: f"{next(outputs)} " + "word" * 50})
    runner = Runner(
        decider,
        executor,
        MemoryStore(),
        Manager(counter, compactor, Policy(4_000)),
        strategies=[FitContextWindow(2_500, counter)],
        max_turns=300,
        system_prompt="Be brief.",
    )

    runner.run_sync("Count.")

    assert len(counter.texts) >= 600
    assert len(counter.texts) == len({*counter.texts})
    assert max(count_tokens(request.history) for request in decider.requests) <= 3_000


def test_digest_keeps_task_through_many_compactions() -> None:
    """The real compactor without a model, in a run that outgrows its window many times."""
    calls = [
        Decision(f"Step {n}.", [ToolCall(f"c{n}", "read", f'{{"path": "file_{n}.py"}}')])
        for n in range(40)
    ]
    decider = ScriptedDecider(*calls, "Done.")
    executor = ScriptedExecutor({"read": "word" * 150})
    store = MemoryStore()

    result = Runner(
        decider, executor, store, _budget(Digest(max_tokens=300), context_window=2_000)
    ).run_sync("Read every file, and keep the licence headers.")

    assert result.summary is not None
    assert result.summary.generation > 3
    for request in decider.requests:
        history = list(request.history)
        assert history[find_task(history)[-1]].content.startswith("Read every file")
        assert count_tokens(history) <= 1_500
    assert len(asyncio.run(store.full())) == 82


def test_earlier_summary_is_folded_not_stacked() -> None:
    """However often a session is resumed, it holds one summary."""
    store = _session()
    runner = Runner(
        ScriptedDecider(*["word" * 150] * 6), store=store, budget=_budget(_Answering("so far"))
    )

    for number in range(6):
        runner.run_sync(f"{number} " + "word" * 100)

    summaries = [m.summary for m in asyncio.run(store.load()) if m.summary]
    assert len(summaries) == 1
    assert isinstance(summaries[0], ContextSummary)
    assert summaries[0].generation > 1


# what a summary used


async def _ask(_: str) -> str:
    report(Usage(input=100, output=20))
    return "They counted."


def test_result_includes_the_summaries_usage() -> None:
    """And in `agent_end`; a turn tells its own call alone."""
    reply = Decision("Done.", usage=Usage(input=7, output=3))
    runner = Runner(ScriptedDecider(reply), store=_session(), budget=_budget(Model(_ask)))

    with EventRecorder(sender=runner) as recorder:
        result = runner.run_sync("hi")

    (compaction,) = recorder.of(events.ContextCompactionEnd)
    assert compaction.summary is not None
    assert compaction.usage == Usage(input=100, output=20, total=120)
    assert result.usage == Usage(input=107, output=23, total=130)
    assert recorder.of(events.AgentEnd)[0].usage == result.usage
    assert recorder.of(events.TurnEnd)[0].usage == Usage(input=7, output=3, total=10)


@pytest.mark.parametrize("price", [None, lambda decision: decision.usage.input / 100])
def test_summary_counts_towards_the_limit_of_dollars(price: Any) -> None:
    """By the price list, and by a price of one's own: the reply alone would not reach it."""

    async def ask(_: str) -> str:
        report(Usage(input=1_000_000), model="gpt-4.1", provider="openai_chat")
        return "They counted."

    class Named(ScriptedDecider):
        name = "openai_chat:gpt-4.1"

    runner = Runner(
        Named(Decision("", [ToolCall("c1", "look")], Usage(input=1)), "Done."),
        store=_session(),
        budget=_budget(Model(ask)),
        limits=RunLimits(dollars=1, price=price),
    )

    assert runner.run_sync("hi").limit is RunLimit.DOLLARS


def test_usage_holds_forced_and_failed_summaries() -> None:
    """Each was paid for: one that was refused, and one that an overflow forced."""
    answers = iter(["", "They counted."])

    async def ask(prompt: str) -> str:
        await _ask(prompt)
        return next(answers)

    decider = ScriptedDecider(_OVERFLOW, "Done.")
    result = Runner(decider, store=_session(), budget=_budget(Model(ask))).run_sync("hi")

    assert result.summary is not None
    assert result.usage == Usage(input=200, output=40, total=240)
