"""What a model made besides text is in the decision, in the history, and goes back as it came."""

import asyncio
import base64
from types import ModuleType
from typing import Any

import pytest

from agentic.durable._records import decode_decision, encode_decision
from agentic.loop import Decision, Request, Runner
from agentic.messages import Media, Message, from_plain, to_plain
from agentic.providers import bedrock, gemini, ollama, openai_chat, openai_responses
from agentic.testing import ScriptedDecider

CAT = Media("image/png", b"\x89PNG\r\n\x1a\n-cat")
DATA = base64.b64encode(CAT.data).decode()
_URL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
_TEXT = {"type": "text", "text": "A cat."}


def _chat(message: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


REPLIES: dict[str, tuple[ModuleType, Any, Any]] = {
    "chat, a part": (
        openai_chat,
        _chat({"content": [_TEXT, _URL]}),
        {"role": "assistant", "content": [_TEXT, _URL]},
    ),
    # https://openrouter.ai/docs/features/multimodal/image-generation (2026-11)
    "chat, OpenRouter's field": (
        openai_chat,
        _chat({"content": "A cat.", "images": [_URL]}),
        {"role": "assistant", "content": "A cat.", "images": [_URL]},
    ),
    "ollama": (
        ollama,
        {"message": {"role": "assistant", "content": "A cat.", "images": [DATA]}, "done": True},
        {"role": "assistant", "content": "A cat.", "images": [DATA]},
    ),
    "bedrock": (
        bedrock,
        {
            "output": {
                "message": {
                    "role": "assistant",
                    "content": [
                        {"text": "A cat."},
                        {"image": {"format": "png", "source": {"bytes": DATA}}},
                    ],
                }
            },
            "stopReason": "end_turn",
        },
        {
            "role": "assistant",
            "content": [
                {"text": "A cat."},
                {"image": {"format": "png", "source": {"bytes": DATA}}},
            ],
        },
    ),
    "gemini": (
        gemini,
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "A cat."},
                            {"inlineData": {"mimeType": "image/png", "data": DATA}},
                        ],
                    },
                    "finishReason": "STOP",
                }
            ]
        },
        {
            "role": "model",
            "parts": [
                {"text": "A cat."},
                {"inlineData": {"mimeType": "image/png", "data": DATA}},
            ],
        },
    ),
    "responses": (
        openai_responses,
        {
            "status": "completed",
            "output": [
                {
                    "type": "image_generation_call",
                    "id": "ig_1",
                    "status": "completed",
                    "output_format": "png",
                    "result": DATA,
                }
            ],
        },
        {
            "type": "image_generation_call",
            "id": "ig_1",
            "status": "completed",
            "output_format": "png",
            "result": DATA,
        },
    ),
}
EVERY = pytest.mark.parametrize("name", REPLIES)


def _history(name: str) -> list[Message]:
    """Return the history after a run whose reply is this one."""
    adapter, response, _ = REPLIES[name]
    runner = Runner(ScriptedDecider(adapter.decode_response(response)))
    return list(asyncio.run(runner.run(Request("Draw a cat."))).history)


@EVERY
def test_decision_has_what_the_model_made(name: str) -> None:
    """Whatever part of the reply it was in."""
    adapter, response, _ = REPLIES[name]

    decision = adapter.decode_response(response)

    assert [(each.media_type, each.data) for each in decision.media] == [("image/png", CAT.data)]
    assert decode_decision(encode_decision(decision)).media == decision.media


@EVERY
def test_picture_goes_back_as_it_came(name: str) -> None:
    """From the history of a run, and from one that was stored."""
    adapter, _, item = REPLIES[name]
    history = _history(name)

    stored = [from_plain(to_plain(message)) for message in history]

    assert history[-1].media[0].data == CAT.data
    assert adapter.encode(history)[-1] == item
    assert adapter.encode(stored)[-1] == item


@EVERY
def test_other_providers_are_told_of_the_picture(name: str) -> None:
    """No wire but Google's takes one from the model: its place is named."""
    adapter = openai_responses if REPLIES[name][0] is openai_chat else openai_chat

    sent = adapter.encode(_history(name))[-1]

    assert "[image/png]" in sent["content"]


@EVERY
def test_removed_picture_stays_removed(name: str) -> None:
    """The payload that still holds it is not sent."""
    adapter = REPLIES[name][0]
    history = _history(name)
    edited = history[-1].replace(content="A cat.", media=(), native=history[-1].native)

    sent = adapter.encode([*history[:-1], edited])

    assert DATA not in str(sent)
    assert "A cat." in str(sent)


def test_media_of_a_decision_are_media() -> None:
    """Anything else is refused where it is made."""
    with pytest.raises(ValueError, match=r"Decision\.media"):
        Decision("A cat.", media=["cat.png"])  # type: ignore[list-item]
