"""The rules for one block of content."""

import re
from collections.abc import Iterator
from typing import Any

from agentic.providers._plain import at, items_at, text_at
from agentic.providers._violation import Violation
from agentic.providers.bedrock._wire._calls import CALL_IDS, TOOL_NAMES
from agentic.providers.bedrock._wire._mend import is_blank

__all__ = ["BLANK_SOURCE", "check_block"]

BLANK_SOURCE = "https://github.com/NousResearch/hermes-agent/pull/67978"

_API = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_"
_USERS = ("image", "document", "video")
# The underscore is not in the rule and is taken: https://github.com/vercel/ai/pull/20366
_DOCUMENT_NAME = re.compile(r"(?!.*\s\s)[a-zA-Z0-9\s()\[\]_-]{1,200}", re.DOTALL)


def check_block(block: Any, role: str, position: int) -> Iterator[Violation]:
    """Find what is wrong with a block of a message of that role."""
    if at(block, "text") == "":
        source = "https://github.com/earendil-works/pi/issues/4975"
        yield Violation("empty_content", position, "a text is empty", source)
    elif role == "assistant" and is_blank(block):
        yield Violation("empty_content", position, "a text is blank", BLANK_SOURCE)
    if isinstance(at(block, "toolUse"), dict):
        yield from _call(block["toolUse"], role, position)
    if isinstance(at(block, "toolResult"), dict):
        yield from _result(block["toolResult"], position)
    if role == "assistant" and any(at(block, kind) for kind in _USERS):
        problem = "only a user's message holds images, documents and videos"
        yield Violation("media", position, problem, f"{_API}Message.html")
    if role == "user" and isinstance(at(block, "reasoningContent"), dict):
        source = "https://github.com/vercel/ai/issues/7034"
        yield Violation("thinking", position, "a user's message holds reasoning", source)
    yield from _document(block, position)


def _call(call: dict[str, Any], role: str, position: int) -> Iterator[Violation]:
    source = f"{_API}ToolUseBlock.html"
    name, call_id = text_at(call, "name"), text_at(call, "toolUseId")
    if role != "assistant":
        yield Violation("role", position, f"a {role} makes the call {call_id!r}", source)
    if not CALL_IDS.accept(call_id):
        yield Violation("id", position, f"{call_id!r} is no id of a call", source)
    if not TOOL_NAMES.accept(name):
        yield Violation("name", position, f"{name!r} is no name of a tool", source)
    if not isinstance(call.get("input"), dict):
        problem = f"the input of {call_id!r} is no object"
        yield Violation("arguments", position, problem, "https://github.com/vercel/ai/pull/19023")


def _result(result: dict[str, Any], position: int) -> Iterator[Violation]:
    call_id = text_at(result, "toolUseId")
    if not CALL_IDS.accept(call_id):
        source = f"{_API}ToolResultBlock.html"
        yield Violation("id", position, f"{call_id!r} is no id of a call", source)
    for part in items_at(result, "content"):
        if isinstance(part, dict) and "json" in part and not isinstance(part["json"], dict):
            source = "https://github.com/sigoden/aichat/issues/1542"
            problem = f"the json of the result of {call_id!r} is no object"
            yield Violation("arguments", position, problem, source)
        yield from _document(part, position)


def _document(block: Any, position: int) -> Iterator[Violation]:
    if isinstance(at(block, "document"), dict):
        name = text_at(block, "document", "name")
        if not _DOCUMENT_NAME.fullmatch(name):
            source = "https://github.com/anomalyco/opencode/issues/19964"
            yield Violation("media", position, f"{name!r} is no name of a document", source)
