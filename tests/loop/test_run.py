import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ConfigError, HistoryConflict
from agentic.history import JsonlStore, MemoryStore
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import StopReason, Usage

_CALL = Decision("I look.", [ToolCall("c1", "read")])


def _texts(messages: tuple[Message, ...] | list[Message]) -> list[tuple[str, str]]:
    return [
        (message.role, message.content or "".join(result.text for result in message.tool_results))
        for message in messages
    ]


def test_a_reply_ends_the_run() -> None:
    """Without calls the first reply is the result."""
    result = Runner(ScriptedDecider("Hello.")).run_sync("hi")

    assert _texts(result.history) == [("user", "hi"), ("assistant", "Hello.")]
    assert (result.reply, result.stop_reason, result.exhausted) == (
        "Hello.",
        StopReason.STOP,
        False,
    )
    assert result.summary is None


def test_tools_run_until_the_model_replies() -> None:
    """Each decision with calls is followed by their results and another decision."""
    decider = ScriptedDecider(_CALL, Decision("And there.", [ToolCall("c2", "read")]), "Done.")

    result = Runner(decider, ScriptedExecutor({"read": "text"})).run_sync("Read it.")

    assert _texts(result.history) == [
        ("user", "Read it."),
        ("assistant", "I look."),
        ("tool", "text"),
        ("assistant", "And there."),
        ("tool", "text"),
        ("assistant", "Done."),
    ]
    assert [call.id for call in result.tool_calls] == ["c1", "c2"]
    assert [given.call_id for given in result.tool_results] == ["c1", "c2"]


def test_input_is_complete_and_repeats_parts() -> None:
    """The history ends with the request or the results; the other fields repeat parts of it."""
    decider = ScriptedDecider(_CALL, "Done.")
    runner = Runner(decider, ScriptedExecutor({"read": "text"}), system_prompt="Be brief.")

    runner.run_sync("Read it.")

    first, second = decider.requests
    assert (first.turn, first.history[-1].content, first.tool_results) == (1, "Read it.", ())
    assert (second.turn, second.tool_calls) == (2, second.history[-2].tool_calls)
    assert second.tool_results == second.history[-1].tool_results
    assert {request.system_prompt for request in decider.requests} == {"Be brief."}
    assert {request.user_message for request in decider.requests} == {"Read it."}
    assert [tool.name for tool in first.tools] == ["read"]


def test_request_replaces_the_system_prompt() -> None:
    """It stands in for the Runner's, for that run."""
    decider = ScriptedDecider("a", "b")
    runner = Runner(decider, system_prompt="Be brief.")

    runner.run_sync(Request("hi", "Be thorough."))
    runner.run_sync("hi")

    assert [request.system_prompt for request in decider.requests] == ["Be thorough.", "Be brief."]


def test_usage_is_summed_over_the_run() -> None:
    """Every decision's usage is added, one without a usage adds nothing."""
    decider = ScriptedDecider(
        Decision("", [ToolCall("c1", "read")], Usage(input=100, output=10)),
        Decision("", [ToolCall("c2", "read")]),
        Decision("Done.", usage=Usage(input=150, output=5, cache_read=100)),
    )

    result = Runner(decider, ScriptedExecutor({"read": ""})).run_sync("hi")

    assert result.usage == Usage(input=250, output=15, total=265, cache_read=100)


def test_everything_decided_enters_the_history() -> None:
    """Reasoning, usage and the provider's own items ride on the reply."""
    native = ProviderPayload("acme", [{"signature": "x"}])
    usage = Usage(input=3, output=2)
    decision = Decision("Hello.", usage=usage, native=native, reasoning="A greeting.")

    reply = Runner(ScriptedDecider(decision)).run_sync("hi").history[-1]

    assert (reply.native, reply.usage, reply.reasoning) == (native, usage, "A greeting.")
    assert reply.timestamp is not None
    assert reply.timestamp.tzinfo is not None


def test_turn_limit_answers_last_calls() -> None:
    """They get a result that says so, no tool runs for them, and the result is exhausted."""
    decider = ScriptedDecider(_CALL, Decision("", [ToolCall("c2", "read"), ToolCall("c3", "read")]))
    executor = ScriptedExecutor({"read": "text"})

    result = Runner(decider, executor, max_turns=2).run_sync("hi")

    assert result.exhausted
    assert [call.id for call in executor.calls] == ["c1"]
    assert [given.call_id for given in result.history[-1].tool_results] == ["c2", "c3"]
    assert "limit of turns" in result.tool_results[-1].text


