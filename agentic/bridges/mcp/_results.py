"""Reading a server's tools and results from the JSON of the wire.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools (2026-11)
"""

import base64
import binascii
import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Media, ToolError, ToolResult
from agentic.tools import ToolDefinition

_log = logging.getLogger(__name__)
# A ToolDefinition takes these characters, and up to 128 of them.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
_NO_REASON = "the tool failed, and its server did not say why"


def read_tool(tool: Mapping[str, Any]) -> ToolDefinition | None:
    """Return the definition of a tool; None, with a warning, if no provider would accept it.

    >>> found = read_tool({"name": "a/b", "inputSchema": {}, "annotations": {"readOnlyHint": True}})
    >>> found.name, found.parameters, found.annotations
    ('a_b', {'type': 'object'}, {'readOnlyHint': True})
    """
    name = str(tool.get("name", ""))
    title = tool.get("title")
    try:
        return ToolDefinition(
            _NOT_IN_NAMES.sub("_", name)[:128],
            tool.get("description") or title or "",
            # Some servers omit the type of a tool without parameters.
            {"type": "object", **(tool.get("inputSchema") or {})},
            annotations={**({"title": title} if title else {}), **(tool.get("annotations") or {})},
        )
    except ConfigError as problem:
        _log.warning("the tool %r of an MCP server is left out: %s", name, problem)
        return None


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """Return the result of a call, without the id and the name of the call.

    >>> result = {"content": [{"type": "text", "text": "Red."}], "structuredContent": {"tests": 3}}
    >>> print(read_result(result).output)
    Red.
    {"tests": 3}
    """
    content, data = result.get("content") or [], result.get("structuredContent")
    parts = [part for block in content for part in _parts(block)]
    texts = [part for part in parts if isinstance(part, str)]
    media = [part for part in parts if isinstance(part, Media)]
    # The model is shown the bytes of all blocks, also of those inside JSON, and reads none as text.
    binaries = _binaries([content, data, *map(_read, texts)])
    for binary in binaries:
        if binary.media and binary.media not in media:
            media.append(binary.media)
    # Most servers repeat it as text, which the model need not read twice.
    if data is not None and not _states(content, data):
        texts.append(_json(data))
    output, is_error = _without(binaries, "\n".join(texts)), result.get("isError") is True
    return ToolResult(
        output="" if is_error else output,
        error=ToolError(output or _NO_REASON) if is_error else None,
        media=media,
        extra={} if data is None else {"structured_content": _cleared(data, binaries)},
    )


