"""The parts of a content, each written from the typed fields of a message."""

import re
from collections.abc import Sequence
from typing import Any

from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers.kit import NameRule, arguments_as_object, replace_surrogates
from agentic.providers.kit._media import media_note, to_base64

__all__ = [
    "TOOL_NAMES",
    "media_parts",
    "model_parts",
    "result_part",
    "user_content",
    "user_parts",
]

TOOL_NAMES = NameRule(re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), 128)
"""https://ai.google.dev/api/caching#FunctionDeclaration (2026-11)."""
_EMPTY = "(empty message)"
"""The text sent for an empty user message: a content needs at least one part."""

_UNSIGNED = to_base64(b"skip_thought_signature_validator")
"""The signature for a call that has none or lost its own in an edit.

Gemini 3 rejects a turn whose first call is unsigned. This value is documented for history from
other sources, by the Gemini API (https://ai.google.dev/gemini-api/docs/thought-signatures,
FAQ) and by Vertex AI (https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures).
The field's type is bytes, so in JSON it is base64.
"""


def user_content(parts: list[Any]) -> dict[str, Any]:
    """Return a user content in the form that Google's SDKs use."""
    return {"role": "user", "parts": parts}


def user_parts(message: Message) -> list[dict[str, Any]]:
    """Return the parts for a user message, or for a system message within a conversation."""
    text = replace_surrogates(message.content)
    if message.role == "system":
        text = f"<system>\n{text}\n</system>" if text else ""
    return [*_text_parts(text), *media_parts(message.media)] or _text_parts(_EMPTY)


def _text_parts(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def media_parts(media: Sequence[Media]) -> list[dict[str, Any]]:
    """Return the parts for media: their bytes or their URLs.

    >>> media_parts([Media("image/png", url="gs://b/a.png")])
    [{'fileData': {'mimeType': 'image/png', 'fileUri': 'gs://b/a.png'}}]
    """
    return [_media_part(item) or {"text": media_note(item)} for item in media]


def _media_part(media: Media) -> dict[str, Any]:
    kind = {"mimeType": media.media_type or "application/octet-stream"}
    if media.data:
        return {"inlineData": {**kind, "data": to_base64(media.data)}}
    # A data URL is not a file that Google could fetch.
    scheme, _, data = media.url.partition(";base64,")
    if data and scheme.startswith("data:"):
        return {"inlineData": {**kind, "data": data}}
    return {"fileData": {**kind, "fileUri": replace_surrogates(media.url)}} if media.url else {}


def model_parts(message: Message, wire_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the model's text and calls as parts. `wire_ids` has each call's id, or ''."""
    calls = [
        _call_part(call, wire_id)
        for call, wire_id in zip(message.tool_calls, wire_ids, strict=True)
    ]
    if calls:
        # Only the first of parallel calls has a signature.
        calls[0]["thoughtSignature"] = _UNSIGNED
    return [*_text_parts(replace_surrogates(message.content)), *media_parts(message.media), *calls]


def _call_part(call: ToolCall, wire_id: str) -> dict[str, Any]:
    """Return the part for one call, without a signature.

    >>> _call_part(ToolCall("c1", "read", '{"path": "a.py"}'), "")
    {'functionCall': {'name': 'read', 'args': {'path': 'a.py'}}}
    """
    named = {"id": replace_surrogates(wire_id)} if wire_id else {}
    name, arguments = TOOL_NAMES.wire(call.name), arguments_as_object(call.arguments)
    return {"functionCall": {**named, "name": name, "args": arguments}}


def result_part(result: ToolResult, wire_id: str, name: str) -> dict[str, Any]:
    """Return the part for one result, with the id and the name that its call was sent with.

    >>> result_part(ToolResult("c1", "read", "text", error="gone"), "", "read")
    {'functionResponse': {'name': 'read', 'response': {'output': 'text', 'error': 'gone'}}}
    """
    named = {"id": replace_surrogates(wire_id)} if wire_id else {}
    said = "\n".join(text for text in (result.output, result.notice) if text)
    response = {"output": replace_surrogates(said)} if said or result.error is None else {}
    if result.error is not None:
        # An empty error would be read as none (see `_result` in `_decoding`).
        response["error"] = replace_surrogates(result.error.message) or "the tool failed"
    return {"functionResponse": {**named, "name": name, "response": response}}
