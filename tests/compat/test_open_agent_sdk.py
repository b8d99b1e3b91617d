"""ContextConfig and the hook before a compaction, as rows C2 to C7 have them."""

import asyncio
from itertools import chain
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic import events
from agentic.compat.open_agent_sdk import (
    CompactContext,
    CompactDecision,
    ContextConfig,
    ContextManager,
    ImportanceStrategy,
    SummarizationStrategy,
    TruncationStrategy,
)
from agentic.context.budget._compaction import CompactionTarget
from agentic.errors import ConfigError
from agentic.messages import Message, ToolCall, ToolResult, split_rounds
from agentic.testing import EventRecorder, conversations

STRATEGIES = ["truncation", "importance", "summarization"]
EVERY = pytest.mark.parametrize("strategy", STRATEGIES)


def talk(length: int) -> list[Message]:
    """Make a conversation of a system prompt and this many messages."""
    said = [
        Message("user" if number % 2 == 0 else "assistant", f"message {number} " + "word " * 40)
        for number in range(length)
    ]
    return [Message("system", "Be brief."), *said]


def manager(**options: Any) -> ContextManager:
    """Make a manager with a small window."""
    return ContextManager(
        ContextConfig(**{"max_context_tokens": 2_000, "target_tokens": 1_500} | options)
    )


def compact(of: ContextManager, messages: list[Message], **options: Any) -> list[Message]:
    """Compact, and wait for it."""
    return asyncio.run(of.compact(messages, **options))


def test_names_and_defaults_are_the_sources() -> None:
    """C2, C3, C4 and C5, word for word."""
    config, summary = ContextConfig(), SummarizationStrategy()
    kept, weighed = TruncationStrategy(), ImportanceStrategy()

    assert (config.max_context_tokens, config.target_tokens) == (32_000, 28_000)
    assert (config.strategy, config.on_pre_compact) == ("truncation", None)
    assert (kept.keep_recent, kept.preserve_system, kept.preserve_tool_chains) == (10, True, True)
    assert (weighed.keep_recent, weighed.min_score_threshold) == (10, 0.3)
    assert (weighed.user_message_score, weighed.assistant_message_score) == (1.0, 0.6)
    assert weighed.tool_use_score == 1.0
    assert (summary.keep_recent, summary.summarize_chunk_size) == (10, 20)
    assert (summary.max_summary_tokens, summary.summarize_with) == (500, None)


@EVERY
def test_target_is_the_reason_of_its_compaction(strategy: str) -> None:
    """In the events, in what is returned and in the explanation; a call by hand is `force`."""
    view = manager(strategy=strategy).config.make_view()

    with EventRecorder() as recorder:
        done = view.prepare_sync(talk(40)).compaction
        compact(manager(strategy=strategy), talk(40))

    assert done is not None
    assert done.reason == "window"
    assert view.explain()[0].reason == "the window trigger fired"
    for kind in (events.ContextCompactionStart, events.ContextCompactionEnd):
        assert [event.reason for event in recorder.of(kind)] == ["window", "force"]


@EVERY
def test_message_that_arrives_meanwhile_is_kept(strategy: str) -> None:
    """A receiver of the event before a compaction may append to the list."""
    messages, late = talk(40), Message("user", "One more thing.")

    def append(_: object, **__: object) -> None:
        messages.append(late)

    with events.context_compaction_start.connected_to(append):
        after = compact(manager(strategy=strategy), messages)

    assert after[-1] is late
    assert len(after) < len(messages)


@pytest.mark.parametrize("strategy", ["truncation", "summarization"])
def test_what_is_sent_besides_leaves_less_room(strategy: str) -> None:
    """A long system prompt does not have the conversation compacted at every turn."""
    options: dict[str, Any] = {
        "truncation_options": TruncationStrategy(20),
        "summarization_options": SummarizationStrategy(20, max_summary_tokens=100),
    }
    view = manager(strategy=strategy, **options).config.make_view()
    messages, sizes = talk(30), []

    for number in range(20):
        messages.append(Message("user", f"message {number} " + "word " * 40))
        done = view.prepare_sync(messages, system_prompt="w " * 1_800).compaction
        sizes += [(done.tokens_before, done.tokens_after)] if done else []

    assert 1 < len(sizes) < 15
    assert all(before > 1_500 >= after for before, after in sizes)