def test_reply_in_last_turn_is_not_exhausted() -> None:
    """The limit ends only runs that would go on."""
    runner = Runner(ScriptedDecider(_CALL, "Done."), ScriptedExecutor({"read": ""}), max_turns=2)

    assert not runner.run_sync("hi").exhausted


def test_calls_of_cut_off_reply_never_run() -> None:
    """Each gets a result that says so, and the model may try again."""
    cut_off = Decision(
        "", [ToolCall("c1", "run", '{"command": "rm -rf /tm')], None, StopReason.MAX_TOKENS
    )
    decider, executor = ScriptedDecider(cut_off, "Done."), ScriptedExecutor({"run": "gone"})

    result = Runner(decider, executor).run_sync("hi")

    assert executor.calls == []
    assert "cut off" in decider.requests[1].tool_results[0].text
    assert result.reply == "Done."


def test_cut_off_reply_keeps_its_reason() -> None:
    """The run ends, and its result says why the reply did."""
    decider = ScriptedDecider(Decision("It is beca", stop_reason=StopReason.MAX_TOKENS))

    result = Runner(decider).run_sync("hi")

    assert (result.reply, result.stop_reason) == ("It is beca", StopReason.MAX_TOKENS)


@pytest.mark.parametrize("reason", [StopReason.CONTENT_FILTER, StopReason.ERROR, StopReason.ABORT])
def test_withheld_reply_ends_the_run(reason: StopReason) -> None:
    """Nothing of it is run, and the history stays one that a provider accepts."""
    decider = ScriptedDecider(Decision("", [ToolCall("c1", "read")], stop_reason=reason))
    executor = ScriptedExecutor({"read": ""})

    result = Runner(decider, executor).run_sync("hi")

    assert executor.calls == []
    assert result.stop_reason is reason
    assert result.history[-1].tool_results[0].call_id == "c1"


def test_calls_without_executor_are_told_so() -> None:
    """A model that calls tools where there are none reads that there are none."""
    decider = ScriptedDecider(_CALL, "Done.")

    Runner(decider).run_sync("hi")

    assert decider.requests[1].tool_results[0].text == "Error: there are no tools"


def test_decider_error_comes_after_storing() -> None:
    """The error is the decider's own; the request and complete rounds are in the store."""
    store = MemoryStore()
    decider = ScriptedDecider(_CALL, ConnectionResetError("gone"))

    with pytest.raises(ConnectionResetError, match="gone"):
        Runner(decider, ScriptedExecutor({"read": "text"}), store).run_sync("hi")

    assert _texts(asyncio.run(store.full())) == [
        ("user", "hi"),
        ("assistant", "I look."),
        ("tool", "text"),
    ]


@pytest.mark.parametrize("ids", [("", ""), ("c1", "c1"), ("c1", "", "c1")])
def test_call_ids_become_unique_within_reply(ids: tuple[str, ...]) -> None:
    """Missing ids are made, duplicates changed; calls and results agree."""
    decider = ScriptedDecider(Decision("", [ToolCall(each, "read") for each in ids]), "Done.")

    result = Runner(decider, ScriptedExecutor({"read": ""})).run_sync("hi")

    made = [call.id for call in result.tool_calls]
    assert len({*made}) == len(ids)
    assert all(made)
    assert [given.call_id for given in result.tool_results] == made


def test_call_ids_become_unique_across_runs() -> None:
    """A provider that counts its calls anew in every reply does no harm."""
    store = MemoryStore()
    for _ in range(2):
        decider = ScriptedDecider(_CALL, _CALL, "Done.")
        Runner(decider, ScriptedExecutor({"read": ""}), store).run_sync("hi")

    made = [call.id for message in asyncio.run(store.load()) for call in message.tool_calls]

    assert made[0] == "c1"
    assert len({*made}) == 4


def test_call_ids_stay_unique_after_compaction() -> None:
    """A call that was summarized is still in the archive, and a restore brings it back."""
    store = MemoryStore()
    decider = ScriptedDecider(_CALL, "Done.", _CALL, "Done.")
    runner = Runner(decider, ScriptedExecutor({"read": ""}), store)

    runner.run_sync("hi")
    asyncio.run(store.replace([Message("user", "hi")]))
    runner.run_sync("hi")

    made = [call.id for message in asyncio.run(store.full()) for call in message.tool_calls]
    assert len({*made}) == 2


