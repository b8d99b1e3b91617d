"""Rows C2 to C6: context management as open-agent-sdk has it, each test a row in its words."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from agentic.compat.open_agent_sdk import (
    CompactContext,
    CompactDecision,
    ContextConfig,
    ContextManager,
    ImportanceStrategy,
    SummarizationStrategy,
    TruncationStrategy,
)
from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.tokens import CharCounter

STRATEGIES = ["truncation", "importance", "summarization"]
EVERY = pytest.mark.parametrize("strategy", STRATEGIES)


def asks(of: Callable[..., object]) -> str:
    """Return a signature without its annotations."""
    found = inspect.signature(of)
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def round_of(name: str, output: str = "done", error: ToolError | None = None) -> list[Message]:
    """Make a tool chain: a call and its result."""
    return [
        Message("assistant", tool_calls=[ToolCall(name, "run")]),
        Message("tool", tool_results=[ToolResult(name, "run", output, error)]),
    ]


def say(count: int, words: int = 30) -> list[Message]:
    """Make a conversation of a user and an assistant who never say the same."""
    roles = ("user", "assistant")
    return [
        Message(roles[n % 2], f"{'question' if n % 2 == 0 else 'answer'} number {n} " * words)  # type: ignore[arg-type]
        for n in range(count)
    ]


def compact(messages: list[Message], **options: Any) -> list[Message]:
    """Compact a conversation under a configuration."""
    instructions = options.pop("custom_instructions", None)
    manager = ContextManager(ContextConfig(**options))
    return asyncio.run(manager.compact(messages, custom_instructions=instructions))


def test_truncation_strategy() -> None:
    """Names and defaults: keep_recent=10, preserve_system=True, preserve_tool_chains=True."""
    assert asks(TruncationStrategy) == (
        "(keep_recent=10, preserve_system=True, preserve_tool_chains=True)"
    )


def test_keep_recent_keeps_last_ones() -> None:
    """Ten, the system prompt not among them."""
    messages = [Message("system", "Be brief."), *say(30)]

    assert TruncationStrategy().compact(messages) == [messages[0], *messages[-10:]]


@pytest.mark.parametrize(("preserve", "kept"), [(True, [0, 7, 8]), (False, [7, 8])])
def test_preserve_system(preserve: bool, kept: list[int]) -> None:
    """Not preserved, a system prompt goes like any other message."""
    messages = [Message("system", "Be brief."), *say(8)]

    view = TruncationStrategy(2, preserve_system=preserve).compact(messages)

    assert view == [messages[at] for at in kept]


@pytest.mark.parametrize(("preserve", "kept"), [(True, [2, 3, 4]), (False, [4])])
def test_preserve_tool_chains(preserve: bool, kept: list[int]) -> None:
    """A chain across the cut stays whole or goes whole: never half of it."""
    messages = [*say(2), *round_of("a"), Message("user", "And now?")]

    view = TruncationStrategy(2, preserve_tool_chains=preserve).compact(messages)

    assert view == [messages[at] for at in kept]


def test_importance_strategy() -> None:
    """Names and defaults: five numbers."""
    assert asks(ImportanceStrategy) == (
        "(keep_recent=10, user_message_score=1.0, assistant_message_score=0.6, "
        "tool_use_score=1.0, min_score_threshold=0.3)"
    )


TASTE = "It is a matter of taste, and mine is to leave it as it stands. "
READ = ToolCall("b", "read", '{"path": "out/report_7.json"}')


@pytest.mark.parametrize(
    ("what", "score"),
    [
        ([Message("assistant", "Sure.")], 0.24),  # short acknowledgements lower
        ([Message("assistant", TASTE * 2)], 0.6),  # assistant_message_score
        ([Message("assistant", TASTE * 20)], 0.7),  # long answers medium
        (
            [
                Message("assistant", "I put it in out/report_7.json."),
                Message("assistant", tool_calls=[READ]),
                Message("tool", tool_results=[ToolResult("b", "read", "{}")]),
            ],
            0.9,  # what is referenced later higher
        ),
    ],
)
def test_assistants_words_are_weighed(what: list[Message], score: float) -> None:
    """It stays below its score as the threshold, and goes above."""
    messages = [*what, Message("user", "Go on.")]

    low, high = (
        ImportanceStrategy(1, min_score_threshold=score + step).compact(messages)
        for step in (-0.01, 0.01)
    )

    assert what[0] in low
    assert what[0] not in high


def test_users_and_tools_score_full() -> None:
    """Nothing that a user said and no tool chain goes, however high the threshold."""
    messages = [Message("user", "hm"), *round_of("t"), Message("user", "Go on.")]

    assert ImportanceStrategy(1, min_score_threshold=1.0).compact(messages) is messages


def test_an_error_scores_higher() -> None:
    """Where calls score little, one that failed outlives one that did not."""
    failed, task = round_of("a", error=ToolError("no such file")), [Message("user", "Go on.")]
    strategy = ImportanceStrategy(1, tool_use_score=0.2)

    view = strategy.compact([*failed, *round_of("b"), *task])

    assert view == [*failed, *task]


def test_system_recent_and_chains_stay() -> None:
    """System messages and the recent ones whatever they score; a chain whole or not at all."""
    nothing = ImportanceStrategy(3, 0.0, 0.0, 0.0, min_score_threshold=1.0)
    prompt = Message("system", "Be brief.")
    messages = [prompt, *say(4), *round_of("a"), *say(3), *round_of("b")]

    assert nothing.compact(messages) == [prompt, *messages[-3:]]


def test_summarization_strategy() -> None:
    """Names and defaults: keep_recent=10, a chunk of 20, 500 tokens, no model of its own."""
    assert asks(SummarizationStrategy) == (
        "(keep_recent=10, summarize_chunk_size=20, max_summary_tokens=500, summarize_with=None)"
    )


@pytest.mark.parametrize(("length", "passes"), [(30, 1), (31, 2), (50, 2), (70, 3)])
def test_chunk_is_one_folding_pass(length: int, passes: int) -> None:
    """Twenty messages a pass; each pass is given the summary of those before."""
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        prompts.append(prompt)
        return f"## Done\nPass {len(prompts)}."

    messages = say(length)
    kept = compact(
        messages,
        strategy="summarization",
        summarization_options=SummarizationStrategy(summarize_with=ask),
    )

    assert len(prompts) == passes
    assert all(f"Pass {n}." in prompt for n, prompt in enumerate(prompts) if n)
    assert [message.summary is not None for message in kept] == [True, *[False] * 10]
    assert kept[1:] == messages[-10:]
    assert kept[0].summary is not None
    assert kept[0].summary.content == f"## Done\nPass {passes}."


@pytest.mark.parametrize("by_model", [True, False])
def test_summary_keeps_to_its_tokens(by_model: bool) -> None:
    """Whoever writes it: 500 tokens by the configuration's counter."""

    async def ask(_: str) -> str:
        return "\n".join(f"- fact number {n}, which is true" for n in range(1_000))

    options = SummarizationStrategy(summarize_with=ask if by_model else None)
    kept = compact(say(200), strategy="summarization", summarization_options=options)

    assert kept[0].summary is not None
    assert 50 < CharCounter().count(kept[0].summary.content) <= 500


