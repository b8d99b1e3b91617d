"""What a tool returned besides text goes out with its result, or after it where that is refused."""

import base64
import json
from types import ModuleType
from typing import Any

import attrs
import pytest

from agentic.messages import Media, Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

ADAPTERS = [openai_chat, openai_responses, anthropic, gemini, bedrock, ollama]
EVERY = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name)
CAT, DOG = Media("image/png", b"\x89PNG-cat"), Media("image/png", b"\x89PNG-dog")
SOUND = Media("audio/wav", b"RIFF")
CALLS = Message("assistant", tool_calls=[ToolCall("c1", "look"), ToolCall("c2", "look")])


def _history(*results: ToolResult) -> list[Message]:
    return [Message("user", "Look."), CALLS, Message("tool", tool_results=results)]


SEEN = _history(
    ToolResult("c1", "look", "a cat", media=[CAT]), ToolResult("c2", "look", "a dog", media=[DOG])
)


def _encoded(media: Media) -> str:
    return base64.b64encode(media.data).decode()


@EVERY
def test_result_media_go_out_in_order(adapter: ModuleType) -> None:
    """Each of them once, in a request that the provider accepts."""
    request = adapter.encode_request(SEEN)

    sent = json.dumps(request)
    assert adapter.validate(request) == []
    assert [sent.count(_encoded(each)) for each in (CAT, DOG)] == [1, 1]
    assert sent.index(_encoded(CAT)) < sent.index(_encoded(DOG))


@pytest.mark.parametrize("adapter", [openai_responses, anthropic, bedrock, ollama])
def test_media_go_out_inside_their_result(adapter: ModuleType) -> None:
    """What is read again has each picture in its own result."""
    parts = [m for m in adapter.decode(adapter.encode(SEEN)) if m.role == "tool"]
    media = [result.media for message in parts for result in message.tool_results]
    assert [each[0].data for each in media] == [CAT.data, DOG.data]
    assert not any(message.media for message in parts)


def test_gemini_three_takes_media_in_responses() -> None:
    """Earlier models refuse them there, and no model is named to `encode`."""
    new = gemini.encode_request(SEEN, model="gemini-3-pro-preview")
    old = gemini.encode_request(SEEN, model="gemini-2.5-pro")

    inside = [part["functionResponse"]["parts"] for part in new["contents"][-1]["parts"]]
    assert [part["inlineData"]["data"] for (part,) in inside] == [_encoded(CAT), _encoded(DOG)]
    assert "parts" not in json.dumps(old["contents"][-2]["parts"])
    assert old["contents"] == gemini.encode(SEEN)


def test_gemini_sends_other_media_after_results() -> None:
    """A sound is none of the types that a response may contain."""
    heard = _history(ToolResult("c1", "look", media=[SOUND, CAT]), ToolResult("c2", "look"))

    contents = gemini.encode_request(heard, model="gemini-3-pro")["contents"]

    assert contents[-1]["parts"][0]["inlineData"]["mimeType"] == "audio/wav"
    assert len(contents[-2]["parts"][0]["functionResponse"]["parts"]) == 1


def test_anthropic_sends_failure_media_after_results() -> None:
    """A failed result may only contain text."""
    failed = _history(ToolResult("c1", "look", error="blurred", media=[CAT]), ToolResult("c2"))

    content = anthropic.encode(failed)[-1]["content"]

    assert content[0]["content"] == "Error: blurred"
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "image"]


@pytest.mark.parametrize(
    ("model", "inside"), [("us.anthropic.claude-sonnet-4-5", True), ("us.meta.llama4", False)]
)
def test_bedrock_families_differ_on_images(model: str, inside: bool) -> None:
    """Only Claude and Nova are documented to accept an image in a result."""
    content = bedrock.encode_request(SEEN, model=model)["messages"]

    shown = [block for message in content for block in message["content"] if "image" in block]
    assert len(shown) == (0 if inside else 2)
    assert json.dumps(content).count('"image"') == 2


def test_bedrock_sends_sounds_after_results() -> None:
    """A result has no block for them."""
    heard = _history(ToolResult("c1", "look", media=[SOUND]), ToolResult("c2"))

    assert "audio" in bedrock.encode(heard)[-1]["content"][-1]


def test_outputs_without_a_place_name_media() -> None:
    """A shell's output is text: the model learns that there was a picture."""
    call = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
    reply = openai_responses.decode([call])
    results = [ToolResult("c1", "shell", "done", media=[CAT])]

    sent = openai_responses.encode([*reply, Message("tool", tool_results=results)])

    assert sent[0] == call
    assert sent[1]["output"][0]["stdout"] == "done\n[image/png]"


def _stored_before(message: Message) -> Message:
    """Return the message as an older version stored it: its results' media are its own."""
    plain = to_plain(message)
    media = [part for result in plain["tool_results"] for part in result.pop("media", [])]
    return from_plain({**plain, "media": media})


@pytest.mark.parametrize("adapter", [openai_responses, anthropic, bedrock, ollama])
def test_old_sessions_go_back_unchanged(adapter: ModuleType) -> None:
    """Although what an older version decoded had the media elsewhere."""
    wire: list[Any] = [{**item, "x_unheard_of": 1} for item in adapter.encode(SEEN)]
    messages = [
        _stored_before(message) if message.tool_results else from_plain(to_plain(message))
        for message in adapter.decode(wire)
    ]

    assert any(message.media for message in messages)
    assert adapter.encode(messages) == wire


@EVERY
def test_an_edit_of_media_is_sent(adapter: ModuleType) -> None:
    """A payload that still has the old picture is not."""
    decoded = adapter.decode(adapter.encode(SEEN))
    edited = [
        attrs.evolve(
            message, tool_results=[attrs.evolve(r, media=()) for r in message.tool_results]
        )
        if message.tool_results
        else message
        for message in decoded
        if message.role != "user" or not message.media
    ]

    assert _encoded(CAT) not in json.dumps(adapter.encode(edited))


@pytest.mark.parametrize("adapter", [openai_chat, cohere, openai_responses])
@pytest.mark.parametrize(
    ("url", "media_type", "data"),
    [
        ("data:image/svg+xml,%3Csvg%3E", "image/svg+xml", b"<svg>"),
        ("data:image/png;base64,YW\nJj", "image/png", b"abc"),
        ("data:image/png;base64,", "image/png", b""),
        ("data:image/png;base64,?", "image/png", b""),
    ],
)
def test_data_urls_are_read(adapter: ModuleType, url: str, media_type: str, data: bytes) -> None:
    """In both of their forms: most are base64, others are percent-encoded."""
    part: Any = {"type": "image_url", "image_url": {"url": url}}
    if adapter is openai_responses:
        part = {"type": "input_image", "image_url": url}

    (message,) = adapter.decode([{"role": "user", "content": [part]}])

    assert [(media.media_type, media.data) for media in message.media] == [(media_type, data)]
