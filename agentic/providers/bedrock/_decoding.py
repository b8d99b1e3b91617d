"""Decode wire messages and content blocks; each message keeps its blocks as its payload.

The payload of a `ProviderPayload` is a wire message, or the list of blocks in `system`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult
from agentic.providers.bedrock._blocks import as_json, read_media
from agentic.providers.kit import Decoded, at, items_at, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._json import json_text
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

NAME = "bedrock"
# The most common block types. A message that has no other is not searched for media.
_NO_MEDIA = {"text", "toolUse", "reasoningContent"}
_SAYING = {"text", "guardContent", "citationsContent", "searchResult"}
# How `ToolResult.text` begins for a failure, which is how a failure is sent.
_ERROR = "Error: "


def decode(messages: Iterable[Any], /) -> list[Message]:
    """Read a request's `messages`. A user message with results and other content becomes two.

    >>> [message.role for message in decode([{"role": "user", "content": [{"text": "Hi"}]}])]
    ['user']
    """
    items = as_json(messages)
    given = items if isinstance(items, list) else []
    return [message for found in IncrementalDecoder().read(given) for message in found.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    _names: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The tool name of each call so far, by call id."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        self._names.rewind(start)
        return self.read(map(as_json, messages[start:]), start)

    def read(self, items: Iterable[Any], start: int = 0, /) -> list[Decoded]:
        """Read the messages from `start` on, as JSON data."""
        decoded = []
        for position, item in enumerate(items, start):
            found = _decode_message(item, self._names.values)
            for message in found:
                for call in message.tool_calls:
                    self._names.add(position, call.id, call.name)
            decoded.append(Decoded(1, tuple(found)))
        return decoded


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first."""
    body = as_json(request)
    system = at(body, "system")
    first = [_system(system)] if isinstance(system, list) and system else []
    if isinstance(system, str) and system:
        # Converse takes a list, so a string is not sent back as it came.
        first = [Message("system", system)]
    return first + decode(items_at(body, "messages"))


def decode_payload(payload: Any) -> Message | None:
    """Return the message for one payload; None if it is not one of this adapter."""
    if isinstance(payload, list):
        return _system(payload)
    found = _decode_message(payload, {})
    # A payload belongs to one message; results with words next to them are two.
    return found[0] if len(found) == 1 else None


def _decode_message(item: Any, names: Mapping[str, str]) -> list[Message]:
    """Read one wire message. `names` maps the id of each call so far to its tool."""
    content = at(item, "content")
    blocks = [{"text": content}] if isinstance(content, str) else items_at(item, "content")
    role, kinds = at(item, "role"), _kinds_of(blocks)
    if role == "assistant":
        return [_assistant(item, blocks, kinds)]
    if role == "system":
        return [decoded_message("system", _texts(blocks), decoded_native(NAME, item))]
    end = _end_of_results(blocks) if "toolResult" in kinds else 0
    if end == 0:
        return [_user(item, blocks, kinds)]
    if end == len(blocks):
        return [_tool(item, blocks, names)]
    return [
        _tool({**item, "content": blocks[:end]}, blocks[:end], names),
        _user({**item, "content": blocks[end:]}, blocks[end:], kinds, joins_previous=True),
    ]


def without_reasoning(payload: Any) -> Any:
    """Return a payload without its blocks of reasoning."""
    content = at(payload, "content")
    if not isinstance(content, list):
        return payload
    return {**payload, "content": [b for b in content if at(b, "reasoningContent") is None]}


def _end_of_results(blocks: list[Any]) -> int:
    """Count the blocks up to the last result, including blocks without content after it."""
    # A cache mark after the results, for example, is not a message of the user's.
    end = 0
    for position, block in enumerate(blocks):
        if _is_result(block) or (end == position and end and not _says(block)):
            end = position + 1
    says = any(_says(block) for block in blocks[end:])
    return end if says or not end else len(blocks)


def _says(block: Any) -> bool:
    return bool(_block_text(block) or _block_media([block]))


