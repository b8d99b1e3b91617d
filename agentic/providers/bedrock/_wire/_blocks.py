"""What one content block says, in the words of this library."""

import json
from typing import Any

from agentic.messages import Media, ToolCall, ToolFailure, ToolResult
from agentic.providers._plain import at, items_at, text_at
from agentic.providers.bedrock._wire._calls import input_text
from agentic.providers.bedrock._wire._media import read_media

__all__ = ["block_media", "block_text", "read_call", "read_reasoning", "read_result"]

_ERROR = "Error: "
"""How `ToolResult.text` begins a failure."""


def block_text(block: Any) -> str:
    """Give the words of a block; none for one that is no text, and for calls and results.

    >>> block_text({"guardContent": {"text": {"text": "Check me."}}})
    'Check me.'
    """
    for path in (("text",), ("guardContent", "text", "text")):
        if isinstance(at(block, *path), str):
            return text_at(block, *path)
    for kind in ("citationsContent", "searchResult"):
        if isinstance(at(block, kind), dict):
            return "".join(text_at(part, "text") for part in items_at(block, kind, "content"))
    return ""


def block_media(blocks: list[Any]) -> list[Media]:
    """Give the media of blocks, those inside results included, in order."""
    found = []
    for block in blocks:
        inside = items_at(block, "toolResult", "content")
        found += [read_media(part) for part in [block, *inside]]
    return [media for media in found if media is not None]


def read_reasoning(block: Any) -> str:
    """Give the visible thinking of a block."""
    return text_at(block, "reasoningContent", "reasoningText", "text")


def read_call(block: Any) -> ToolCall | None:
    """Read a call that is ours to carry out: not one that the provider itself has run.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html

    >>> read_call({"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}).arguments
    '{}'
    """
    call = at(block, "toolUse")
    if not isinstance(call, dict) or call.get("type") == "server_tool_use":
        return None
    given = call.get("input")
    arguments = "{}" if given is None else input_text(given)
    return ToolCall(text_at(call, "toolUseId"), text_at(call, "name"), arguments)


def read_result(block: Any, name: str = "") -> ToolResult | None:
    """Read the answer to a call; its media are read by `block_media`."""
    result = at(block, "toolResult")
    if not isinstance(result, dict):
        return None
    parts = [_result_text(part) for part in items_at(result, "content")]
    text = "\n".join(part for part in parts if part)
    call_id = text_at(result, "toolUseId")
    if result.get("status") == "error":
        return ToolResult(call_id, name, error=ToolFailure(text.removeprefix(_ERROR)))
    return ToolResult(call_id, name, text)


def _result_text(part: Any) -> str:
    if isinstance(part, dict) and "json" in part:
        return json.dumps(part["json"], ensure_ascii=False)
    return block_text(part)