def test_changed_id_keeps_native_items_apart() -> None:
    """A payload with other ids than the history's would contradict the results.

    An adapter can write the ids into a copy, which keeps the reasoning.
    """
    native = ProviderPayload("acme", [{"id": "c1"}])
    decision = Decision("", [ToolCall("c1", "read")], native=native)

    result = Runner(
        ScriptedDecider(decision, decision, "Done."), ScriptedExecutor({"read": ""})
    ).run_sync("hi")

    called = [message for message in result.history if message.tool_calls]
    assert [message.native for message in called] == [native, None]
    assert [message.edited_native for message in called] == [None, native]


def test_request_history_is_what_came_before() -> None:
    """Without a store the caller brings the conversation; open rounds in it are closed."""
    decider = ScriptedDecider("Done.")
    earlier = [Message("user", "Hello."), Message("assistant", tool_calls=[ToolCall("c1", "read")])]

    Runner(decider).run_sync(Request("And now?", history=earlier))

    assert [message.role for message in decider.requests[0].history] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


def test_request_history_begins_a_session() -> None:
    """With an empty store it is stored, and the run goes on from it."""
    store = MemoryStore()

    Runner(ScriptedDecider("Yes."), store=store).run_sync(
        Request("And now?", history=[Message("user", "Hello.")])
    )

    assert [text for _, text in _texts(asyncio.run(store.full()))] == ["Hello.", "And now?", "Yes."]


def test_request_history_stored_in_part_is_completed() -> None:
    """The disk was full before a result: the next attempt stores it, and no made-up one."""

    class Flaky(MemoryStore):
        fails = True

        async def append(self, message: Message, /, *, key: str | None = None) -> None:
            if message.tool_results and self.fails:
                self.fails = False
                raise OSError("the disk is full")
            await super().append(message, key=key)

    earlier = [
        Message("user", "Read it."),
        Message("assistant", tool_calls=[ToolCall("c1", "read")]),
        Message("tool", tool_results=[ToolResult("c1", "read", "text")]),
    ]
    runner = Runner(ScriptedDecider("Yes."), store=Flaky())
    with pytest.raises(OSError, match="the disk is full"):
        runner.run_sync(Request("And now?", history=earlier))

    result = runner.run_sync(Request("And now?", history=earlier))

    assert list(result.history[:3]) == earlier


def test_history_beside_stored_one_is_refused() -> None:
    """Two pasts cannot both be meant; nothing is stored."""
    store = MemoryStore()
    runner = Runner(ScriptedDecider("Hello.", "never"), store=store)
    runner.run_sync("hi")

    with pytest.raises(ConfigError, match=r"Request\.history .*give the Runner an empty store"):
        runner.run_sync(Request("And now?", history=[Message("user", "Hello.")]))

    assert len(asyncio.run(store.full())) == 2


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_second_run_continues_the_first(tmp_path: Path, kind: str) -> None:
    """The store is the conversation: another Runner on it sees everything."""

    async def twice() -> None:
        memory, file = MemoryStore(), JsonlStore(tmp_path / "session.jsonl")
        async with memory if kind == "memory" else file as store:
            first = await Runner(ScriptedDecider(_CALL, "Hello."), executor, store).run("hi")
            second = await Runner(decider, executor, store).run("and now?")
            assert decider.requests[0].history[: len(first.history)] == first.history
            assert second.history == tuple(await store.load())

    executor, decider = ScriptedExecutor({"read": "text"}), ScriptedDecider("Still here.")
    asyncio.run(twice())


def test_seemingly_empty_store_is_a_store() -> None:
    """A length of nothing is no absence: the conversation is kept."""

    class Sized(MemoryStore):
        def __len__(self) -> int:
            return len(self._appended)

    store = Sized()

    Runner(ScriptedDecider("Hello."), store=store).run_sync("hi")

    assert len(store) == 2


def test_session_file_outlives_the_process(tmp_path: Path) -> None:
    """A file that ends within a round is closed, and the run goes on."""
    path = tmp_path / "session.jsonl"

    async def first() -> None:
        async with JsonlStore(path) as store:
            await store.append(Message("user", "hi"))
            await store.append(Message("assistant", tool_calls=[ToolCall("c1", "read")]))

    async def second() -> None:
        async with JsonlStore(path) as store:
            await Runner(decider, store=store).run("and now?")

    decider = ScriptedDecider("Done.")
    asyncio.run(first())
    asyncio.run(second())

    assert [message.role for message in decider.requests[0].history] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert "there is no result" in decider.requests[0].history[2].tool_results[0].text


