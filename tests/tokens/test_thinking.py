"""The size of thinking that a reply does not show."""

import gc
import weakref

import pytest
from hypothesis import given

from agentic.messages import Message, ProviderPayload, ToolCall
from agentic.messages._decoding import decoded_native
from agentic.testing import conversations
from agentic.tokens import CharCounter, ContextMeter
from agentic.tokens._count import TokenCache
from agentic.tokens._thinking import ThinkingSizes
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
def test_thinking_is_output_without_what_is_visible(message: Message, tokens: int) -> None:
    """Neither the visible part of the thinking nor its signature is counted as text."""
    sizes = ThinkingSizes(TokenCache(COUNTER))

    assert sizes.note(message, message.usage or Usage(9, 100)) == tokens
    # What is visible of it is counted with the other texts.
    assert sizes.size(message) == max(0, tokens - len(message.reasoning))


@given(conversations())
def test_thinking_never_exceeds_the_output(conversation: list[Message]) -> None:
    """Whatever a reply says, and whatever its payload holds."""
    sizes = ThinkingSizes(TokenCache(COUNTER))
    for message in conversation:
        usage = message.usage or Usage(9, 300)
        assert 0 <= sizes.note(message, usage) <= usage.output
    assert sizes.total(conversation) <= sizes.tokens


def _signed(text: str) -> Message:
    native = decoded_native("anthropic", SIGNED.payload, holds_reasoning=True)
    return Message("assistant", text, native=native)


def test_view_that_was_cut_has_the_thinking_of_its_replies() -> None:
    """Of a reply without its reasoning there is none; of an unknown one it is the mean."""
    meter, talk = ContextMeter(COUNTER), [Message("user", "x" * 496)]
    for number in range(9):
        reply = _signed("y" * 496)
        size = 1_000 + sum(len(each.content) + 4 for each in talk) + 2_000 * number
        meter.report(talk, reply, Usage(size, 2_496))
        talk = [*talk, reply, Message("user", "x" * 496)]

    whole = meter.measure(talk[1:])
    stripped = meter.measure([talk[1].without_reasoning(), *talk[2:]])
    anew = meter.measure([_signed("y" * 496), *talk[2:]])

    assert whole == anew == 1_000 + 18 * 500 + 9 * 2_000
    assert stripped == whole - 2_000


def test_replies_that_were_cut_are_not_kept_alive() -> None:
    """A session may have many thousands, each with its payload."""
    meter = ContextMeter(COUNTER)
    for _ in range(5):
        reply = _signed("y" * 96)
        meter.report([Message("user", "x" * 96)], reply, Usage(1_000, 300))
    former = weakref.ref(reply)
    last = _signed("y" * 96)
    meter.report([Message("user", "Something else.")], last, Usage(1_000, 300))

    del reply
    gc.collect()

    assert former() is None


def test_request_smaller_than_its_thinking_still_has_a_size() -> None:
    """A provider that drops old thinking reports less than all of it: no factor becomes zero."""
    meter, reply = ContextMeter(COUNTER), _signed("y" * 96)
    meter.report([Message("user", "x" * 1_496)], reply, Usage(1_500, 9_100))
    shorter = [reply, Message("user", "x" * 96)]

    meter.report(shorter, _signed("y" * 96), Usage(200, 100))

    assert meter.measure(shorter[1:]) > 0
    assert meter.estimate_within(10_000) > 0