def _parts(block: Mapping[str, Any]) -> Iterator[str | Media]:
    """Yield the text and the media of a content block; a block of an unknown type as JSON."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield text
        case {"type": "resource_link", "uri": str(uri)}:
            yield _link(uri, block)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            yield f"[{uri}]\n{text}"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str()} as resource}:
            yield f"[{uri}]"
            yield _Binary.read(resource).part
        case {"type": "image" | "audio", "data": str()} | {"mimeType": str(), "data": str()}:
            yield _Binary.read(block).part
        case _:
            yield _json(block)


@attrs.frozen
class _Binary:
    """The bytes of a content block."""

    text: str
    """The base64 text of the block."""
    media_type: str
    media: Media | None
    """None if the text is damaged or empty."""

    @classmethod
    def read(cls, block: Mapping[str, Any]) -> "_Binary":
        """Read the bytes of an image, a sound, or the contents of a resource."""
        text = block["blob"] if "blob" in block else block["data"]
        media_type = str(block.get("mimeType") or "application/octet-stream")
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            data = b""
        return cls(text, media_type, Media(media_type, data) if data else None)

    @property
    def part(self) -> str | Media:
        """Return the media; if it is damaged, a line by which the model learns that it was sent."""
        return self.media or self.stand_in

    @property
    def stand_in(self) -> str:
        """Return what a JSON text has in place of the bytes."""
        if self.media is None:
            return f"[{self.media_type}, which is damaged]"
        return f"[{self.media_type}, {len(self.media.data):,} bytes]"


def _binaries(values: list[Any]) -> list[_Binary]:
    """Return the bytes of the content blocks anywhere in some JSON values."""
    binaries, pending = [], values[::-1]
    while pending:
        match pending.pop():
            case list(items):
                pending += items[::-1]
            case (
                {"type": "image" | "audio", "mimeType": str(), "data": str()}
                | {"uri": _, "mimeType": _, "blob": str()}
            ) as block:
                binaries.append(_Binary.read(block))
            case {"type": "resource", "resource": {"uri": _, "blob": str()} as resource}:
                binaries.append(_Binary.read(resource))
            case dict(fields):
                pending += list(fields.values())[::-1]
    return binaries


def _without(binaries: list[_Binary], text: str) -> str:
    """Return a JSON text whose bytes are replaced by what they are; the rest is as it was."""
    for binary in filter(lambda each: each.text, binaries):
        # Some servers escape slashes, as PHP does.
        for encoding in (_json(binary.text), _json(binary.text).replace("/", r"\/")):
            text = text.replace(encoding, _json(binary.stand_in))
    return text


def _cleared(data: Any, binaries: list[_Binary]) -> Any:
    return json.loads(_without(binaries, _json(data))) if binaries else data


def _link(uri: str, block: Mapping[str, Any]) -> str:
    """Return a line about a resource that the server only names.

    >>> _link("file:///a.py", {"name": "a.py", "mimeType": "text/x-python", "size": 9})
    '[file:///a.py: a.py, text/x-python, 9 bytes]'
    """
    size = f"{block['size']:,} bytes" if isinstance(block.get("size"), int) else ""
    title = block.get("title") or block.get("name")
    details = [str(each) for each in (title, block.get("mimeType"), size) if each]
    description = f" {block['description']}" if block.get("description") else ""
    return f"[{uri}{': ' if details else ''}{', '.join(details)}]{description}"


def _states(content: list[Any], data: Any) -> bool:
    """Return whether the content blocks say the same as the structured content.

    Servers repeat it as text for older clients. The SDK's servers wrap what is not an object:
    `{"result": ["a", "b"]}`, with one block for each item. An item may be a content block itself,
    which has its absent fields as nulls there: a tool that is annotated to return `ImageContent`,
    with the SDK 1.x, or `list[Any]`, also with 2.x
    (func_metadata.py of `mcp.server.fastmcp.utilities` in mcp 1.30.0, and of
    `mcp.server.mcpserver.utilities` in 2.3.0; 2026-11).

    >>> texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "3"}]
    >>> _states(texts, {"result": ["a", 3]}), _states(texts, {"n": 3})
    (True, False)
    """
    is_wrapped = isinstance(data, dict) and data.keys() == {"result"}
    value = data["result"] if is_wrapped else data
    blocks = [_values(block) for block in content]
    return any(_follow(items, blocks) for items in ([data], [value], _items(value)))


def _items(value: Any) -> list[Any]:
    """Return the items of a list and of the lists in it: the SDK makes one block of each."""
    if not isinstance(value, list):
        return [value]
    return [item for each in value for item in _items(each)]


def _follow(items: list[Any], blocks: list[list[Any]]) -> bool:
    """Return whether there are items, and each has a block of its own, in their order."""
    rest = iter(blocks)
    return bool(items) and all(any(_plain(item) in values for values in rest) for item in items)


def _values(block: Mapping[str, Any]) -> list[Any]:
    """Return what a block may stand for: itself, its text, or the JSON value in its text."""
    text = block.get("text")
    return [_plain(block), *([text, _plain(_read(text))] if isinstance(text, str) else [])]


def _plain(value: Any) -> Any:
    """Return a JSON value without the fields that are null."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if each is not None}
    return value


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
