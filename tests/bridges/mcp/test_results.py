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