def test_cancelled_receiver_ends_the_compaction() -> None:
    """Whoever counts the events of beginning and end is not left with one."""

    async def wait(_: object, **__: object) -> None:
        await asyncio.sleep(10)

    async def cancel() -> None:
        with events.context_compaction_start.connected_to(wait):
            task = asyncio.ensure_future(manager().compact(talk(40)))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})

    with EventRecorder() as recorder:
        asyncio.run(cancel())

    (end,) = recorder.of(events.ContextCompactionEnd)
    assert isinstance(end.error, asyncio.CancelledError)


def test_pinned_message_without_orphans_is_counted() -> None:
    """It is a new object in place of the old one, which nobody left out."""
    results = [ToolResult("call", "look", "word " * 60), ToolResult("none", "look", "word ")]
    pinned = [
        Message("assistant", tool_calls=[ToolCall("call", "look")]),
        Message("tool", tool_results=results, pinned=True),
    ]
    of = manager()
    messages = [*pinned, *talk(40)]

    done = asyncio.run(of.carry_out(messages))

    assert done.tokens_after == of.count_tokens(done.messages)


@EVERY
def test_only_over_the_target_is_due(strategy: str) -> None:
    """The target triggers; it is no size that is cut to."""
    of = manager(strategy=strategy)

    assert not of.should_compact(talk(20))
    assert of.count_tokens(talk(20)) < 1_500 < of.count_tokens(talk(30))
    assert of.should_compact(talk(30))


def test_truncation_keeps_the_last_ones() -> None:
    """The system prompt, and as many of the newest as the options say."""
    messages = talk(40)

    kept = compact(manager(truncation_options=TruncationStrategy(6)), messages)

    assert kept == [messages[0], *messages[-6:]]


def test_importance_leaves_acknowledgements_out() -> None:
    """What scores too little goes, however recent it is not."""
    messages = [*talk(8), Message("assistant", "OK."), Message("user", "Go on."), *talk(12)[1:]]

    kept = compact(manager(strategy="importance"), messages)

    assert "OK." not in [message.content for message in kept]
    assert kept[0] is messages[0]


def test_importance_removes_chatter_before_requirements() -> None:
    """Requirements score 1.0 and stay while they fit; chatter scores 0.6 and goes."""
    prompt = Message("system", "Be brief.")
    requirements = [Message("user", f"Requirement {n}: " + "it must hold. " * 3) for n in range(60)]
    chatter = [Message("assistant", "That is fair enough, and we go on. " * 4) for _ in range(60)]
    messages = [prompt, *chain.from_iterable(zip(requirements, chatter, strict=True))]

    kept = compact(manager(strategy="importance"), messages)

    assert [message for message in kept if message.role == "user"] == requirements
    assert kept[-10:] == messages[-10:]
    assert manager().count_tokens(kept) <= 1_500 < manager().count_tokens(messages)


def test_summary_stands_for_old_messages() -> None:
    """The model is given at most a chunk at once; the answers are folded into one summary."""
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "## Done\nA lot."

    options = SummarizationStrategy(8, summarize_chunk_size=10, summarize_with=ask)
    kept = compact(manager(strategy="summarization", summarization_options=options), talk(40))

    assert len(prompts) == 4
    assert all(prompt.count('{"user"') + prompt.count('{"assistant"') <= 10 for prompt in prompts)
    assert kept[1].summary is not None
    assert kept[1].summary.content == "## Done\nA lot."
    assert kept[2:] == talk(40)[-8:]


def test_a_digest_replaces_a_failing_model() -> None:
    """The conversation goes on with what can be had without a model."""

    async def ask(_: str) -> str:
        raise ConnectionError

    options = SummarizationStrategy(summarize_with=ask)
    kept = compact(manager(strategy="summarization", summarization_options=options), talk(40))

    assert kept[1].summary is not None
    assert kept[1].summary.content.startswith("# Digest")


