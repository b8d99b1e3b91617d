import asyncio
import re
from collections.abc import Callable

import pytest

from agentic.context.compactors import Digest, message_ref
from agentic.messages import ContextSummary, Message

pytestmark = pytest.mark.corpus
Cut = Callable[[str, str], str]


def test_real_sessions_keep_the_size(transcripts: list[list[Message]]) -> None:
    """At every size, and what can be said fills it."""
    for messages in transcripts:
        for max_tokens in (200, 2000, 20_000):
            got = asyncio.run(Digest(max_tokens=max_tokens).compact(messages))
            assert 0 < len(got) <= 4 * max_tokens


def test_real_digests_can_be_digested_again(transcripts: list[list[Message]]) -> None:
    """What is written is read back, whatever stands in a session."""
    for messages in transcripts:
        once = asyncio.run(Digest().compact(messages))
        again = asyncio.run(Digest().compact([ContextSummary(once, 9).to_message()]))
        assert again == once


def test_real_requests_are_kept_word_for_word_where_there_is_room(
    transcripts: list[list[Message]],
) -> None:
    """With room for everything nothing is missing; what only looks like a user is an output."""
    for messages in filter(_calls_tools, transcripts):
        got = asyncio.run(Digest(max_tokens=400_000).compact(messages))
        asked = [message.content for message in messages if message.role == "user"]
        assert all(content in got for content in asked)


def test_real_sessions_in_ten_generations_keep_their_task(
    transcripts: list[list[Message]],
) -> None:
    """The beginning of the first request is there to the end."""
    for messages in filter(_task, transcripts):
        got = ""
        step = -(-len(messages) // 10)
        for start in range(0, len(messages), step):
            former = [ContextSummary(got, start).to_message()] if got else []
            got = asyncio.run(Digest().compact([*former, *messages[start : start + step]]))
        assert _task(messages)[:100] in got


def test_real_references_lead_to_messages(transcripts: list[list[Message]]) -> None:
    """Through four generations, whatever was said, attached or pasted."""
    digest = Digest(max_tokens=1000, recall="recall")
    found: set[str] = set()
    for messages in transcripts:
        got = ""
        step = -(-len(messages) // 4)
        for start in range(0, len(messages), step):
            former = [ContextSummary(got, start).to_message()] if got else []
            got = asyncio.run(digest.compact([*former, *messages[start : start + step]]))
            assert len(got) <= 4000
        references = set(re.findall(r'left out: recall\(ref="(text-[0-9a-f]+)"\)', got))
        assert references <= set(map(message_ref, messages))
        found |= references
    assert found


def _calls_tools(messages: list[Message]) -> bool:
    return any(message.tool_calls for message in messages)


def _task(messages: list[Message]) -> str:
    return next((message.content for message in messages if message.role == "user"), "")
