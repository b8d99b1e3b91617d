"""Parts and contents written anew from typed fields.

Where each goes: text and media are parts of a user's content; an assistant's text and calls are
parts of a model's content; the results of one turn are one content, in the order of its calls, and
media that tools gave are a content after it (functionResponse.parts is refused by Gemini 2.5:
https://github.com/google-gemini/gemini-cli/issues/19436). A system message in the middle is a
user's text in `<system>` tags. Reasoning is not sent.
"""

import base64
from collections.abc import Sequence
from typing import Any

from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers._as_text import media_note
from agentic.providers._sendable import sendable, sendable_object
from agentic.providers.gemini._wire._calls import TOOL_NAMES

__all__ = [
    "EMPTY",
    "UNSIGNED",
    "call_part",
    "media_parts",
    "model_parts",
    "result_part",
    "user_content",
    "user_parts",
]

EMPTY = "(empty message)"
"""Stands for a request without a word: a content needs a part."""

UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode("ascii")
"""The signature of a call that has none, or whose own was lost with an edit.

Gemini 3 refuses a turn whose first call is unsigned; this value is documented for history that
comes from elsewhere, by the Gemini API (https://ai.google.dev/gemini-api/docs/thought-signatures,
FAQ) and by Vertex AI (https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures).
The field is bytes, so that JSON holds it in base64.
"""


def user_content(parts: list[Any]) -> dict[str, Any]:
    """Make a user's content, as Google's SDKs spell it."""
    return {"role": "user", "parts": parts}


def user_parts(message: Message) -> list[dict[str, Any]]:
    """Write what a user, or a system message in the middle of a conversation, says."""
    text = sendable(message.content)
    if message.role == "system":
        text = f"<system>\n{text}\n</system>" if text else ""
    return [*_text_parts(text), *media_parts(message.media)] or _text_parts(EMPTY)


def _text_parts(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def media_parts(media: Sequence[Media]) -> list[dict[str, Any]]:
    """Write media: their bytes, or where they are.

    >>> media_parts([Media("image/png", url="gs://b/a.png")])
    [{'fileData': {'mimeType': 'image/png', 'fileUri': 'gs://b/a.png'}}]
    """
    return [_media_part(item) or {"text": media_note(item)} for item in media]


def _media_part(media: Media) -> dict[str, Any]:
    kind = {"mimeType": media.media_type or "application/octet-stream"}
    if media.data:
        return {"inlineData": {**kind, "data": base64.b64encode(media.data).decode("ascii")}}
    scheme, _, data = media.url.partition(";base64,")
    if data and scheme.startswith("data:"):
        return {"inlineData": {**kind, "data": data}}
    return {"fileData": {**kind, "fileUri": sendable(media.url)}} if media.url else {}


def model_parts(message: Message, wire_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Write what the model said and called. `wire_ids` gives each call's id, empty for none."""
    calls = [
        call_part(call, wire_id) for call, wire_id in zip(message.tool_calls, wire_ids, strict=True)
    ]
    if calls:
        calls[0]["thoughtSignature"] = UNSIGNED
    return [*_text_parts(sendable(message.content)), *media_parts(message.media), *calls]


def call_part(call: ToolCall, wire_id: str) -> dict[str, Any]:
    """Write one call, without a signature.

    >>> call_part(ToolCall("c1", "read", '{"path": "a.py"}'), "")
    {'functionCall': {'name': 'read', 'args': {'path': 'a.py'}}}
    """
    named = {"id": sendable(wire_id)} if wire_id else {}
    name, arguments = TOOL_NAMES.wire(call.name), sendable_object(call.arguments)
    return {"functionCall": {**named, "name": name, "args": arguments}}


def result_part(result: ToolResult, wire_id: str, name: str) -> dict[str, Any]:
    """Write one result, under the id and the name that its call was sent with.

    >>> result_part(ToolResult("c1", "read", "text", error="gone"), "", "read")
    {'functionResponse': {'name': 'read', 'response': {'output': 'text', 'error': 'gone'}}}
    """
    named = {"id": sendable(wire_id)} if wire_id else {}
    said = "\n".join(text for text in (result.output, result.notice) if text)
    response = {"output": sendable(said)} if said or result.error is None else {}
    if result.error is not None:
        response["error"] = sendable(result.error.message) or "the tool failed"
    return {"functionResponse": {**named, "name": name, "response": response}}
