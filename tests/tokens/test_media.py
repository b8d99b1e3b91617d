"""Media count what they cost with the model: by pixels, pages and seconds."""

import base64
import struct
import zlib
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.limits._lookup import media_costs
from agentic.messages import Media, Message
from agentic.providers import anthropic, gemini, openai_chat
from agentic.tokens import CharCounter, ContextMeter, count_message_tokens, for_model
from agentic.tokens._count import TokenCache
from agentic.tokens._media import image_size

# Made by Pillow 12.0: one picture of 37 by 21 pixels in each format, cut where nothing is read.
PICTURES = {
    "image/png": (
        "iVBORw0KGgoAAAANSUhEUgAAACUAAAAVCAIAAABOhrD5AAAAJklEQVR4nGM8IWfDQEfARE/LRu0btW/UvlH7"
        "Ru0btW/UvlH7qAAAMW0BTGz0GRcAAAAASUVORK5CYII="
    ),
    "image/gif": "R0lGODdhJQAVAIEAAMgePAAAAAAAAAAAACwAAAAAJQAVAEAILwABCBxIsKDBgwgTKlzIsKHDhxA=",
    "image/jpeg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/4QAsRXhpZgAATU0AKgAAAAgAAQEOAAIAAAAKAAAAGgAAAABhIHBpY3R1"
        "cmUA/9sAQwD/////////////////////////////////////////////////////////////////////////"
        "/////////////9sAQwH/////////////////////////////////////////////////////////////////"
        "/////////////////////8AAEQgAFQAlAwEiAAIRAQMRAf/EAB8A"
    ),
    "image/jpeg; progressive": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////"
        "////////////////////////////////////2wBDAf//////////////////////////////////////////"
        "////////////////////////////////////////////wgARCAAVACUDASIAAhEBAxEB/8QAFQAB"
    ),
    "image/webp": "UklGRkIAAABXRUJQVlA4IDYAAAAwAwCdASolABUAP83m7XA/uDIrJWgD8DmJZwDLLA8K",
    "image/webp; lossless": "UklGRh4AAABXRUJQVlA4TBEAAAAvJAAFAAdQjyKXp/+BiOh/AAA=",
    "image/webp; alpha": "UklGRmYAAABXRUJQVlA4WAoAAAAQAAAAJAAAFAAAQUxQSAoAAAABB1CtiAhERP8DVlA4IDYA",
}


def png(width: int, height: int, *, whole: bool = False) -> bytes:
    """Return a PNG of this size, or its beginning."""
    header = struct.pack(">II", width, height) + b"\x08\x00\x00\x00\x00"
    lines = zlib.compress(b"".join(b"\0" + b"\x7f" * width for _ in range(height if whole else 0)))
    chunks = [(b"IHDR", header), (b"IDAT", lines), (b"IEND", b"")]
    written = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def picture(width: int, height: int, detail: str = "") -> Media:
    """Return an image of this size, as an adapter reads it."""
    part = {"type": "image_url", "image_url": {"url": "data:", "detail": detail}}
    return Media("image/png", png(width, height), extra={"openai_chat": part} if detail else {})


@pytest.mark.parametrize("kind", PICTURES)
def test_size_is_read_from_the_header(kind: str) -> None:
    """Of each format that the providers take."""
    assert image_size(base64.b64decode(PICTURES[kind])) == (37, 21)


@given(st.sampled_from(sorted(PICTURES)), st.integers(0, 400), st.binary(max_size=40))
@example("image/webp; alpha", 27, b"")
def test_damaged_picture_is_never_an_error(kind: str, cut: int, junk: bytes) -> None:
    """It has a size, or none is known and it counts what the largest costs."""
    data = base64.b64decode(PICTURES[kind])[:cut] + junk

    size = image_size(data)
    counted = for_model("claude-opus-4-8").count_media(Media("image/png", data))

    assert size is None or min(size) > 0
    assert 0 < counted <= 4_784


