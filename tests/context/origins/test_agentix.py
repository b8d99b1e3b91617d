"""Rows E1 to E6: agentix.context, each test a row in its words."""

import asyncio
import inspect
import itertools
from collections.abc import Callable

import pytest

from agentic import loop, tokens
from agentic.context import count_message_tokens, count_tokens
from agentic.context.strategies import (
    Chain,
    ContextStrategy,
    Fit,
    FitContextWindow,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.messages import Media, Message, ToolCall, ToolResult, split_rounds
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import HeuristicTokenCounter, approx_token_counter

SIZES = "counter=CharCounter(chars_per_token=4.0), *, "


def asks(of: Callable[..., object]) -> str:
    """Return a signature without its annotations."""
    found = inspect.signature(of)
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def tool_rounds(count: int, size: int = 400) -> list[Message]:
    """Make tool rounds of a call and a result of this many characters, with a word between."""
    talk: list[Message] = []
    for n in range(count):
        talk += [
            Message("assistant", f"Look {n}.", tool_calls=[ToolCall(f"c{n}", "read")]),
            Message("tool", tool_results=[ToolResult(f"c{n}", "read", "x" * size)]),
            Message("assistant", f"Seen {n}."),
        ]
    return talk


TASK = [Message("system", "You review."), Message("user", "Review it.")]


def test_default_is_a_no_op() -> None:
    """The same list object when nothing changed."""

    class Mine(ContextStrategy):
        pass

    messages = [*TASK, *tool_rounds(3)]

    assert Mine().compact(messages) is messages


@pytest.mark.parametrize(
    "strategy",
    [TrimRounds(9), TruncateToolOutputs(9_000), FitContextWindow(90_000), Chain([TrimRounds(9)])],
)
def test_unchanged_list_is_the_same(strategy: ContextStrategy) -> None:
    """So that whoever asked can tell."""
    messages = [*TASK, *tool_rounds(3)]

    assert strategy.compact(messages) is messages


class Last:
    """Fits structurally: it inherits from nothing."""

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Keep the last message."""
        return messages[-1:]


def last(messages: list[Message]) -> list[Message]:
    """Keep the last message: a plain callable."""
    return messages[-1:]


@pytest.mark.parametrize("strategy", [Last(), last])
def test_whatever_fits_is_a_strategy(strategy: Last | Callable[..., list[Message]]) -> None:
    """An object with the method, or a callable: in a chain and in the loop."""
    said = [Message("user", "one"), Message("user", "two")]
    decider = ScriptedDecider("Hello.")

    asyncio.run(loop.Runner(decider, strategies=[strategy]).run(loop.Request("hi", history=said)))

    assert Chain([strategy]).compact(said) == said[-1:]
    assert [message.content for message in decider.requests[0].history] == ["hi"]


@pytest.mark.parametrize(("keep", "changes"), [(TrimRounds(9), 0), (last, 1)])
def test_only_changed_view_is_told(
    keep: ContextStrategy | Callable[..., list[Message]], changes: int
) -> None:
    """`context_changed` fires only when a strategy changed the view."""
    request = loop.Request("hi", history=[Message("user", "one"), Message("assistant", "two")])

    with EventRecorder() as recorder:
        asyncio.run(loop.Runner(ScriptedDecider("Hello."), strategies=[keep]).run(request))

    assert recorder.names.count("context_changed") == changes


def test_trim_rounds() -> None:
    """System prompt, task, the newest rounds and what stands between them."""
    messages = [*TASK, *tool_rounds(9)]

    assert asks(TrimRounds) == "(max_rounds)"
    assert TrimRounds(2).compact(messages) == [*TASK, *messages[-6:]]


def test_truncate_tool_outputs() -> None:
    """In place, pairing kept, idempotent: what was clipped is not clipped again."""
    messages = [*TASK, *tool_rounds(2, 1_000), *tool_rounds(1, 50)]

    once = TruncateToolOutputs(100).compact(messages)
    again = TruncateToolOutputs(100).compact(once)

    assert asks(TruncateToolOutputs) == "(max_chars, *, recall=None)"
    assert [message.role for message in once] == [message.role for message in messages]
    assert [len(result.output) for each in once for result in each.tool_results] == [100, 100, 50]
    assert not any(found.orphaned or found.open_calls for found in split_rounds(once))
    assert again is once


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_the_heuristic_counter_rounds_up(text: str, count: int) -> None:
    """`HeuristicTokenCounter(chars_per_token=4.0)`, and `approx_token_counter` is one."""
    assert asks(HeuristicTokenCounter) == "(chars_per_token=4.0)"
    assert HeuristicTokenCounter().count(text) == approx_token_counter.count(text) == count
    assert HeuristicTokenCounter(2.0).count(text) == -(-len(text) // 2)


def test_fit_context_window() -> None:
    """Names and defaults of the source, `low_watermark`, and an option of our own."""
    assert asks(FitContextWindow) == (
        f"(max_tokens, {SIZES}reserve_tokens=0, per_message_overhead=4, tokens_per_media=600, "
        "low_watermark=0.75, digest=None)"
    )


def test_prefix_task_then_fitting_rounds() -> None:
    """With `low_watermark=1.0` as many as fit: one more would not."""
    messages = [*TASK, *tool_rounds(30)]

    fit = FitContextWindow(1_000, reserve_tokens=200, low_watermark=1.0).fit(messages)

    assert fit.messages[:2] == TASK
    assert fit.messages[2:] == messages[-len(fit.messages) + 2 :]
    assert fit.tokens == count_tokens(fit.messages) <= 800
    assert fit.tokens + count_tokens(messages[-len(fit.messages) : -len(fit.messages) + 2]) > 800


def test_low_water_cuts_rarely_deeply() -> None:
    """Turn by turn the view starts anew far less often than one that keeps as much as fits."""
    messages = [*TASK, *tool_rounds(60)]

    def breaks(strategy: FitContextWindow) -> int:
        views = [strategy.compact(messages[:length]) for length in range(2, len(messages), 3)]
        pairs = itertools.pairwise(views)
        return sum(after[: len(before)] != before for before, after in pairs)

    assert breaks(FitContextWindow(1_600)) * 3 < breaks(FitContextWindow(1_600, low_watermark=1.0))


def test_minimum_is_kept_even_over() -> None:
    """Prefix, task and the newest round; and which of them is most of it."""
    messages = [*TASK, *tool_rounds(3, 4_000)[:-1]]

    assert FitContextWindow(500).fit(messages) == Fit(
        [*TASK, *messages[-2:]], count_tokens([*TASK, *messages[-2:]]), fits=False
    )
    assert FitContextWindow(500).fit(messages).too_large == "the newest round"


def test_the_counts() -> None:
    """Text, tool calls, a flat estimate a media part, overhead; keywords as in the source."""
    tail = f"{SIZES}per_message_overhead=4, tokens_per_media=600)"
    picture = Media("image/png", b"\x89PNG")
    call = Message("assistant", "text", tool_calls=[ToolCall("c1", "read", '{"a": 1}')])

    assert asks(count_message_tokens) == f"(message, {tail}"
    assert asks(count_tokens) == f"(messages, {tail}"
    assert count_message_tokens(call) == 1 + 1 + 2 + 4
    assert count_message_tokens(Message("user", media=[picture] * 2)) == 2 * 600 + 4
    assert count_tokens([call, call], per_message_overhead=0) == 2 * 4
    assert count_tokens([Message("user", media=[picture])], tokens_per_media=85) == 89
    assert count_tokens is tokens.count_tokens
