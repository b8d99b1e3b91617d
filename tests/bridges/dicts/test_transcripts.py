"""Recorded sessions in the message types of the frameworks that the pages about `dicts` are for."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from agentic.messages import Message
from agentic.providers import bedrock, gemini, openai_chat

pytestmark = [pytest.mark.corpus, pytest.mark.long]  # each session three times


def _content(item: Any) -> Any:
    """Return an item that went through the type of Google ADK's requests."""
    types = pytest.importorskip("google.genai.types")
    return types.Content.model_validate(item).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )


def _json(item: Any) -> Any:
    """Return an item that was saved; Strands and mini-swe-agent keep dicts."""
    return json.loads(json.dumps(item))


def _says(messages: list[Message]) -> list[Any]:
    """Return what messages say, whichever messages of the wire say it."""
    return [
        *(message.content for message in messages if message.content),
        *((call.name, call.parse()) for m in messages for call in m.tool_calls),
        *((part.media_type, part.data, part.url) for m in messages for part in m.all_media),
    ]


@pytest.mark.parametrize(
    ("wire", "through"),
    [(bedrock, _json), (gemini, _content), (openai_chat, _json)],
    ids=["strands", "google-adk", "mini-swe-agent"],
)
def test_recorded_sessions_survive_the_type(
    transcripts: dict[str, list[Message]], wire: ModuleType, through: Callable[[Any], Any]
) -> None:
    """Each item is the same on the other side, and what it says is what the session says."""
    for messages in transcripts.values():
        items = wire.encode(messages)

        back = [through(item) for item in items]

        assert back == items
        said = _says(wire.decode(back))
        assert said == _says(wire.decode(items))
        texts = "\n".join(each for each in said if isinstance(each, str))
        assert all(m.content in texts for m in messages if m.role in {"user", "assistant"})
