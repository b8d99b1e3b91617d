import inspect
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentic.testing import conversations
from agentic.tokens import CharCounter, approx_token_counter, count_message_tokens, count_tokens
from agentic.usage import Usage

CHARS = CharCounter(1)
BARE = Message("assistant", "abc")


@pytest.mark.parametrize("count", [count_message_tokens, count_tokens])
def test_options_are_the_sources(count: Callable[..., int]) -> None:
    """Row E6: names and defaults."""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(count).parameters.items()
    }

    assert defaults["counter"] is approx_token_counter
    assert defaults["per_message_overhead"] == 4
    assert defaults["tokens_per_media"] == 600


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (Message("user"), 0),
        (BARE, 3),
        (BARE.replace(reasoning="hmm"), 6),
        (BARE.replace(tool_calls=[ToolCall("c1", "run", "{ }")]), 9),
        (BARE.replace(tool_calls=[ToolCall("c1", "ls"), ToolCall("c2", "ls", "")]), 9),
        (Message("tool", tool_results=[ToolResult("c1", "run", "1234")]), 4),
        (Message("tool", tool_results=[ToolResult("c1", error=ToolError("12"))]), 2),
        (Message("tool", tool_results=[ToolResult("c1", notice="[1]")]), 3),
        (Message("tool", "ab", tool_results=[ToolResult("1", "", "c")] * 2), 4),
        (Message("user", media=[Media("image/png", b"\x89PNG" * 999), Media("audio/wav")]), 1200),
    ],
)
def test_what_the_model_reads_is_counted(message: Message, tokens: int) -> None:
    """Texts, calls, outputs, errors and notices by the counter; media flat, whatever their size."""
    assert count_message_tokens(message, CHARS, per_message_overhead=0) == tokens


@pytest.mark.parametrize(
    "beside",
    [
        {"pinned": True},
        {"id": "m1"},
        {"usage": Usage(10**6, 10**6)},
        {"native": ProviderPayload("example", ["x" * 999])},
        {"extra": {"mood": "x" * 999}},
        {"summary": ContextSummary("x" * 999, 3)},
    ],
)
def test_what_models_never_read_costs_nothing(beside: dict[str, object]) -> None:
    """What rides on a message costs nothing."""
    assert count_message_tokens(attrs.evolve(BARE, **beside), CHARS) == 7


@given(messages=conversations(), data=st.data())
def test_conversation_is_sum_of_parts(messages: list[Message], data: st.DataObject) -> None:
    """Wherever it is divided; an overhead is per message."""
    cut = data.draw(st.integers(0, len(messages)))

    assert count_tokens(messages) == count_tokens(messages[:cut]) + count_tokens(messages[cut:])
    assert count_tokens(messages, per_message_overhead=9) == (
        count_tokens(messages, per_message_overhead=0) + 9 * len(messages)
    )


@given(messages=conversations())
def test_media_cost_what_is_said(messages: list[Message]) -> None:
    """A flat estimate for each, also for those of results."""
    media = sum(len(message.media) for message in messages)
    media += sum(len(each.media) for message in messages for each in message.tool_results)

    dear = count_tokens(iter(messages), CHARS, tokens_per_media=1000)

    assert dear == count_tokens(messages, CHARS, tokens_per_media=0) + 1000 * media


def test_text_beginning_like_data_url_counts() -> None:
    """Server-sent events and CSV may follow the word; only a whole URL is an image."""
    text = "data: " + "x" * 94

    assert count_message_tokens({"role": "user", "content": text}, CHARS) == 4 + 100


def test_deeply_nested_dict_is_counted() -> None:
    """Deeper than Python can call itself, as JSON of a small model may be."""
    deep: Any = "x" * 7
    for _ in range(5_000):
        deep = [deep]

    assert count_message_tokens({"role": "user", "content": deep}, CHARS) == 4 + 7
