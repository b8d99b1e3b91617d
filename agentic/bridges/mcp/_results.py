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
    named = str(tool.get("name", ""))
    title = tool.get("title")
    try:
        return ToolDefinition(
            _NOT_IN_NAMES.sub("_", named)[:128],
            tool.get("description") or title or "",
            # Some servers omit the type of a tool without parameters.
            {"type": "object", **(tool.get("inputSchema") or {})},
            annotations={**({"title": title} if title else {}), **(tool.get("annotations") or {})},
        )
    except ConfigError as problem:
        _log.warning("the tool %r of an MCP server is left out: %s", named, problem)
        return None


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """Return the result of a call, without the id and the name of the call.

    >>> result = {"content": [{"type": "text", "text": "Red."}], "structuredContent": {"tests": 3}}
    >>> print(read_result(result).output)
    Red.
    {"tests": 3}
    """
    content, structured = result.get("content") or [], result.get("structuredContent")
    parts = [part for block in content for part in _parts(block)]
    texts = [part for part in parts if isinstance(part, str)]
    # Most servers repeat it as text, which the model need not read twice.
    if structured is not None and not _states(texts, structured):
        texts.append(_json(structured))
    output, failed = "\n".join(texts), result.get("isError") is True
    return ToolResult(
        output="" if failed else output,
        error=ToolError(output or _NO_REASON) if failed else None,
        media=[part for part in parts if isinstance(part, Media)],
        extra={} if structured is None else {"structured_content": structured},
    )


def _parts(block: Mapping[str, Any]) -> Iterator[str | Media]:
    """Yield the text and the media of a content block; a block of an unknown type as JSON."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield text
        case {"type": "image" | "audio", "mimeType": str(media_type), "data": str(data)}:
            yield _media(media_type, data)
        case {"type": "resource_link", "uri": str(uri)}:
            yield _link(uri, block)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            yield f"[{uri}]\n{text}"
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data), **rest}}:
            yield f"[{uri}]"
            yield _media(str(rest.get("mimeType") or "application/octet-stream"), data)
        case _:
            yield _json(block)


def _media(media_type: str, data: str) -> str | Media:
    try:
        return Media(media_type, base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        # The model learns at least that there was something.
        return f"[{media_type}, which is damaged]"


def _link(uri: str, block: Mapping[str, Any]) -> str:
    """Return a line about a resource that the server only names.

    >>> _link("file:///a.py", {"name": "a.py", "mimeType": "text/x-python", "size": 9})
    '[file:///a.py: a.py, text/x-python, 9 bytes]'
    """
    size = f"{block['size']:,} bytes" if isinstance(block.get("size"), int) else ""
    title = block.get("title") or block.get("name")
    said = [str(each) for each in (title, block.get("mimeType"), size) if each]
    description = f" {block['description']}" if block.get("description") else ""
    return f"[{uri}{': ' if said else ''}{', '.join(said)}]{description}"


def _states(texts: list[str], structured: Any) -> bool:
    """Return whether the texts say the same as the structured content.

    Servers repeat it as text for older clients. The SDK's servers wrap what is not an object:
    `{"result": ["a", "b"]}`, with one text for each item.

    >>> _states(["a", "b"], {"result": ["a", "b"]}), _states(["3"], {"n": 3})
    (True, False)
    """
    is_wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
    wrapped = structured["result"] if is_wrapped else structured
    read = [_read(text) for text in texts]
    if len(texts) == 1 and (read[0] in (structured, wrapped) or texts[0] == wrapped):
        return True
    return bool(texts) and wrapped in (read, texts)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
