"""What one content block says, in the words of this library."""

import json
from collections.abc import Mapping
from typing import Any

from agentic.messages import Media, ToolCall, ToolFailure, ToolResult
from agentic.providers._native import decoded_call, decoded_result
from agentic.providers._plain import at, items_at, text_at
from agentic.providers.bedrock._wire._calls import input_text
from agentic.providers.bedrock._wire._media import read_media

__all__ = [
    "block_media",
    "block_text",
    "is_result",
    "kinds_of",
    "read_call",
    "read_reasoning",
    "read_result",
]

_SAYING = {"text", "guardContent", "citationsContent", "searchResult"}
_ERROR = "Error: "
"""How `ToolResult.text` begins a failure."""


def kinds_of(blocks: list[Any]) -> set[str]:
    """Return what the blocks are: each has one key, which says it."""
    return {kind for block in blocks if isinstance(block, dict) for kind in block}


def block_text(block: Any) -> str:
    """Give the words of a block; none for one that is no text, and for calls and results.

    >>> block_text({"guardContent": {"text": {"text": "Check me."}}})
    'Check me.'
    """
    if type(block) is dict and _SAYING.isdisjoint(block):
        return ""
    if isinstance(text := at(block, "text"), str):
        return text
    if isinstance(text := at(block, "guardContent", "text", "text"), str):
        return text
    for kind in ("citationsContent", "searchResult"):
        if isinstance(at(block, kind), dict):
            return "".join(text_at(part, "text") for part in items_at(block, kind, "content"))
    return ""


def block_media(blocks: list[Any]) -> list[Media]:
    """Give the media of blocks, those inside results included, in order."""
    parts: list[Any] = []
    for block in blocks:
        parts += [block, *items_at(block["toolResult"], "content")] if is_result(block) else [block]
    return [media for media in map(read_media, parts) if media is not None]


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
    return decoded_call(text_at(call, "toolUseId"), text_at(call, "name"), arguments)


def is_result(block: Any) -> bool:
    """Return whether a block is the answer to a call."""
    return isinstance(at(block, "toolResult"), dict)


def read_result(block: Any, names: Mapping[str, str]) -> ToolResult:
    """Read the answer to a call, whose tool is in `names`; its media are read by `block_media`."""
    result = block["toolResult"]
    text = "\n".join(filter(None, map(_result_text, items_at(result, "content"))))
    call_id = text_at(result, "toolUseId")
    name = names.get(str(result.get("toolUseId")), "")
    if result.get("status") == "error":
        return decoded_result(call_id, name, "", ToolFailure(text.removeprefix(_ERROR)))
    return decoded_result(call_id, name, text)


def _result_text(part: Any) -> str:
    if isinstance(part, dict) and "json" in part:
        return json.dumps(part["json"], ensure_ascii=False)
    return block_text(part)