@EVERY
@pytest.mark.parametrize("length", [40, 12])
def test_hook_is_told_and_may_cancel(strategy: str, length: int) -> None:
    """Under every strategy, for a compaction that is due and for a manual one."""
    told: list[CompactContext] = []

    def hook(context: CompactContext) -> CompactDecision:
        told.append(context)
        return CompactDecision(cancel=True)

    messages = talk(length)
    of = manager(strategy=strategy, on_pre_compact=hook)

    assert compact(of, messages, custom_instructions="Keep names.") is messages
    assert told == [
        CompactContext(
            trigger="auto" if length == 40 else "manual",
            current_tokens=of.count_tokens(messages),
            target_tokens=1_500,
            message_count=length + 1,
            custom_instructions="Keep names.",
        )
    ]


@EVERY
def test_the_hook_sees_the_measured_size(strategy: Any) -> None:
    """With the system prompt, which alone takes the request over the target here."""
    told: list[CompactContext] = []

    def hook(context: CompactContext) -> CompactDecision:
        told.append(context)
        return CompactDecision(cancel=True)

    view = ContextConfig(2_000, 1_500, strategy, on_pre_compact=hook).make_view()
    prompt = "word " * 1_200
    size = view.check(talk(20), system_prompt=prompt).tokens

    view.prepare_sync(talk(20), system_prompt=prompt)

    assert size > 1_500
    assert [(each.trigger, each.current_tokens) for each in told] == [("auto", size)]


@EVERY
def test_events_come_from_the_manager(strategy: str) -> None:
    """Under every strategy, so that a receiver can subscribe to one manager."""
    of = manager(strategy=strategy)
    heard: list[object] = []

    def receive(_: object, event: events.ContextCompactionEnd) -> None:
        heard.append(event)

    events.context_compaction_end.connect(receive, sender=of)
    compact(of, talk(40))

    assert len(heard) == 1


def _store_raising(error: BaseException) -> CompactionTarget:
    async def store(*_: list[Message]) -> list[Message]:
        raise error

    return CompactionTarget("host", replace=store)


def test_a_store_that_fails_changes_nothing() -> None:
    """The error is in the result, which also says that the history is still too large."""
    messages, error = talk(40), OSError("disk full")

    done = asyncio.run(manager().carry_out(messages, target=_store_raising(error)))

    assert (done.messages, done.error) == (messages, error)
    assert (done.changed, done.fits) == (False, False)


def test_a_cancelled_store_ends_the_compaction() -> None:
    """The end is an event, as after any failure, and the cancellation goes on."""
    target = _store_raising(asyncio.CancelledError())

    with EventRecorder() as recorder, pytest.raises(asyncio.CancelledError):
        asyncio.run(manager().carry_out(talk(40), target=target))

    assert recorder.names == ["context_compaction_start", "context_compaction_end"]


@EVERY
def test_the_hook_may_bring_the_summary(strategy: str) -> None:
    """An async hook's summary replaces what is old, and no other is made."""

    async def hook(_: CompactContext) -> CompactDecision:
        return CompactDecision(custom_summary="All was said.")

    kept = compact(manager(strategy=strategy, on_pre_compact=hook), talk(40))

    assert kept[1].summary is not None
    assert kept[1].summary.content == "All was said."
    assert kept[2:] == talk(40)[-10:]


def test_the_hooks_instructions_reach_the_model() -> None:
    """They take the place of the caller's."""
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        prompts.append(prompt)
        return "Fine."

    of = manager(
        strategy="summarization",
        summarization_options=SummarizationStrategy(summarize_with=ask),
        on_pre_compact=lambda _: CompactDecision(custom_instructions="Keep the paths."),
    )
    compact(of, talk(40), custom_instructions="Keep the names.")

    assert "Keep the paths." in prompts[0]
    assert "Keep the names." not in prompts[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target_tokens": 32_000}, r"less than max_context_tokens \(32000\)"),
        ({"strategy": "magic"}, "one of truncation, importance, summarization"),
        ({"token_counter": 4.0}, "an object with count"),
        ({"truncation_options": 10}, "a KeepLast"),
        ({"max_context_tokens": "32k"}, "a whole number"),
        ({"on_pre_compact": "ask"}, "on_pre_compact must be a function or None"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, Any], told: str) -> None:
    """The error says what would do."""
    with pytest.raises(ConfigError, match=told):
        ContextConfig(**options)


