"""Recorded sessions, as the framework's items, in a session and back."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.bridges.openai_agents import StoreSession
from agentic.history import MemoryStore
from agentic.providers import openai_responses
from agentic.replay import read_transcripts

pytestmark = pytest.mark.corpus


def test_recorded_sessions_come_back(recorded_path: Callable[[str], Path]) -> None:
    """Every text, call and output; and the items byte for byte."""
    paths = [path for path in recorded_path("transcripts").glob("*.jsonl") if path.stem != "index"]
    transcripts = [each for path in paths for each in read_transcripts(path)]

    async def through(items: list[Any]) -> list[Any]:
        session = StoreSession(MemoryStore())
        for start in range(0, len(items), 50):
            await session.add_items(items[start : start + 50])
        return await session.get_items()

    assert transcripts
    for transcript in transcripts:
        items = openai_responses.encode(transcript.messages)
        text = json.dumps(items)
        assert json.dumps(asyncio.run(through(items))) == text
        for message in transcript.messages:
            said = [message.content, *(call.arguments for call in message.tool_calls)]
            said += [result.output for result in message.tool_results]
            assert all(json.dumps(each)[1:-1] in text for each in said)