def test_concurrent_runs_on_one_store_are_refused() -> None:
    """The second is told so, and the first is not harmed."""

    async def both() -> None:
        first = asyncio.create_task(runner.run("one"))
        await asked.wait()
        with pytest.raises(
            HistoryConflict, match=r"the MemoryStore of this Runner is in use by another writer"
        ):
            await runner.run("two")
        go_on.set()
        assert (await first).reply == "Done."
        assert (await runner.run("three")).reply == "Again."

    async def wait(_: Input) -> str:
        asked.set()
        await go_on.wait()
        return "Done."

    asked, go_on = asyncio.Event(), asyncio.Event()
    runner = Runner(ScriptedDecider(wait, "Again."), store=MemoryStore())
    asyncio.run(both())


def test_refusal_does_not_quote_the_conversation() -> None:
    """An error stays short, however long the session is."""

    async def both() -> str:
        first = asyncio.create_task(runner.run("one"))
        await asyncio.sleep(0)
        with pytest.raises(HistoryConflict) as refused:
            await runner.run("two")
        await first
        return str(refused.value)

    store = MemoryStore()
    asyncio.run(store.append(Message("user", "word " * 10_000)))
    runner = Runner(ScriptedDecider("Done."), store=store)

    assert len(asyncio.run(both())) < 1_000


def test_concurrent_runs_without_store_are_independent() -> None:
    """Each has its own history."""

    async def meet(request: Input) -> str:
        await barrier.wait()
        return request.user_message.upper()

    async def both() -> list[str]:
        results = await asyncio.gather(runner.run("one"), runner.run("two"))
        return [result.reply for result in results]

    barrier = asyncio.Barrier(2)
    runner = Runner(ScriptedDecider(meet, meet))

    assert asyncio.run(both()) == ["ONE", "TWO"]


def test_failed_run_leaves_runner_free() -> None:
    """The next run on the store is not refused."""
    runner = Runner(ScriptedDecider(OSError("gone"), "Done."), store=MemoryStore())

    with pytest.raises(OSError, match="gone"):
        runner.run_sync("hi")

    assert runner.run_sync("again").reply == "Done."


def test_failing_store_ends_the_run() -> None:
    """Nothing is told as stored that is not."""

    class Full(MemoryStore):
        async def append(self, message: Message) -> None:
            if message.role == "tool":
                raise OSError("the disk is full")
            await super().append(message)

    store = Full()
    runner = Runner(ScriptedDecider(_CALL), ScriptedExecutor({"read": ""}), store)

    with EventRecorder() as recorder, pytest.raises(OSError, match="the disk is full"):
        runner.run_sync("hi")

    assert "tool_execution_end" not in recorder.names
    assert [message.role for message in asyncio.run(store.load())] == ["user", "assistant", "tool"]


def test_unstored_reply_runs_no_tools() -> None:
    """Its calls are nowhere, so they get no results either."""

    class Full(MemoryStore):
        async def append(self, message: Message) -> None:
            if message.role == "assistant":
                raise OSError("the disk is full")
            await super().append(message)

    store, executor = Full(), ScriptedExecutor({"read": ""})

    with pytest.raises(OSError, match="the disk is full"):
        Runner(ScriptedDecider(_CALL), executor, store).run_sync("hi")

    assert executor.calls == []
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_tools_may_change_between_turns() -> None:
    """They are listed anew for every decision."""

    class Growing(ScriptedExecutor):
        async def execute(self, call: ToolCall, /) -> ToolResult:
            self._answers["more"] = "text"
            return await super().execute(call)

    decider = ScriptedDecider(_CALL, "Done.")
    Runner(decider, Growing({"read": ""})).run_sync("hi")

    assert [len(request.tools) for request in decider.requests] == [1, 2]


def test_loaded_messages_are_compared_once(tmp_path: Path) -> None:
    """After a resume it is the loaded messages that are looked for, not those of the first run."""
    budget = Manager(CharCounter(), Digest(), Policy(10**9))
    steps = [Decision(tool_calls=[ToolCall("", "read")])] * 30
    store = JsonlStore(tmp_path / "session.jsonl")
    decider = ScriptedDecider(*steps, "Done.", *steps, "Done.")
    runner = Runner(decider, ScriptedExecutor({"read": "text"}), store, budget)

    runner.run_sync("one")
    result = runner.run_sync("two")
    asyncio.run(store.aclose())

    window = runner._view._maker.meter
    assert window is not None
    known = window._context_meter._token_cache._recent._known[0].messages
    assert all(seen is message for seen, message in zip(known, result.history, strict=False))