def _assistant(item: Any, blocks: list[Any], kinds: set[str]) -> Message:
    calls = map(read_call, blocks) if "toolUse" in kinds else ()
    others = [] if kinds <= _NO_MEDIA else [block for block in blocks if not _is_result(block)]
    return decoded_message(
        "assistant",
        "".join(map(_block_text, blocks)),
        decoded_native(NAME, item, holds_reasoning="reasoningContent" in kinds),
        reasoning="".join(map(_read_reasoning, blocks)) if "reasoningContent" in kinds else "",
        tool_calls=[call for call in calls if call is not None],
        media=_block_media(others),
    )


def _tool(item: Any, blocks: list[Any], names: Mapping[str, str]) -> Message:
    results = [_read_result(block, names) for block in blocks if _is_result(block)]
    native = decoded_native(NAME, item)
    media = _block_media(blocks)
    return decoded_message("tool", _texts(blocks), native, tool_results=results, media=media)


def _user(
    item: Any, blocks: list[Any], kinds: set[str], *, joins_previous: bool = False
) -> Message:
    text = item if isinstance(item, str) else _texts(blocks)
    native = decoded_native(NAME, item, joins_previous=joins_previous)
    media = [] if kinds <= _NO_MEDIA else _block_media(blocks)
    return decoded_message("user", text, native, media=media)


def _system(blocks: list[Any]) -> Message:
    return decoded_message("system", _texts(blocks), decoded_native(NAME, blocks))


def _texts(blocks: list[Any]) -> str:
    return "\n".join(filter(None, map(_block_text, blocks)))


def _kinds_of(blocks: list[Any]) -> set[str]:
    """Return the types of the blocks: each block has one key, which is its type."""
    return {kind for block in blocks if isinstance(block, dict) for kind in block}


def _block_text(block: Any) -> str:
    """Return a block's text; empty for calls, results and blocks that are not text.

    >>> _block_text({"guardContent": {"text": {"text": "Check me."}}})
    'Check me.'
    """
    if type(block) is dict and _SAYING.isdisjoint(block):
        return ""
    # By far the most frequent, so it is looked for first.
    if isinstance(text := at(block, "text"), str):
        return text
    if isinstance(text := at(block, "guardContent", "text", "text"), str):
        return text
    for kind in ("citationsContent", "searchResult"):
        if isinstance(at(block, kind), dict):
            return "".join(text_at(part, "text") for part in items_at(block, kind, "content"))
    return ""


def _block_media(blocks: list[Any]) -> list[Media]:
    return [media for media in map(read_media, blocks) if media is not None]


def _read_reasoning(block: Any) -> str:
    return text_at(block, "reasoningContent", "reasoningText", "text")


def read_call(block: Any) -> ToolCall | None:
    """Read a call that the caller has to execute; None for one that the provider has run.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html

    >>> read_call({"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}).arguments
    '{}'
    """
    call = at(block, "toolUse")
    # Its result is in the same reply, so a call in the history would be closed as unanswered.
    if not isinstance(call, dict) or call.get("type") == "server_tool_use":
        return None
    arguments = json_text(call.get("input"))
    return decoded_call(text_at(call, "toolUseId"), text_at(call, "name"), arguments)


def _is_result(block: Any) -> bool:
    return isinstance(at(block, "toolResult"), dict)


def _read_result(block: Any, names: Mapping[str, str]) -> ToolResult:
    result = block["toolResult"]
    content = items_at(result, "content")
    text, media = "\n".join(filter(None, map(_result_text, content))), _block_media(content)
    call_id = text_at(result, "toolUseId")
    name = names.get(str(result.get("toolUseId")), "")
    if result.get("status") == "error":
        return decoded_result(call_id, name, "", ToolError(text.removeprefix(_ERROR)), media)
    return decoded_result(call_id, name, text, None, media)


def _result_text(part: Any) -> str:
    if isinstance(part, dict) and "json" in part:
        return json.dumps(part["json"], ensure_ascii=False)
    return _block_text(part)


def is_blank(block: Any) -> bool:
    """Return whether a block is a text of only white space."""
    is_text = isinstance(block, dict) and block.keys() == {"text"}
    return is_text and isinstance(block["text"], str) and not block["text"].strip()
