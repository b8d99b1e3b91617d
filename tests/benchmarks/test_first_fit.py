"""What the first cut of a long list costs, in calls of functions and in bytes."""

import json
from collections.abc import Callable

from agentic._base._waiting import computing_here
from agentic.bridges.dicts import Conversation
from agentic.providers import openai_chat
from benchmarks.first_fit import WIDE, bytes_of, make_messages

_CALLS = 360
"""For each message, all in all: 334 on 2026-11-28, of which 34 decode it."""
_RATIO = 3.0
"""The bytes of a conversation by those of its owner's list: 2.6 on 2026-11-28."""


def test_first_cut_takes_few_calls(count_calls: Callable[[Callable[[], object]], int]) -> None:
    """Each part of a fit asks a message a few questions, and none of them twice."""
    messages = make_messages(400)
    with computing_here():
        Conversation(openai_chat, 4_000).fit(make_messages(100))  # loads what is needed

        calls = count_calls(lambda: Conversation(openai_chat, 4_000).fit(messages))

    assert calls <= _CALLS * len(messages)


def test_conversation_takes_little_memory() -> None:
    """Texts are those of the owner, and a message has one record in each part of a View."""
    text = json.dumps(make_messages(400))

    def fit() -> object:
        messages, conversation = json.loads(text), Conversation(openai_chat, WIDE)
        conversation.fit(messages)
        return messages, conversation

    alone = bytes_of(lambda: json.loads(text))

    assert bytes_of(fit) - alone <= _RATIO * alone
