"""From the wire's messages and content blocks to ours, each with the blocks that it came from.

The payload of a `ProviderPayload` is a wire message, or the list of blocks of `system`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult
from agentic.providers.bedrock._json import as_json, input_text
from agentic.providers.bedrock._media import read_media
from agentic.providers.kit import Decoded, at, items_at, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

__all__ = ["NAME", "IncrementalDecoder", "decode", "decode_payload", "decode_request", "is_blank"]

NAME = "bedrock"
_NO_MEDIA = {"text", "toolUse", "reasoningContent"}
"""What blocks without a result nearly always are."""
_SAYING = {"text", "guardContent", "citationsContent", "searchResult"}
_ERROR = "Error: "
"""How `ToolResult.text` begins a failure."""


def decode(messages: Iterable[Any], /) -> list[Message]:
    """Read a request's `messages`; a user's message that answers calls, and says more, is two.

    >>> [message.role for message in decode([{"role": "user", "content": [{"text": "Hi"}]}])]
    ['user']
    """
    items = as_json(messages)
    given = items if isinstance(items, list) else []
    return [message for found in IncrementalDecoder().read(given) for message in found.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of messages, giving what `decode` gives for the whole."""

    _names: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The tool of each call so far."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read what stands from `start` on; what stands before was read by earlier calls."""
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
    """Read the conversation of a whole request, its system prompt first."""
    body = as_json(request)
    system = at(body, "system")
    first = [_system(system)] if isinstance(system, list) and system else []
    if isinstance(system, str) and system:
        first = [Message("system", system)]
    return first + decode(items_at(body, "messages"))


def decode_payload(payload: Any) -> Message | None:
    """Read what one message was made from."""
    if isinstance(payload, list):
        return _system(payload)
    found = _decode_message(payload, {})
    return found[0] if len(found) == 1 else None


def _decode_message(item: Any, names: Mapping[str, str]) -> list[Message]:
    """Read one wire message. `names` gives the tool of each call so far, by its id."""
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


def _end_of_results(blocks: list[Any]) -> int:
    """Count the blocks up to the last result, and whatever after it says nothing by itself.

    A mark for the cache after the results is no request of the user's.
    """
    end = 0
    for position, block in enumerate(blocks):
        if _is_result(block) or (end == position and end and not _says(block)):
            end = position + 1
    says = any(_says(block) for block in blocks[end:])
    return end if says or not end else len(blocks)


def _says(block: Any) -> bool:
    return bool(_block_text(block) or _block_media([block]))


def _assistant(item: Any, blocks: list[Any], kinds: set[str]) -> Message:
    calls = map(_read_call, blocks) if "toolUse" in kinds else ()
    others = [] if kinds <= _NO_MEDIA else [block for block in blocks if not _is_result(block)]
    return decoded_message(
        "assistant",
        "".join(map(_block_text, blocks)),
        decoded_native(NAME, item),
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
    """Return what the blocks are: each has one key, which says it."""
    return {kind for block in blocks if isinstance(block, dict) for kind in block}


def _block_text(block: Any) -> str:
    """Return the words of a block; none for one that is no text, and for calls and results.

    >>> _block_text({"guardContent": {"text": {"text": "Check me."}}})
    'Check me.'
    """
    if type(block) is dict and _SAYING.isdisjoint(block):
        return ""
    if isinstance(text := at(block, "text"), str):
        return text
    if isinstance(text := at(block, "guardContent", "text", "text"), str):
        return text
    for kind in ("citationsContent", "searchResult"):
        if isinstance(at(block, kind), dict):
            return "".join(text_at(part, "text") for part in items_at(block, kind, "content"))
    return ""


def _block_media(blocks: list[Any]) -> list[Media]:
    """Return the media of blocks, those inside results included, in order."""
    parts: list[Any] = []
    for block in blocks:
        parts += (
            [block, *items_at(block["toolResult"], "content")] if _is_result(block) else [block]
        )
    return [media for media in map(read_media, parts) if media is not None]


def _read_reasoning(block: Any) -> str:
    """Return the visible thinking of a block."""
    return text_at(block, "reasoningContent", "reasoningText", "text")


def _read_call(block: Any) -> ToolCall | None:
    """Read a call that is ours to carry out: not one that the provider itself has run.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html

    >>> _read_call({"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}).arguments
    '{}'
    """
    call = at(block, "toolUse")
    if not isinstance(call, dict) or call.get("type") == "server_tool_use":
        return None
    given = call.get("input")
    arguments = "{}" if given is None else input_text(given)
    return decoded_call(text_at(call, "toolUseId"), text_at(call, "name"), arguments)


def _is_result(block: Any) -> bool:
    """Return whether a block is the answer to a call."""
    return isinstance(at(block, "toolResult"), dict)


def _read_result(block: Any, names: Mapping[str, str]) -> ToolResult:
    """Read the answer to a call, whose tool is in `names`; its media are read by `_block_media`."""
    result = block["toolResult"]
    text = "\n".join(filter(None, map(_result_text, items_at(result, "content"))))
    call_id = text_at(result, "toolUseId")
    name = names.get(str(result.get("toolUseId")), "")
    if result.get("status") == "error":
        return decoded_result(call_id, name, "", ToolError(text.removeprefix(_ERROR)))
    return decoded_result(call_id, name, text)


def _result_text(part: Any) -> str:
    if isinstance(part, dict) and "json" in part:
        return json.dumps(part["json"], ensure_ascii=False)
    return _block_text(part)


def is_blank(block: Any) -> bool:
    """Return whether a text is white space alone.

    An assistant's is refused, and a user's that has nothing beside it; recorded is a user's that
    was taken beside another text. https://github.com/NousResearch/hermes-agent/pull/67978
    """
    is_text = isinstance(block, dict) and block.keys() == {"text"}
    return is_text and isinstance(block["text"], str) and not block["text"].strip()