def test_the_name_of_a_model_is_no_summarizer() -> None:
    """It is refused at once, and not by the first compaction in the middle of a run."""
    name: Any = "gpt-4o-mini"

    with pytest.raises(ConfigError, match="summarize_with must be a function or None"):
        SummarizationStrategy(summarize_with=name)


@given(window=st.integers(2, 200_000), share=st.floats(0, 1, exclude_max=True))
@example(window=32_000, share=0.25)
@settings(max_examples=50, deadline=None)
def test_every_configuration_makes_a_view(window: int, share: float) -> None:
    """A target far below the window contradicts no number that nobody passed."""
    target = max(1, int(share * window))

    view = ContextConfig(window, target).make_view()

    assert view.policy.available_tokens == target


@EVERY
def test_a_view_compacts_ahead(strategy: Any) -> None:
    """Near the target `prepare_ahead` does what will be due; importance leaves what still fits."""
    messages = talk(26)
    view = ContextConfig(2_000, 1_500, strategy).make_view()
    assert 0.85 * 1_500 < view.check(messages).tokens < 1_500

    done = asyncio.run(view.prepare_ahead(messages))

    assert done is not None
    assert done.changed == (strategy != "importance")
    assert asyncio.run(view.prepare_ahead(messages[:20])) is None


def test_a_view_blocks_no_running_loop() -> None:
    """Sync code in a loop gets the configuration's own digest, and a note, not a model's answer."""
    asked: list[str] = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        return "## Done\nA lot."

    async def inside(**options: Any) -> list[str]:
        summary = SummarizationStrategy(max_summary_tokens=200, **options)
        config = ContextConfig(2_000, 1_500, "summarization", summarization_options=summary)
        view = config.make_view()
        prepared = view.prepare_sync(talk(40))
        assert prepared.messages[1].summary is not None
        assert view.shrink_sync(prepared.messages) is not None
        return [note.kind for note in prepared.notes]

    assert asyncio.run(inside(summarize_with=ask)) == ["summary_by_digest"]
    assert asyncio.run(inside()) == []
    assert asked == []


def test_a_hook_must_return_a_decision() -> None:
    """None is no decision."""
    hook: Any = lambda _: None  # noqa: E731

    with pytest.raises(ConfigError, match="return CompactDecision"):
        compact(manager(on_pre_compact=hook), talk(40))


@EVERY
def test_a_hook_that_raises_cancels(strategy: str, caplog: pytest.LogCaptureFixture) -> None:
    """What it was to do first, perhaps a copy, is not done: so nothing goes. The log says why."""

    def hook(_: CompactContext) -> CompactDecision:
        raise OSError("the disk is full")

    messages = talk(40)

    assert compact(manager(strategy=strategy, on_pre_compact=hook), messages) is messages
    assert "on_pre_compact raised" in caplog.text
    assert "the disk is full" in caplog.text


def test_a_cancellation_passes_the_hook() -> None:
    """Whoever stops the program is not kept waiting."""

    async def hook(_: CompactContext) -> CompactDecision:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        compact(manager(on_pre_compact=hook), talk(40))


@EVERY
def test_long_run_stays_within_window(strategy: str) -> None:
    """C7: a hundred messages, several compactions, never over, and shorter in the end."""
    of, history, compactions = manager(strategy=strategy), talk(0), 0

    for message in talk(100)[1:]:
        history = [*history, message]
        if of.should_compact(history):
            history, compactions = compact(of, history), compactions + 1
        assert of.count_tokens(history) <= 2_000

    assert compactions > 1
    assert len(history) < 100


@EVERY
@given(messages=conversations(max_rounds=12), target=st.integers(50, 1_500))
@settings(max_examples=40, deadline=None)
def test_no_chain_is_broken(strategy: str, messages: list[Message], target: int) -> None:
    """Whatever the conversation and the sizes, rounds stay whole; over the target says so."""
    of = manager(strategy=strategy, target_tokens=target)

    kept = compact(of, messages)

    if kept is messages:
        return
    whole = {tuple(map(id, found.messages)) for found in split_rounds(messages)}
    for found in split_rounds(kept):
        assert found.messages[0].summary or tuple(map(id, found.messages)) in whole
        assert not found.orphaned