# The tables and examples of the providers' pages, which the rows in `limits` cite.
@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        ("claude-sonnet-4-5", 200, 200, "", 64),
        ("claude-sonnet-4-5", 1_000, 1_000, "", 1_296),
        ("claude-sonnet-4-5", 1_092, 1_092, "", 1_521),
        ("claude-sonnet-4-5", 1_920, 1_080, "", 1_560),
        ("claude-sonnet-4-5", 2_000, 1_500, "", 1_564),
        ("claude-sonnet-4-5", 3_840, 2_160, "", 1_560),
        ("claude-opus-4-7", 1_920, 1_080, "", 2_691),
        ("anthropic/claude-fable-5.2", 2_000, 1_500, "", 3_888),
        ("claude-opus-5", 3_840, 2_160, "", 4_784),
        ("gpt-4o", 1_024, 1_024, "high", 765),
        ("gpt-4o", 2_048, 4_096, "high", 1_105),
        ("gpt-4o", 4_096, 8_192, "low", 85),
        ("gpt-4o-mini", 1_024, 1_024, "low", 2_833),
        ("gpt-5", 1_024, 1_024, "", 70 + 4 * 140),
        ("o3", 512, 512, "auto", 225),
        ("gpt-5-mini", 1_024, 1_024, "", 1_659),  # 1,024 squares
        ("gpt-5-mini", 1_800, 2_400, "", 2_353),  # 1,452 squares
        ("gpt-6.2-sol", 1_280, 720, "high", 1_104),
        ("gpt-6.2-sol", 1_280, 720, "low", 173),
        ("gpt-6.2-sol", 6_400, 1_440, "", 10_800),
        ("gpt-5.4", 5_600, 1_600, "original", 10_500),
        ("gpt-5.4", 6_400, 1_440, "auto", 1_152),  # 2,048 by 461 pixels
        ("gemini-2.5-pro", 384, 384, "", 258),
        ("gemini-2.5-pro", 960, 540, "", 6 * 258),
        ("gemini-3-pro-preview", 3_840, 2_160, "", 1_120),
        ("grok-4", 448, 448, "", 512),
        ("qwen3-vl-plus", 640, 480, "", 302),
        ("pixtral-12b-2409", 1_024, 1_024, "", 64 * 65),
        ("mistral-medium-2508", 1_540, 1_540, "", 55 * 56),
    ],
)
def test_image_counts_what_the_provider_says(
    model: str, width: int, height: int, detail: str, tokens: int
) -> None:
    """By the size in its header and the detail that its part asks for."""
    assert for_model(model).count_media(picture(width, height, detail)) == tokens


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-opus-5", 4_784),
        ("claude-haiku-4-5", 1_568),
        ("gpt-6.2-sol", 3_000),
        ("gpt-4o", 1_445),
    ],
)
def test_image_of_unknown_size_counts_the_most(model: str, most: int) -> None:
    """Only its address is known, or its bytes are of a format without a header that is read."""
    counter = for_model(model)

    assert counter.count_media(Media("image/png", url="https://example.com/a.png")) == most
    assert counter.count_media(Media("image/svg+xml", b"<svg/>")) == most


@given(
    st.sampled_from(["claude-opus-5", "claude-3-opus", "gpt-5.4", "gpt-5-mini", "mistral-medium"]),
    st.integers(1, 20_000),
    st.integers(1, 20_000),
)
def test_image_costs_at_most_the_most(model: str, width: int, height: int) -> None:
    """Whatever its proportions; lying or standing makes no difference where squares are counted."""
    rule = media_costs(model).image

    assert 0 < rule.count(width, height) <= rule.unknown_tokens
    assert rule.count(1, 1) <= rule.count(64, 64)


@pytest.mark.parametrize(
    ("media", "tokens"),
    [
        (Media("application/pdf", b"%PDF-1.4 " + b"/Type /Page\n" * 3 + b"/Type /Pages"), 9_000),
        (Media("application/pdf", b"%PDF-1.7 " + b"x" * 100_000), 9_000),
        (Media("application/pdf", url="https://example.com/a.pdf"), 3_000),
        (Media("text/plain", b"x" * 4_000), 1_000),
        (Media("audio/mpeg", b"x" * 159_000), 320),
        (Media("audio/wav", b"RIFF....WAVEfmt " + bytes(12) + b"\0\x7d\0\0" + bytes(63_968)), 96),
        (Media("video/mp4", b"x" * 1_249_000), 3_000),
        (Media("audio/mpeg", url="https://example.com/a.mp3"), 60 * 32),
    ],
)
def test_documents_and_recordings_count_by_length(media: Media, tokens: int) -> None:
    """Pages as far as they can be counted, seconds by the rate in the header or a usual one."""
    assert TokenCache(CharCounter()).count_media(media) == tokens


def _browsing(screenshots: int) -> list[Message]:
    said: list[Message] = [Message("user", "Find the fault.")]
    for at in range(screenshots):
        said.append(Message("assistant", f"Look {at}."))
        said.append(Message("user", "", media=[picture(3_840, 2_160)]))
    return said


