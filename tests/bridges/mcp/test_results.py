"""What a server sends, as a result and as a definition; nothing of it is lost."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bridges.mcp._results import read_result, read_tool
from agentic.messages import Media, ToolError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda data: {
            "type": "image",
            "mimeType": "image/png",
            "data": base64.b64encode(data).decode(),
        },
        st.binary(min_size=1, max_size=9),
    ),
    st.builds(lambda name: {"type": "x_unheard_of", "name": name}, TEXTS),
)


@given(content=st.lists(BLOCKS, max_size=5), failed=st.booleans())
def test_every_block_is_in_the_result(content: list[Any], failed: bool) -> None:
    """Text in the output or in the error, bytes as media, in their order."""
    result = read_result({"content": content, "isError": failed})

    said = result.error.message if result.error else result.output
    images = [base64.b64decode(block["data"]) for block in content if "data" in block]
    assert [media.data for media in result.media] == images
    assert all(block["text"] in said for block in content if "text" in block)
    assert said.count("x_unheard_of") >= sum("name" in block for block in content)
    assert (result.error is not None) == failed


@given(structured=st.dictionaries(TEXTS, st.integers() | TEXTS, min_size=1, max_size=3))
def test_structured_content_is_said_once(structured: dict[str, Any]) -> None:
    """As the text of the server if it repeats it, and as JSON otherwise."""
    text = json.dumps(structured, indent=2)

    repeated = read_result(
        {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    )
    alone = read_result({"content": [], "structuredContent": structured})

    assert repeated.output == text
    assert json.loads(alone.output) == structured
    assert alone.extra == repeated.extra == {"structured_content": structured}


@pytest.mark.parametrize(
    ("texts", "structured", "output"),
    [
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (["12"], {"result": "12"}, "12"),
        (["Red."], {"tests": 3}, 'Red.\n{"tests": 3}'),
        ([], {"result": []}, '{"result": []}'),
    ],
)
def test_what_the_sdk_wraps_is_recognized(
    texts: list[str], structured: dict[str, Any], output: str
) -> None:
    """A list has one text for each item."""
    content = [{"type": "text", "text": text} for text in texts]

    assert read_result({"content": content, "structuredContent": structured}).output == output


def _picture(data: bytes) -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": "image/png"}


def _with_nulls(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as the SDK's servers write it into structured content."""
    return {**block, "annotations": None, "_meta": None}


_RESOURCE = {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAECAwQFBgc="}}
_LINK = {"type": "resource_link", "uri": "file:///b.txt", "name": "b"}
_SHAPES = st.sampled_from(
    [
        lambda blocks: {"result": blocks},
        lambda blocks: {"result": [blocks[:1], blocks[1:]]},
        lambda blocks: blocks[0] if len(blocks) == 1 else {"result": blocks},
        lambda blocks: {"result": blocks[0] if len(blocks) == 1 else blocks},
    ]
)
"""How the servers of the SDK 1.30 and 2.3 write a block or a list of them, annotated as such."""


@given(
    blocks=st.lists(BLOCKS | st.sampled_from([_RESOURCE, _LINK]), min_size=1, max_size=5),
    shape=_SHAPES,
)
def test_blocks_in_structured_content_are_a_repetition(blocks: list[Any], shape: Any) -> None:
    """Nulls and wrapping aside; and the bytes are in no text."""
    structured = shape([_with_nulls(block) for block in blocks])

    result = read_result({"content": blocks, "structuredContent": structured})

    alone = read_result({"content": blocks})
    assert (result.output, result.media) == (alone.output, alone.media)
    texts = _strings(result.extra["structured_content"])
    assert not texts & {block["data"] for block in blocks if block.get("data")}


def _strings(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return {text for each in items for text in _strings(each)}
    return {value} if isinstance(value, str) else set()


@pytest.mark.parametrize("repeated", [True, False], ids=["as-text", "structured-only"])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda block: {"caption": "Red.", "image": block},
        lambda block: {"pages": {"1": [block]}, "other": None},
        lambda block: {"result": [{"n": 1, "image": block}]},
    ],
)
def test_bytes_inside_structured_content_become_media(wrap: Any, repeated: bool) -> None:
    """As of a tool annotated to return a record or a dict in which there is an image."""
    block = _with_nulls(_picture(b"\x89PNG" * 250_000))
    structured, cleared = wrap(block), wrap({**block, "data": "[image/png, 1,000,000 bytes]"})
    content = [{"type": "text", "text": json.dumps(structured, indent=2)}] if repeated else []

    result = read_result({"content": content, "structuredContent": structured})

    assert json.loads(result.output) == cleared
    assert result.output == json.dumps(cleared, indent=2 if repeated else None)
    assert result.media == (Media("image/png", b"\x89PNG" * 250_000),)
    assert result.extra == {"structured_content": cleared}


def test_bytes_in_json_without_structured_content_become_media() -> None:
    """A server in PHP escapes slashes; what else the text holds stays as it was written."""
    data = base64.b64encode(b"\xff\xff\xff").decode()
    text = '{ "shot": {"type":"image", "mimeType":"image/png", "data":"%s"} }'

    result = read_result({"content": [{"type": "text", "text": text % data.replace("/", r"\/")}]})

    assert result.output == text % "[image/png, 3 bytes]"
    assert result.media == (Media("image/png", b"\xff\xff\xff"),)


@pytest.mark.parametrize(
    "structured",
    [
        {"type": "image", "data": "logo"},
        {"uri": "git:a", "blob": "0123456789abcdef"},
        {"mimeType": "text/plain", "data": "word"},
        {"type": "image", "mimeType": "image/png", "data": ""},
    ],
)
def test_data_of_no_content_block_stays(structured: dict[str, Any]) -> None:
    """A server's own records may use the same words."""
    result = read_result({"content": [], "structuredContent": structured})

    assert json.loads(result.output) == result.extra["structured_content"] == structured
    assert result.media == ()


def test_bytes_of_unknown_blocks_become_media() -> None:
    """What a later version of the protocol adds is no text either."""
    video = {"type": "video", "mimeType": "video/mp4", "data": "AAAA"}
    nested = {"type": "tool_result", "content": [_picture(b"abc")]}

    result = read_result({"content": [video, nested]})

    assert result.media == (Media("video/mp4", b"\0\0\0"), Media("image/png", b"abc"))
    assert "YWJj" not in result.output


def test_damaged_bytes_are_named() -> None:
    """The model learns that there was a picture."""
    block = {"type": "image", "mimeType": "image/png", "data": "no base64!"}

    assert read_result({"content": [block]}).output == "[image/png, which is damaged]"


def test_a_failure_keeps_its_media() -> None:
    """A screenshot of what went wrong, for example."""
    block = {"type": "image", "mimeType": "image/png", "data": "iVBORw0K"}

    result = read_result({"content": [block], "isError": True})

    assert result.media == (Media("image/png", b"\x89PNG\r\n"),)
    assert result.error == ToolError("the tool failed, and its server did not say why")


def test_unacceptable_schema_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning, and without the other tools."""
    assert read_tool({"name": "bad", "inputSchema": {"type": "array"}}) is None
    assert "the tool 'bad' of an MCP server is left out" in caplog.text