def test_runners_do_not_share_a_store() -> None:
    """A runner for each request of a server must not interleave rounds."""
    store = MemoryStore()

    async def decide_late(_: Input) -> Decision:
        with pytest.raises(HistoryConflict):
            await Runner(ScriptedDecider("Done."), store=store).run("two")
        return Decision("Done.")

    result = Runner(ScriptedDecider(decide_late), store=store).run_sync("one")

    assert [message.content for message in result.history] == ["one", "Done."]


def test_later_setting_change_is_checked() -> None:
    """By the same rules as in the constructor."""
    runner = Runner(ScriptedDecider("Done."))

    with pytest.raises(ConfigError, match="max_turns must be"):
        runner.max_turns = 0


def test_sync_decider_is_named_as_mistake() -> None:
    """A decide that is no coroutine is found at the first request, with what to do."""

    class Hasty:
        def decide(self, _: Input) -> Decision:
            return Decision("Done.")

    with pytest.raises(ConfigError, match="write async def decide"):
        Runner(Hasty()).run_sync("hi")  # type: ignore[arg-type]


def test_unfit_call_reaches_no_executor() -> None:
    """A custom executor need not check names and JSON: the model reads what a Registry says."""
    executor = ScriptedExecutor({"read": "text"})
    calls = [ToolCall("1", "raed"), ToolCall("2", "read", "{oops"), ToolCall("3", "read")]

    result = Runner(ScriptedDecider(Decision(tool_calls=calls), "Done."), executor).run_sync("hi")

    kinds = [found.error.kind if found.error else "" for found in result.tool_results]
    assert kinds == ["not_found", "bad_arguments", ""]
    texts = [found.text for found in result.tool_results]
    assert "Did you mean read?" in texts[0]
    assert "near '{oops'" in texts[1]
    assert [call.id for call in executor.calls] == ["3"]


@pytest.mark.parametrize("strategy", [lambda _: [1], lambda _: []])
def test_view_without_request_is_refused(strategy: Any) -> None:
    """What a callable cuts must still be a request that makes sense."""
    with pytest.raises(ConfigError, match="the strategy's view"):
        Runner(ScriptedDecider("Done."), strategies=[strategy]).run_sync("hi")


def test_cut_through_round_is_closed() -> None:
    """A callable that knows nothing of rounds still leads to a request that a provider accepts."""
    decider = ScriptedDecider("Done.")
    call = Message("assistant", tool_calls=[ToolCall("1", "read")])
    answer = Message("tool", tool_results=[ToolResult("1", "read", "text")])
    earlier = [Message("user", "Hello."), call, answer]

    def without_calls(messages: list[Message]) -> list[Message]:
        return [message for message in messages if not message.tool_calls]

    Runner(decider, strategies=[without_calls]).run_sync(Request("hi", history=earlier))

    assert [message.role for message in decider.requests[0].history] == ["user", "user"]


def test_cut_without_compaction_is_reported() -> None:
    """Where a compactor fails, what the model no longer sees is an event all the same."""
    budget = Manager(CharCounter(1), _NoSummary(), Policy(600, keep_recent_tokens=100))
    steps = [Decision("x" * 100, [ToolCall("", "read")])] * 10

    with EventRecorder() as recorder:
        Runner(
            ScriptedDecider(*steps, "Done."), ScriptedExecutor({"read": "text"}), budget=budget
        ).run_sync("hi")

    cut = [event.messages_after for event in recorder.of(events.ContextChanged)]
    assert cut
    assert all(event.error for event in recorder.of(events.ContextCompactionEnd))


class _NoSummary:
    async def compact(self, _: list[Message], /) -> str:
        return ""


def test_store_replaced_during_run_is_free_afterwards() -> None:
    """The run goes on with the store that it began with, and gives that one back."""
    first, second = MemoryStore(), MemoryStore()

    def swap(_: Input) -> str:
        runner.store = second
        return "Done."

    runner = Runner(ScriptedDecider(swap, "Again."), store=first)

    assert runner.run_sync("hi").reply == "Done."
    assert [m.content for m in asyncio.run(first.load())] == ["hi", "Done."]
    assert asyncio.run(second.load()) == []
    runner.store = first
    assert runner.run_sync("And now?").reply == "Again."
