"""A whole request's share of the conversation: system instruction, contents, tools.

The leading system messages, a summary among them included, are the system instruction: Google has
no other place that is not the user's word. A pinned message goes where its role goes.
"""

from collections.abc import Sequence
from typing import Any

from agentic.messages import Message, close_open_rounds, leading_system_count
from agentic.providers._as_text import text_with_media
from agentic.providers._native import native_payload
from agentic.providers._sendable import sendable
from agentic.providers.gemini._wire._calls import TOOL_NAMES
from agentic.providers.gemini._wire._encode import encode
from agentic.providers.gemini._wire._fields import field, has_field, parts_of, text_of
from agentic.providers.gemini._wire._name import NAME
from agentic.providers.gemini._wire._read import read_text
from agentic.providers.gemini._wire._rebuild import user_content
from agentic.tools import ToolDefinition

__all__ = ["encode_request", "encode_tools"]

_GO_ON = "Continue."
"""The neutral request that stands first where a cut left none of the user's."""


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, so that the provider accepts it.

    Open rounds are closed, orphaned results left out. The contents never start with a model's turn,
    unless they came so.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["contents"]
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}]
    """
    messages = close_open_rounds(list(messages))
    leading = leading_system_count(messages)
    request = _instruction(system_prompt, messages[:leading])
    request["contents"] = _begun_by_user(messages[leading:])
    if tools:
        request["tools"] = encode_tools(tools)
    sent: dict[str, Any] = sendable(request)
    return sent


def _instruction(system_prompt: str, messages: Sequence[Message]) -> dict[str, Any]:
    """Write the system instruction: a part for the prompt and for each message."""
    if len(messages) == 1 and not system_prompt:
        payload = native_payload(messages[0], NAME, _decode)
        if payload is not None and has_field(payload, "instruction"):
            return {payload["key"]: payload["instruction"]}
    texts = [system_prompt, *map(text_with_media, messages)]
    parts = [{"text": text} for text in texts if text]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def _decode(payload: Any) -> Message | None:
    instruction = field(payload, "instruction")
    if instruction is None or not text_of(payload, "key"):
        return None
    return Message("system", read_text(parts_of(instruction), between="\n"))


def _begun_by_user(messages: Sequence[Message]) -> list[Any]:
    contents = encode(messages)
    came_first = bool(messages) and _came_first(messages[0])
    if not contents or (text_of(contents[0], "role") == "model" and not came_first):
        return [user_content([{"text": _GO_ON}]), *contents]
    return contents


def _came_first(message: Message) -> bool:
    ours = message.native is not None and message.native.provider == NAME
    return ours and message.native is not None and bool(field(message.native.payload, "first"))


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call, as one object of function declarations.

    Both APIs take JSON Schema in `parametersJsonSchema`:
    https://ai.google.dev/api/caching#FunctionDeclaration (2026-11).

    >>> encode_tools([ToolDefinition("now")])[0]["functionDeclarations"][0]["name"]
    'now'
    """
    declared = [
        {
            "name": TOOL_NAMES.wire(tool.name),
            "description": sendable(tool.description),
            "parametersJsonSchema": sendable(dict(tool.parameters)),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declared}] if declared else []
