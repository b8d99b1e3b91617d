"""Whatever a conversation has been through, Bedrock takes what is sent of it."""

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.messages import Message
from agentic.providers import bedrock
from agentic.testing import conversations
from agentic.tokens import CharCounter

CONVERSATIONS = conversations(damaged=True) | conversations(damaged=False)


def check(messages: list[Message]) -> None:
    """Assert that the request would be taken, and can be put into bytes."""
    request = bedrock.encode_request(messages, system_prompt="Be brief.")

    assert bedrock.validate(request) == []
    assert json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert bedrock.validate(bedrock.for_boto3(request)) == []


@given(messages=CONVERSATIONS)
def test_any_conversation_is_sent_in_a_valid_request(messages: list[Message]) -> None:
    """Damaged or not, no rule that the validator knows is broken."""
    check(messages)


@given(messages=CONVERSATIONS, tokens=st.integers(1, 2_000))
def test_a_view_is_sent_in_a_valid_request(messages: list[Message], tokens: int) -> None:
    """A strategy may leave out any of the rounds."""
    check(FitContextWindow(tokens, CharCounter()).compact(messages))


@given(messages=conversations(damaged=True))
def test_a_compacted_conversation_is_sent_in_a_valid_request(messages: list[Message]) -> None:
    """A summary takes the place of whatever is older."""
    manager = Manager(CharCounter(), Digest(), Policy(1_000))

    done = asyncio.run(manager.compact_if_needed(messages, force=True))

    check(done.messages)


@given(messages=CONVERSATIONS)
def test_what_is_sent_comes_back_as_it_was(messages: list[Message]) -> None:
    """Our own requests are wire traffic like any other."""
    request = bedrock.encode_request(messages)

    again = bedrock.encode_request(bedrock.decode_request(request))

    assert json.dumps(again["messages"]) == json.dumps(request["messages"])
    assert again.get("system") == request.get("system")


@given(messages=CONVERSATIONS, dropped=st.sets(st.integers(0, 20)), edited=st.sets(st.integers()))
def test_decoded_messages_may_be_dropped_and_edited(
    messages: list[Message], dropped: set[int], edited: set[int]
) -> None:
    """What is left of a wire conversation goes out valid, payloads and all."""
    decoded = bedrock.decode_request(bedrock.encode_request(messages))
    kept = [
        message.replace(content="edited") if i in edited else message
        for i, message in enumerate(decoded)
        if i not in dropped
    ]

    check(kept)
