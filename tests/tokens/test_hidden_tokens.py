"""The size of thinking that a reply does not show."""

import attrs
import pytest
from hypothesis import given

from agentic.messages import Message, ProviderPayload, ToolCall
from agentic.testing import conversations
from agentic.tokens import CharCounter, hidden_tokens
from agentic.usage import Usage

COUNTER = CharCounter(1)
SIGNED = ProviderPayload(
    "anthropic",
    {"content": [{"type": "thinking", "thinking": "", "signature": "c2ln" * 1_000}]},
)


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (Message("assistant", "x" * 100, usage=Usage(9, 1_300), native=SIGNED), 1_200),
        (Message("assistant", "x" * 100, usage=Usage(9, 1_300), reasoning="y" * 50), 1_200),
        (
            Message(
                "assistant",
                tool_calls=[ToolCall("c1", "read", "z" * 96)],
                usage=Usage(9, 1_300),
                native=SIGNED,
            ),
            1_200,
        ),
        (Message("assistant", "x" * 100, usage=Usage(9, 1_300, reasoning=900)), 900),
        (Message("assistant", "x" * 100, usage=Usage(9, 60), native=SIGNED), 0),
        (Message("assistant", "x" * 100, native=SIGNED), 0),
    ],
)
def test_hidden_tokens_are_output_without_what_is_visible(message: Message, tokens: int) -> None:
    """Neither the visible part of the thinking nor its signature is counted as text."""
    assert hidden_tokens(message, COUNTER) == tokens


@given(conversations())
def test_hidden_tokens_never_exceed_the_output(conversation: list[Message]) -> None:
    """Whatever a reply says, and whatever its payload holds."""
    for message in conversation:
        for each in (message, attrs.evolve(message, usage=Usage(9, 300))):
            output = each.usage.output if each.usage else 0
            assert 0 <= hidden_tokens(each, COUNTER) <= output
