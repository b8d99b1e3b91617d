"""The parts of a message's content, in each of the shapes that agents and frameworks write.

A part is recognized by its `type`, however it is spelled (`tool_use`, `toolUse`, `tool-call`), or,
where it has none, by the key that holds it (`{"toolUse": {...}}`). What is not recognized goes to
`Reading.skip`. The content of a tool's result is never lost: what is no list of parts becomes its
JSON text.

Sources (2026-11): Bedrock Converse,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html; Gemini,
https://ai.google.dev/api/caching#Part; Vercel AI SDK, `UIMessage` and `ModelMessage` in
https://ai-sdk.dev/docs/reference/ai-sdk-core; Goose, crates/goose/src/conversation/message.rs of
https://github.com/block/goose; OpenTelemetry,
https://opentelemetry.io/docs/specs/semconv/gen-ai/non-normative/examples-llm-calls/; Crush,
internal/message/message.go of https://github.com/charmbracelet/crush.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.app.replay._reading import Reading, json_text
from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult
from agentic.messages._message import Role
from agentic.providers.kit import text_at

_Part = Mapping[str, Any]
_TEXTS = {"text", "inputtext", "outputtext", "markdown"}
_THOUGHTS = {"thinking", "reasoning", "think", "thought"}
_CALLS = {"tooluse", "toolcall", "functioncall", "toolrequest", "servertooluse", "mcptooluse"}
_RESULTS = {"toolresult", "toolcallresponse", "functionresponse", "toolresponse", "mcptoolresult"}
_MEDIA = {
    *("image", "imageurl", "inputimage", "file", "inputfile", "document", "audio", "inputaudio"),
    *("video", "blob", "binary", "uri", "inlinedata", "filedata", "inputvideo", "media"),
}
_SILENT = {
    *("stepstart", "stepfinish", "finish", "redactedthinking", "cachepoint", "cachecontrol"),
    *("sourceurl", "sourcedocument", "snapshot", "patch", "systemnotification", "modelchange"),
}
"""Parts that no model reads."""
_WRAPPERS = {
    *("tooluse", "toolresult", "functioncall", "functionresponse", "inlinedata", "filedata"),
    *("image", "document", "video", "reasoningcontent", "cachepoint"),
}
"""Keys that hold a part without a type."""
_MEDIA_WRAPPERS = ("source", "image_url", "file", "image", "inlineData", "fileData", "inline_data")
"""Keys within a part that hold a picture, a sound or a file, or where it is."""
_IDS = ("id", "tool_use_id", "toolUseId", "toolCallId", "tool_call_id", "callID", "call_id")
_ANSWERED = (
    *("tool_use_id", "toolUseId", "toolUseID", "toolCallId", "tool_call_id", "call_id"),
    *("functionCallId", "id"),
)
_NAMES = ("name", "toolName", "tool_name", "tool")
_ARGUMENTS = ("input", "arguments", "args")
_OUTPUTS = ("content", "output", "result", "response", "value", "run")


@attrs.define
class Parts:
    """What the parts of one message hold."""

    texts: list[str] = attrs.field(factory=list)
    thoughts: list[str] = attrs.field(factory=list)
    calls: list[ToolCall] = attrs.field(factory=list)
    results: list[ToolResult] = attrs.field(factory=list)
    media: list[Media] = attrs.field(factory=list)

    def messages(self, role: Role, **fields: Any) -> list[Message]:
        """Return the messages that the parts are: the results are a message of their own."""
        results = [Message("tool", tool_results=self.results)] if self.results else []
        if role == "assistant":
            reply = Message(
                "assistant",
                "".join(self.texts),
                reasoning="\n\n".join(filter(None, self.thoughts)),
                tool_calls=self.calls,
                media=self.media,
                **fields,
            )
            only_results = results and not (self.texts or self.thoughts or self.calls)
            return results if only_results else [reply, *results]
        text = "\n".join(filter(None, self.texts))
        result = [Message(role, text, media=self.media)] if text or self.media else []
        if not results and not result:
            return [Message("user" if role == "tool" else role)]
        if role == "tool":
            result = [each.replace(role="user") for each in result]
        return [*results, *result]


def read_parts(content: Any, reading: Reading) -> Parts:
    """Read the content of a message: a text, a part or a list of parts."""
    parts = Parts()
    items = content if isinstance(content, list) else [content]
    for part in items:
        if isinstance(part, str):
            parts.texts.append(part)
        elif isinstance(part, dict):
            _read_part(part, parts, reading)
        elif part is not None:
            reading.skip(type(part).__name__, [json_text(part)])
    return parts


def kind_of(part: _Part) -> str:
    """Return the kind of a part: its type, or the key that holds it, in small letters alone.

    >>> kind_of({"type": "tool-call"}), kind_of({"toolUse": {}}), kind_of({"text": "a"})
    ('toolcall', 'tooluse', 'text')
    """
    kind = text_at(part, "type") or text_at(part, "part_kind")
    if kind:
        return _plain(kind)
    keys = [_plain(key) for key in part if isinstance(part[key], dict | str | list)]
    return next((key for key in keys if key in _WRAPPERS | {"text"}), next(iter(keys), ""))


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _read_part(part: _Part, parts: Parts, reading: Reading) -> None:
    kind = kind_of(part)
    body = _body(part, kind)
    if part.get("thought") is True or kind in _THOUGHTS or kind == "reasoningcontent":
        parts.thoughts.append(_thought(body))
    elif kind in _TEXTS:
        parts.texts.append(_first_text(body, ("text", "content", "value")))
    elif kind in _CALLS:
        parts.calls.append(_call(body))
    elif kind in _RESULTS:
        parts.results.append(_result(body))
    elif kind == "toolinvocation" or (kind.startswith(("tool", "dynamictool")) and "state" in part):
        _read_invocation(part, parts)
    elif kind in _MEDIA:
        parts.media.append(_media(body, kind))
    elif kind not in _SILENT:
        reading.skip(f"part of the kind {text_at(part, 'type') or kind or 'none'!r}", part)


def _body(part: _Part, kind: str) -> _Part:
    """Return what a part holds, without its wrapper."""
    if isinstance(inner := part.get("data"), dict) and "type" in part:
        return inner
    if text_at(part, "type"):
        return part
    value_held = next((value for key, value in part.items() if _plain(key) == kind), None)
    return value_held if isinstance(value_held, dict) else part


def _first(part: _Part, keys: tuple[str, ...]) -> Any:
    return next((part[key] for key in keys if part.get(key) is not None), None)


def _first_text(part: _Part, keys: tuple[str, ...]) -> str:
    return next((part[key] for key in keys if isinstance(part.get(key), str)), "")


def _thought(part: _Part) -> str:
    inner = part.get("reasoningText")
    if isinstance(inner, dict):
        return text_at(inner, "text")
    return _first_text(part, ("thinking", "reasoning", "text", "content", "think"))


def _call(part: _Part) -> ToolCall:
    # Goose keeps a call that could not be parsed as an error.
    value = part.get("toolCall")
    inner = value.get("value", value) if isinstance(value, dict) else None
    function = inner if isinstance(inner, dict) else part
    call_id = _first_text(part, _IDS)
    return make_call(call_id, _first_text(function, _NAMES), _first(function, _ARGUMENTS))


def _result(part: _Part) -> ToolResult:
    call_id = _first_text(part, _ANSWERED)
    name = _first_text(part, _NAMES)
    value = part.get("toolResult")
    content = value if isinstance(value, dict) else _first(part, _OUTPUTS)
    is_error = any(part.get(key) is True for key in ("is_error", "isError"))
    is_error = is_error or part.get("status") == "error" or _says_failure(content)
    # Beside the response, Gemini takes media: https://ai.google.dev/api/caching#FunctionResponse.
    beside = part.get("parts")
    outputs = [content, *beside] if isinstance(beside, list) else content
    text, media = read_output(outputs)
    return make_result(call_id, name, text, is_error=is_error, media=media)


def _says_failure(content: Any) -> bool:
    kind = content.get("type") or content.get("status") if isinstance(content, dict) else ""
    return isinstance(kind, str) and kind.startswith(("error", "execution-denied"))


def read_output(content: Any) -> tuple[str, list[Media]]:
    r"""Return the text and the media in the content of a tool's result.

    >>> read_output([{"type": "text", "text": "a"}, {"rows": 2}])[0]
    'a\n{"rows": 2}'
    """
    texts: list[str] = []
    media: list[Media] = []
    waiting = [content]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, list):
            waiting = [*item, *waiting]
        elif isinstance(item, dict):
            kind = kind_of(item)
            inner = _unwrapped(item)
            if inner is not None:
                waiting.insert(0, inner)
            elif kind in _TEXTS:
                texts.append(_first_text(_body(item, kind), ("text", "content")))
            elif kind in _MEDIA and (kind in _WRAPPERS or "type" in item):
                media.append(_media(_body(item, kind), kind))
            else:
                texts.append(json_text(item))
        elif item is not None:
            texts.append(json_text(item))
    return "\n".join(filter(None, texts)), media


def _unwrapped(item: Mapping[str, Any]) -> Any:
    """Return what a result is wrapped in, or None: `{"type": "json", "value": ...}` and its like.

    >>> _unwrapped({"type": "text", "value": "a"}), _unwrapped({"output": "a"})
    ('a', 'a')
    """
    keys = item.keys() - {"type", "status", "isError", "is_error"}
    for key in ("value", "json", "output", "error", "content", "result"):
        if keys == {key}:
            return item[key]
    return item["content"] if keys == {"content", "detailedContent"} else None


def _read_invocation(part: _Part, parts: Parts) -> None:
    """Read a call of Vercel's `UIMessage`, which holds its result."""
    body = part.get("toolInvocation")
    body = body if isinstance(body, dict) else part
    call_id = text_at(body, "toolCallId")
    name = text_at(body, "toolName") or text_at(part, "type").removeprefix("tool-")
    parts.calls.append(make_call(call_id, name, _first(body, _ARGUMENTS)))
    is_error = body.get("state") == "output-error"
    output = body.get("errorText") if is_error else _first(body, ("output", "result"))
    if output is not None:
        text, media = read_output(output)
        parts.results.append(make_result(call_id, name, text, is_error=is_error, media=media))


