"""Recorded sessions, as the framework's items, in a session and back."""

import asyncio
import json
from typing import Any

import pytest

from agentic.bridges.openai_agents import StoreSession
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.providers import openai_responses

pytestmark = pytest.mark.corpus


def test_recorded_sessions_come_back(transcripts: dict[str, list[Message]]) -> None:
    """Every text, call and output; and the items byte for byte."""

    async def through(items: list[Any]) -> list[Any]:
        session = StoreSession(MemoryStore())
        for start in range(0, len(items), 50):
            await session.add_items(items[start : start + 50])
        return await session.get_items()

    for messages in transcripts.values():
        items = openai_responses.encode(messages)
        text = json.dumps(items)
        assert json.dumps(asyncio.run(through(items))) == text
        for message in messages:
            said = [message.content, *(call.arguments for call in message.tool_calls)]
            said += [result.output for result in message.tool_results]
            assert all(json.dumps(each)[1:-1] in text for each in said)
