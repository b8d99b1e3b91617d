"""Convert between JSON data and boto3's data, and limit how deeply data is nested.

On the wire and in a payload, bytes are base64 text. boto3 expects `bytes`, which it encodes itself.
It would encode a base64 text again, without raising an error.
"""

import json
from collections.abc import Mapping
from operator import is_
from typing import Any

from agentic.providers.kit import at, plain
from agentic.providers.kit._json import DEEPEST_ARGUMENTS, SCALARS, is_deep, is_plain
from agentic.providers.kit._media import from_base64, to_base64

__all__ = ["as_json", "for_boto3", "input_text"]

_JSON = json.JSONEncoder(ensure_ascii=False)
_MEDIA = {"image", "document", "video", "audio"}
_WITHOUT_BYTES = SCALARS - {bytes}
_SERVER_TOOL = "server_tool_use"


def as_json(item: Any) -> Any:
    """Return data from the wire or from an SDK as JSON data; JSON data is returned unchanged.

    >>> as_json({"redactedContent": b"abc", "n": [1]})
    {'redactedContent': 'YWJj', 'n': [1]}
    """
    if is_plain(item, DEEPEST_ARGUMENTS, _WITHOUT_BYTES):
        return item
    data = plain(_flat(item, DEEPEST_ARGUMENTS) if is_deep(item) else item)
    # The depth of an SDK object is only known once it is plain.
    return _without_bytes(_flat(data, DEEPEST_ARGUMENTS) if is_deep(data) else data)


def for_boto3(request: Mapping[str, Any], /) -> dict[str, Any]:
    """Convert a request's JSON data to the data for boto3, with bytes instead of base64.

    What the service sends in a reply but does not accept back is left out: reasoning without a
    signature (https://github.com/can1357/oh-my-pi/pull/9086 for Nova,
    https://github.com/strands-agents/harness-sdk/issues/651 for DeepSeek), and a call's type other
    than `server_tool_use`, the only one that the API knows
    (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html).

    >>> image = {"image": {"format": "png", "source": {"bytes": "YWJj"}}}
    >>> for_boto3({"messages": [{"role": "user", "content": [image]}]})["messages"][0]["content"]
    [{'image': {'format': 'png', 'source': {'bytes': b'abc'}}}]
    """
    given = dict(plain(request))
    for field in ("messages", "system"):
        if isinstance(given.get(field), list):
            convert = _message if field == "messages" else _block
            given[field] = [convert(item) for item in given[field]]
    return given


def input_text(given: Any) -> str:
    """Return a call's arguments as JSON text."""
    if isinstance(given, str):
        return given
    try:
        return _JSON.encode(given)
    except RecursionError:
        return "(arguments that are nested too deeply to be written down)"


def _flat(item: Any, levels: int) -> Any:
    """Return data without levels that are too deep; such arguments are kept as text."""
    if isinstance(item, list):
        return [_flat(part, levels - 1) for part in item] if levels else None
    if not isinstance(item, dict):
        return item
    if not levels:
        return None
    return {
        key: input_text(value) if key == "input" and is_deep(value) else _flat(value, levels - 1)
        for key, value in item.items()
    }


def _without_bytes(data: Any) -> Any:
    if isinstance(data, bytes | bytearray):
        return to_base64(bytes(data))
    if isinstance(data, dict):
        values = list(map(_without_bytes, data.values()))
        same = all(new is old for new, old in zip(values, data.values(), strict=True))
        return data if same else dict(zip(data, values, strict=True))
    if isinstance(data, list):
        values = list(map(_without_bytes, data))
        return data if all(map(is_, values, data)) else values
    return data


def _message(message: Any) -> Any:
    content = at(message, "content")
    if not isinstance(content, list):
        return message
    blocks = [_block(block) for block in content if not _is_unsigned(block)]
    # Bedrock rejects a message without content, and leaving it out would break the alternation
    # of roles.
    return {**message, "content": blocks or [{"text": "(no text)"}]}


def _is_unsigned(block: Any) -> bool:
    text = at(block, "reasoningContent", "reasoningText")
    return isinstance(text, dict) and not text.get("signature")


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    return {kind: _value(kind, value) for kind, value in block.items()}


def _value(kind: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    # Only blocks hold bytes: an argument that looks like base64 is the model's own text.
    if kind in _MEDIA:
        value = _with_bytes(value)
    elif kind == "guardContent":
        value = _block(value)
    elif kind == "toolResult" and isinstance(value.get("content"), list):
        value = {**value, "content": [_block(part) for part in value["content"]]}
    elif kind == "toolUse" and value.get("type") != _SERVER_TOOL:
        value = {name: part for name, part in value.items() if name != "type"}
    elif kind == "reasoningContent" and isinstance(value.get("redactedContent"), str):
        value = {**value, "redactedContent": _to_bytes(value["redactedContent"])}
    return value


def _with_bytes(media: dict[str, Any]) -> dict[str, Any]:
    source = media.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("bytes"), str):
        return media
    return {**media, "source": {**source, "bytes": _to_bytes(source["bytes"])}}


def _to_bytes(text: str) -> bytes:
    data = from_base64(text)
    return text.encode("utf-8", "surrogatepass") if data is None else data
