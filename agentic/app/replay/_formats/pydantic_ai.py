"""Messages of Pydantic AI: what `all_messages_json` of pydantic-ai 2.68 returns (2026-11).

A `request` has parts for the system prompt, the user's words and results; a `response` has those of
the reply. A part is told by its `part_kind` (`ModelRequestPart` and `ModelResponsePart` in
https://ai.pydantic.dev/api/messages/). Instructions are sent with every request, and kept once.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import Parts, make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message, ToolResult
from agentic.providers.kit import text_at

_FAILED = {"failed", "denied", "retried"}
_SILENT = {
    *("instruction", "instruction-delta", "instruction-baseline", "instruction-digest"),
    *("tool-availability-delta", "capability-load-delta", "model-settings-delta"),
}
"""What describes the request beside the conversation."""


def is_message(data: Entry) -> bool:
    """Return whether an object is a request or a response of Pydantic AI.

    >>> is_message({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi."}]})
    True
    """
    parts = objects_at(data, "parts")
    return text_at(data, "kind") in {"request", "response"} and any("part_kind" in p for p in parts)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages."""
    for value in values:
        data, kind = value.data, text_at(value.data, "kind")
        if kind == "response":
            _read_response(data, reading)
        elif kind == "request":
            instructions = text_at(data, "instructions")
            if instructions and not reading.messages:
                reading.add(Message("system", instructions))
            for part in objects_at(data, "parts"):
                _read_request_part(part, reading)
        else:
            reading.skip_entry(value.line, f"found a message of the kind {kind!r}", data)


def _read_response(data: Entry, reading: Reading) -> None:
    reading.use_model(data.get("model_name"))
    parts = Parts()
    for part in objects_at(data, "parts"):
        reader = _RESPONSE.get(text_at(part, "part_kind"))
        if reader is None:
            reading.skip(f"part of the kind {part.get('part_kind')!r}", part)
        else:
            reader(part, parts, reading)
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    usage = whole_usage(data.get("usage"), *names)
    for message in parts.messages("assistant", usage=usage):
        reading.add(message)


def _add_call(part: Entry, parts: Parts, _: Reading) -> None:
    call_id, name = text_at(part, "tool_call_id"), text_at(part, "tool_name")
    parts.calls.append(make_call(call_id, name, part.get("args")))


def _add_content(part: Entry, parts: Parts, reading: Reading) -> None:
    media = read_parts({"type": "file", **(part.get("content") or {})}, reading).media
    parts.media += media


def _add_result(part: Entry, parts: Parts, _: Reading) -> None:
    text, media = read_output(part.get("content"))
    is_error = text_at(part, "outcome") in _FAILED
    call_id, name = text_at(part, "tool_call_id"), text_at(part, "tool_name")
    parts.results.append(make_result(call_id, name, text, is_error=is_error, media=media))


_RESPONSE: Mapping[str, Callable[[Entry, Parts, Reading], None]] = {
    "text": lambda part, parts, _: parts.texts.append(text_at(part, "content")),
    "thinking": lambda part, parts, _: parts.thoughts.append(text_at(part, "content")),
    "tool-call": _add_call,
    # The provider has run it: its result is in the same response.
    "builtin-tool-call": _add_call,
    "builtin-tool-return": _add_result,
    "file": _add_content,
}
"""The function that reads a part of a response."""


def _read_request_part(part: Entry, reading: Reading) -> None:
    kind, content = text_at(part, "part_kind"), part.get("content")
    parts = Parts()
    if kind == "system-prompt":
        reading.add(Message("system", text_at(part, "content")), part)
    elif kind == "user-prompt":
        for message in read_parts(_with_types(content), reading).messages("user"):
            reading.add(message, part)
    elif kind in {"retry-prompt", "retry-feedback"} and not part.get("tool_call_id"):
        reading.add(Message("user", read_output(content)[0]), part)
    elif kind in {"tool-return", "retry-prompt"}:
        _add_result(part, parts, reading)
        if kind == "retry-prompt":
            parts.results = [_as_failure(result) for result in parts.results]
        for message in parts.messages("tool"):
            reading.add(message)
    elif kind not in _SILENT:
        reading.skip(f"part of the kind {kind or 'none'!r}", part)


def _as_failure(result: ToolResult) -> ToolResult:
    return attrs.evolve(result, output="", error=result.text)


def _with_types(content: object) -> object:
    """Return content whose parts say what they are in the field `type`, not `kind`."""
    if not isinstance(content, list):
        return content
    kinds = {"image-url": "image", "audio-url": "audio", "video-url": "video", "binary": "binary"}
    kinds |= {"document-url": "document", "text": "text", "uploaded-file": "file"}
    return [
        {**each, "type": kinds.get(text_at(each, "kind"), text_at(each, "kind"))}
        if isinstance(each, dict)
        else each
        for each in content
    ]


FORMAT = Format(name="Pydantic AI messages", recognizes=is_message, read=read)