def _media(part: _Part, kind: str) -> Media:
    """Read a picture, a sound or a file; where its data cannot be read, it is still there."""
    flat = {**part}
    for key in (*_MEDIA_WRAPPERS, "s3Location"):
        if isinstance(flat.get(key), dict):
            flat |= flat[key]
    keys = ("media_type", "mediaType", "mimeType", "mime_type", "MIMEType")
    family = next((name for name in ("image", "audio", "video") if name in kind), "")
    form = _first_text(flat, ("format",)) or ("*" if family else "octet-stream")
    # Bedrock writes `jpeg`, others `image/jpeg`.
    whole = form if "/" in form else f"{family or 'application'}/{form}"
    kind = _first_text(flat, keys) or whole
    address = _first_text(flat, ("url", "image_url", "fileUri", "file_uri", "uri", "image"))
    data = _first_text(flat, ("data", "bytes", "Data", "content"))
    if address.startswith("data:"):
        head, _, data = address.partition(",")
        kind, address = head[5:].partition(";")[0] or kind, ""
    return Media(kind, decode_base64(data), address)


def decode_base64(data: Any) -> bytes:
    """Return what base64 holds; nothing if it is not base64."""
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError):
        # Still a picture, which takes its place in a request.
        return b""


def split_steps(parts: list[Any]) -> Iterator[list[Any]]:
    """Yield the parts of each step of a reply: every step was one request to the model."""
    step: list[Any] = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "step-start" and step:
            yield step
            step = []
        step.append(part)
    yield step


def make_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """Return a call whose arguments are a text, or a value that becomes one.

    >>> make_call("c1", "read", {"path": "a.py"}).arguments
    '{"path": "a.py"}'
    """
    return ToolCall(call_id, name, json_text(arguments or {}))


def make_result(
    call_id: str, name: str, text: str, *, is_error: bool = False, media: Sequence[Media] = ()
) -> ToolResult:
    """Return a result, whose text is its error if the call failed."""
    if is_error:
        return ToolResult(call_id, name, "", ToolError(text), media=media)
    return ToolResult(call_id, name, text, media=media)