def test_context_config() -> None:
    """Names and defaults, word for word."""
    assert asks(ContextConfig) == (
        "(max_context_tokens=32000, target_tokens=28000, strategy='truncation', "
        "truncation_options=None, importance_options=None, summarization_options=None, "
        "token_counter=None, on_pre_compact=None)"
    )


def test_it_builds_a_manager() -> None:
    """With should_compact, compact and count_tokens."""
    assert asks(ContextManager) == "(config)"
    assert asks(ContextManager.should_compact) == "(self, messages)"
    assert asks(ContextManager.count_tokens) == "(self, messages)"
    assert asks(ContextManager.compact) == "(self, messages, *, custom_instructions=None)"


@EVERY
def test_target_is_trigger_not_size(strategy: str) -> None:
    """One token over it is due; what a cut leaves is by the strategy, here far below."""
    messages = say(200)
    size = ContextManager(ContextConfig()).count_tokens(messages)
    at, over = (
        ContextManager(ContextConfig(size + 1_000, target, strategy))  # type: ignore[arg-type]
        for target in (size, size - 1)
    )

    assert (at.should_compact(messages), over.should_compact(messages)) == (False, True)
    if strategy != "importance":
        assert over.count_tokens(asyncio.run(over.compact(messages))) < size / 4


@EVERY
def test_rewriting_spares_the_given_list(strategy: str) -> None:
    """A new list comes back; nothing of the caller's changes."""
    messages = say(300)
    before = list(messages)

    kept = compact(messages, strategy=strategy, max_context_tokens=9_000, target_tokens=8_000)

    assert len(kept) < len(messages)
    assert all(one is other for one, other in zip(messages, before, strict=True))


def test_context_and_decision() -> None:
    """Names, order and defaults of what the hook is given and gives."""
    assert asks(CompactContext) == (
        "(trigger, current_tokens, target_tokens, message_count, custom_instructions=None)"
    )
    assert asks(CompactDecision) == "(cancel=False, custom_instructions=None, custom_summary=None)"


@EVERY
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(("length", "trigger"), [(300, "auto"), (14, "manual")])
def test_hook_guards_every_compaction(
    strategy: str, waits: bool, length: int, trigger: str
) -> None:
    """Sync or async; cancel means untouched."""
    told: list[CompactContext] = []

    def hook(context: CompactContext) -> CompactDecision:
        told.append(context)
        return CompactDecision(cancel=True)

    async def waiting(context: CompactContext) -> CompactDecision:
        await asyncio.sleep(0)
        return hook(context)

    messages = say(length)
    kept = compact(
        messages,
        strategy=strategy,
        max_context_tokens=9_000,
        target_tokens=8_000,
        on_pre_compact=waiting if waits else hook,
        custom_instructions="Keep names.",
    )

    assert kept is messages
    size = ContextManager(ContextConfig()).count_tokens(messages)
    assert told == [CompactContext(trigger, size, 8_000, length, "Keep names.")]  # type: ignore[arg-type]


@EVERY
def test_custom_summary_replaces_the_compactors(strategy: str) -> None:
    """No model is asked; the text stands where the summary would."""

    async def ask(_: str) -> str:
        raise AssertionError("there is a summary already")

    kept = compact(
        say(100),
        strategy=strategy,
        summarization_options=SummarizationStrategy(summarize_with=ask),
        on_pre_compact=lambda _: CompactDecision(custom_summary="They talked of numbers."),
    )

    assert kept[0].summary is not None
    assert kept[0].summary.content == "They talked of numbers."
    assert len(kept) == 11
