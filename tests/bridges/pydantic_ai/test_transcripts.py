"""Recorded sessions go through the framework's types and back."""

from typing import Any

import pytest

from agentic.bridges.pydantic_ai import to_messages, to_model_messages
from agentic.messages import Message

pytestmark = pytest.mark.corpus


def _says(messages: list[Message]) -> list[Any]:
    """Return what messages say; the payload of the provider they came from is not carried."""
    return [
        (m.role, m.content, m.reasoning, m.tool_calls, m.tool_results, m.media) for m in messages
    ]


def test_transcripts_survive_framework(
    framework: Any, transcripts: dict[str, list[Message]]
) -> None:
    """Nothing is lost, in memory or in the framework's JSON."""
    for name, messages in transcripts.items():
        written = to_model_messages(messages)
        assert _says(to_messages(written)) == _says(messages), name
        assert _says(to_messages(framework.through_json(written))) == _says(messages), name