def test_screenshots_are_cut_before_they_are_refused() -> None:
    """80 of them were estimated as 48,808 tokens where they take 382,720 and more."""
    talk = _browsing(80)

    prepared = View(Policy(200_000), counter=for_model("claude-opus-5")).prepare_sync(talk)

    sent = sum(len(message.media) for message in prepared.messages)
    assert prepared.tokens <= 200_000 - 16_384
    assert 20 < sent < 39


def test_policy_may_say_what_media_count() -> None:
    """A View, a Manager and what they are made of count so many for each, whatever its size."""
    policy, counter = Policy(200_000, tokens_per_media=100), for_model("claude-opus-5")
    talk = _browsing(80)
    expected = sum(count_message_tokens(each, counter, tokens_per_media=100) for each in talk)

    prepared = View(policy, counter=counter).prepare_sync(talk)

    assert (prepared.messages, prepared.tokens) == (talk, expected)
    assert Manager(counter, Digest(), policy).due(talk) is None
    assert Manager(counter, Digest(), Policy(200_000)).due(talk) is not None


def test_entry_points_of_other_systems_count_600() -> None:
    """As they are written (rows E5 and E6), unless they are asked for the model's."""
    message = Message("user", "", media=[picture(3_840, 2_160)])
    counter = for_model("claude-opus-5")

    assert count_message_tokens(message, counter) == 604
    assert count_message_tokens(message, counter, tokens_per_media=None) == 4_788
    assert ContextMeter(counter).measure([message]) == 4_788


@pytest.mark.parametrize("whole", [False, True])
def test_image_in_a_dict_counts_by_its_size(whole: bool) -> None:
    """The same bytes in a data URL."""
    url = f"data:image/png;base64,{base64.b64encode(png(1_000, 1_000, whole=whole)).decode()}"
    part: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
    message = {"role": "user", "content": [part]}

    counted = count_message_tokens(message, for_model("claude-opus-5"), tokens_per_media=None)

    assert counted == 1_296 + 4


@pytest.mark.parametrize(
    ("wire", "window", "tokens"),
    [
        (openai_chat, 200_000, 9_792),  # 8,160 squares, and 1.2 tokens for each
        (openai_chat, "gpt-4o", 1_105),
        (openai_chat, "mistral-medium-3-5", 1_736),
        (openai_chat, Policy(200_000, tokens_per_media=70), 70),
    ],
)
def test_conversation_counts_images_by_wire_or_model(wire: Any, window: Any, tokens: int) -> None:
    """Whoever gives a number for the window alone has the models of the wire's provider."""
    conversation = Conversation(wire, window, counter=None)
    url = f"data:image/png;base64,{base64.b64encode(png(3_840, 2_160)).decode()}"
    part = {"type": "image_url", "image_url": {"url": url}}

    conversation.fit([{"role": "user", "content": [part]}])

    assert conversation.latest is not None
    assert conversation.latest.tokens == tokens + 4


@pytest.mark.parametrize(
    ("wire", "item", "tokens"),
    [
        (
            anthropic,
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": "image/png",
                            "data": base64.b64encode(png(3_840, 2_160)).decode(),
                        },
                    }
                ],
            },
            4_784,
        ),
        (
            gemini,
            {
                "role": "user",
                "parts": [
                    {
                        "inlineData": {
                            "mimeType": "image/png",
                            "data": base64.b64encode(png(3_840, 2_160)).decode(),
                        }
                    }
                ],
            },
            1_120,
        ),
    ],
)
def test_conversation_of_other_wires(wire: Any, item: dict[str, Any], tokens: int) -> None:
    """Anthropic's and Google's own models are asked there."""
    conversation = Conversation(wire, 200_000)

    conversation.fit([item])

    assert conversation.latest is not None
    assert conversation.latest.tokens == tokens + 4


@attrs.define
class _CountingCounter:
    """Remembers how often it was asked."""

    asked: int = 0

    def count(self, text: str, /) -> int:
        self.asked += 1
        return len(text)

    def count_media(self, media: Media, /) -> int:
        self.asked += 1
        return len(media.data)


def test_document_is_read_once() -> None:
    """However many caches count it: a long PDF is searched for its pages."""
    counter = _CountingCounter()
    message = Message("user", "", media=[Media("application/pdf", b"x" * 50)])

    caches = [TokenCache(counter) for _ in range(3)]
    counts = [cache.count_message(message) for cache in caches]
    view = View(Policy(200_000), counter=counter).prepare_sync([message])

    assert (counts, view.tokens, counter.asked) == ([54] * 3, 54, 1)
