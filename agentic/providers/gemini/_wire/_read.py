"""What the parts of a content say, in typed fields.

Text is `content`, text marked `thought` is `reasoning`, a functionCall a tool call, a
functionResponse a tool result, inlineData and fileData of a user or a tool are media. Whatever else
a part is (code that ran, a server's own tool calls, kinds to come) and a model's images have no
typed field: they live on in the native payload.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentic.messages import Media, ToolCall, ToolFailure, ToolResult
from agentic.providers._native import decoded_call, decoded_result
from agentic.providers.gemini._wire._fields import (
    field,
    has_field,
    is_object,
    list_of,
    text_of,
)

__all__ = ["read_calls", "read_media", "read_results", "read_text"]

_OUTCOME = {"output", "error"}
_JSON = json.JSONEncoder(ensure_ascii=False)


def read_text(parts: list[Any], *, thought: bool = False, between: str = "") -> str:
    """Join the texts of the parts: those that are thoughts, or those that are not.

    >>> read_text([{"text": "Hm.", "thought": True}, {"text": "Yes."}])
    'Yes.'
    """
    wanted = [part for part in parts if (field(part, "thought") is True) is thought]
    return between.join(text for part in wanted if (text := text_of(part, "text")))


def read_calls(parts: list[Any], ids: Iterator[str]) -> list[ToolCall]:
    """Read the calls among the parts. `ids` gives an id for each call and each result."""
    calls = []
    for part in parts:
        call = field(part, "functionCall")
        if call is not None:
            calls.append(decoded_call(next(ids, ""), text_of(call, "name"), _arguments(call)))
        elif has_field(part, "functionResponse"):
            next(ids, "")
    return calls


def _arguments(call: Any) -> str:
    arguments = field(call, "args")
    return "{}" if arguments is None else _said(arguments)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else _JSON.encode(value)


def read_results(parts: list[Any], ids: Iterator[str]) -> list[ToolResult]:
    """Read the results among the parts. `ids` gives an id for each call and each result."""
    results = []
    for part in parts:
        answer = field(part, "functionResponse")
        if answer is not None:
            results.append(_result(next(ids, ""), answer))
        elif has_field(part, "functionCall"):
            next(ids, "")
    return results


def _result(call_id: str, answer: Any) -> ToolResult:
    """Read one result.

    Under "output" is the output and under "error" what went wrong; an object with other keys is the
    output as a whole: https://ai.google.dev/api/caching#FunctionResponse (2026-11).
    """
    response, name = field(answer, "response"), text_of(answer, "name")
    if not is_object(response) or not response:
        return decoded_result(call_id, name, _said(response) if response else "")
    if not set(response) <= _OUTCOME:
        return decoded_result(call_id, name, _said(response))
    output, problem = response.get("output"), response.get("error")
    return decoded_result(
        call_id,
        name,
        "" if output is None else _said(output),
        None if problem in (None, "") else ToolFailure(_said(problem)),
    )


def read_media(parts: list[Any]) -> list[Media]:
    """Read images, sounds and documents: among the parts, and inside of function responses.

    >>> read_media([{"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}])
    [Media(media_type='image/png', url='gs://b/a.png')]
    """
    found = []
    for part in parts:
        blob, file = field(part, "inlineData"), field(part, "fileData")
        if isinstance(blob, Mapping):
            found.append(Media(text_of(blob, "mimeType"), _bytes(text_of(blob, "data"))))
        elif isinstance(file, Mapping):
            found.append(Media(text_of(file, "mimeType"), url=text_of(file, "fileUri")))
        found += read_media(list_of(field(part, "functionResponse"), "parts"))
    return found


def _bytes(text: str) -> bytes:
    """Decode base64 in either alphabet; what is none, such as a redacted recording, is no bytes."""
    try:
        return base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, ValueError):
        return b""
