"""From the wire's messages to ours, each with the blocks that it came from.

The payload of a `Native` is a wire message, or the list of blocks of `system`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Message
from agentic.providers._incremental import Decoded, KnownIds
from agentic.providers._native import decoded_message, decoded_native
from agentic.providers._plain import at, items_at
from agentic.providers.bedrock._wire._blobs import as_json
from agentic.providers.bedrock._wire._blocks import (
    block_media,
    block_text,
    is_result,
    kinds_of,
    read_call,
    read_reasoning,
    read_result,
)
from agentic.providers.bedrock._wire._name import NAME

__all__ = [
    "IncrementalDecoder",
    "decode",
    "decode_message",
    "decode_payload",
    "decode_request",
]

_NO_MEDIA = {"text", "toolUse", "reasoningContent"}
"""What blocks without a result nearly always are."""


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
            found = decode_message(item, self._names.values)
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
    found = decode_message(payload, {})
    return found[0] if len(found) == 1 else None


def decode_message(item: Any, names: Mapping[str, str]) -> list[Message]:
    """Read one wire message. `names` gives the tool of each call so far, by its id."""
    content = at(item, "content")
    blocks = [{"text": content}] if isinstance(content, str) else items_at(item, "content")
    role, kinds = at(item, "role"), kinds_of(blocks)
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
        if is_result(block) or (end == position and end and not _says(block)):
            end = position + 1
    says = any(_says(block) for block in blocks[end:])
    return end if says or not end else len(blocks)


def _says(block: Any) -> bool:
    return bool(block_text(block) or block_media([block]))


def _assistant(item: Any, blocks: list[Any], kinds: set[str]) -> Message:
    calls = map(read_call, blocks) if "toolUse" in kinds else ()
    others = [] if kinds <= _NO_MEDIA else [block for block in blocks if not is_result(block)]
    return decoded_message(
        "assistant",
        "".join(map(block_text, blocks)),
        decoded_native(NAME, item),
        reasoning="".join(map(read_reasoning, blocks)) if "reasoningContent" in kinds else "",
        tool_calls=[call for call in calls if call is not None],
        media=block_media(others),
    )


def _tool(item: Any, blocks: list[Any], names: Mapping[str, str]) -> Message:
    results = [read_result(block, names) for block in blocks if is_result(block)]
    native = decoded_native(NAME, item)
    media = block_media(blocks)
    return decoded_message("tool", _texts(blocks), native, tool_results=results, media=media)


def _user(
    item: Any, blocks: list[Any], kinds: set[str], *, joins_previous: bool = False
) -> Message:
    text = item if isinstance(item, str) else _texts(blocks)
    native = decoded_native(NAME, item, joins_previous=joins_previous)
    media = [] if kinds <= _NO_MEDIA else block_media(blocks)
    return decoded_message("user", text, native, media=media)


def _system(blocks: list[Any]) -> Message:
    return decoded_message("system", _texts(blocks), decoded_native(NAME, blocks))


def _texts(blocks: list[Any]) -> str:
    return "\n".join(filter(None, map(block_text, blocks)))
