"""A message written anew from its typed fields, as content blocks. Nothing in them is empty.

Thinking is left out: only its author's signature makes it acceptable, and that is in the payload
(https://platform.claude.com/docs/build-with-claude/thinking-tool-workflows, 2026-11).
"""

from typing import Any

from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers._as_text import text_with_media
from agentic.providers._sendable import sendable, sendable_object
from agentic.providers.anthropic._wire._blocks import media_block, text_block
from agentic.providers.anthropic._wire._calls import INVALID_JSON, TOOL_NAMES

__all__ = ["rebuild"]


def rebuild(message: Message) -> list[dict[str, Any]]:
    r"""Write a message's blocks, none if it says nothing.

    A system message in the middle of a conversation is the user's text, marked: the role is for
    newer models only, and refused between two messages of the user.

    >>> rebuild(Message("system", "Be brief."))
    [{'type': 'text', 'text': '<system>\nBe brief.\n</system>'}]
    """
    blocks = [_result(result) for result in message.tool_results]
    takes_media = message.role in {"user", "tool"}
    blocks += [media_block(media) for media in message.media if takes_media]
    text = message.content if takes_media else text_with_media(message)
    if text.strip():
        marked = f"<system>\n{text}\n</system>" if message.role == "system" else text
        blocks.append(text_block(marked))
    blocks += [_call(call) for call in message.tool_calls]
    written: list[dict[str, Any]] = sendable(blocks)
    return written


def _result(result: ToolResult) -> dict[str, Any]:
    """Write the answer to a call; an empty one has no content at all."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.text.strip():
        block["content"] = result.text
    if result.error is not None:
        block["is_error"] = True
    return block


def _call(call: ToolCall) -> dict[str, Any]:
    """Write a call.

    >>> _call(ToolCall("c1", "read", "{oops"))["input"]
    {'INVALID_JSON': '{oops'}
    """
    arguments = sendable_object(call.arguments, INVALID_JSON)
    name = TOOL_NAMES.wire(call.name)
    return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}
