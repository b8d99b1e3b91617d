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

LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
CONVERSATIONS = conversations(damaged=True) | conversations(damaged=False)


def check(messages: list[Message]) -> None:
    """Assert that the request would be taken, and can be put into bytes."""
    request = bedrock.encode_request(messages, system_prompt="Be brief.")

    assert bedrock.validate(request) == []
    assert json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert bedrock.validate(bedrock.for_boto3(request)) == []
    parted = bedrock.encode_request(messages, system_prompt="Be brief.", model=LLAMA)
    assert bedrock.validate({**parted, "modelId": LLAMA}) == []


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


_ODD = st.sampled_from([["x"], {"x": 1}, 3, None, True, "", "t1", [], {}, " "])
_INSIDE = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("toolUseId", "name", "input", "type", "content", "source"), _ODD)
)
_BLOCKS = st.dictionaries(
    st.sampled_from(["text", "toolUse", "toolResult", "image", "document", "reasoningContent"]),
    _INSIDE | _ODD,
    max_size=2,
)
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system"]) | _ODD,
        "content": st.lists(_BLOCKS | _ODD, max_size=3) | _ODD,
    },
)


@given(messages=st.lists(_MESSAGES | _ODD, max_size=4), odd=_ODD)
def test_no_odd_field_raises(messages: list[object], odd: object) -> None:
    """Wherever a text is expected, anything may stand."""
    request = {"messages": messages, "system": odd, "toolConfig": odd, "modelId": odd}

    bedrock.validate(request)
    bedrock.encode(bedrock.decode(messages))
    for model in ("", LLAMA):
        sent = bedrock.encode_request(bedrock.decode_request(request), model=model)
        bedrock.validate(bedrock.for_boto3({**sent, "modelId": model}))
