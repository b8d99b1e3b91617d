"""Decode wire messages and content blocks; each message keeps the wire message as its payload.

The payload of a `ProviderPayload` is usually the wire message itself. It is wrapped if that is not
enough to restore the message. `{"message": m, "at": [0, 2]}` is a part of a wire message, with the
positions of its blocks (on the wire, tool results and the user's words share a message).
`{"message": m, "between": ["user", null]}` is a message whose position matters, with the roles
before and after it. `{"system": ...}` is a string or blocks from the request's `system`.

The block types: https://platform.claude.com/docs/en/api/messages/create (2026-11).

A complete reply is decoded into its message, its token usage and why it ended.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.loop import Decision
from agentic.messages import Media, Message, ProviderPayload, ToolError, ToolResult
from agentic.messages._message import Role
from agentic.providers._bound_requests import input_transformations
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._iterations import (
    is_server_call,
    last_request_in,
    read_counts,
    requests_in,
    used_server_tools,
)
from agentic.providers.kit._json import json_text
from agentic.providers.kit._media import from_base64
from agentic.providers.kit._messages import (
    Decoded,
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)
from agentic.usage import StopReason, StopWords, Usage

NAME = "anthropic"
INVALID_JSON = "INVALID_JSON"
"""The key for arguments that are not a JSON object, as the provider recommends:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming."""
_ROLES: dict[str, Role] = {"assistant": "assistant", "system": "system"}
# The media type to assume if only the URL of an image or a document is known.
_TYPES = {"image": "image/*", "document": "application/pdf"}
_THINKING = {"thinking", "redacted_thinking"}
_WITH_TEXTS = {"search_result", "document"}


def decode(messages: Iterable[Any], /) -> list[Message]:
    """Read a request's `messages`. A user message with results and other content becomes two.

    >>> [message.role for message in decode([{"role": "user", "content": "Hello."}])]
    ['user']
    """
    wire_messages = plain(messages)
    wire = wire_messages if isinstance(wire_messages, list) else []
    return [message for group in IncrementalDecoder().read(wire) for message in group.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    _names: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The tool name of each call so far, by call id."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it.

        If the last message is open, it is read again when another one follows it.
        """
        self._names.rewind(start)
        # One message earlier: the position of a message depends on the role before it.
        before = max(0, start - 1)
        return self.read([plain(each) for each in messages[before:]], before, start)

    def read(self, wire: list[Any], before: int = 0, start: int = 0, /) -> list[Decoded]:
        """Read messages from index `start` on; the first item of `wire` has the index `before`."""
        roles = [None, *(at(item, "role") for item in wire), None]
        result = []
        for position in range(start, before + len(wire)):
            place = position - before
            payloads = _payloads(wire[place], [roles[place], roles[place + 2]])
            messages = [self._read(position, payload, payloads[0]) for payload in payloads]
            # The role after it is not known yet.
            is_open = place + 1 == len(wire) and at(payloads[0], "between") is not None
            result.append(Decoded(1, tuple(messages), is_open))
        return result

    def _read(self, position: int, payload: Any, first: Any) -> Message:
        wire = wire_message(payload)
        native = decoded_native(
            NAME,
            payload,
            joins_previous=payload is not first,
            holds_reasoning=any(map(is_thinking, items_at(wire, "content"))),
        )
        message = _read(wire, self._names.values, native)
        for call in message.tool_calls:
            self._names.add(position, call.id, call.name)
        return message


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first.

    >>> request = {"system": "Be brief.", "messages": [{"role": "user", "content": "Why?"}]}
    >>> [message.content for message in decode_request(request)]
    ['Be brief.', 'Why?']
    """
    data = plain(request)
    system = at(data, "system")
    parts = [[block] for block in system] if isinstance(system, list) and system else [system]
    leading = [
        _system(part, ProviderPayload(NAME, {"system": part}))
        for part in parts
        if isinstance(part, str | list)
    ]
    return leading + decode(items_at(data, "messages"))


def read_payload(payload: Any) -> Message | None:
    """Read one payload as `decode` does; return None if it is not one of this adapter."""
    system = system_part(payload)
    if system is not None:
        return _system(system)
    item = wire_message(payload)
    return _read(item, {}) if isinstance(item, dict) else None


def system_part(payload: Any) -> str | list[Any] | None:
    """Return a payload's part of the request's system prompt; None if it has none."""
    part = None if at(payload, "role") else at(payload, "system")
    return part if isinstance(part, str | list) else None


def wire_message(payload: Any) -> Any:
    """Return a payload's wire message, or its part of one."""
    return payload if at(payload, "role") is not None else at(payload, "message")


def without_thinking(payload: Any) -> Any:
    """Return a payload without its blocks of thinking.

    >>> block = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    >>> without_thinking({"role": "assistant", "content": [block, text_block("So.")]})["content"]
    [{'type': 'text', 'text': 'So.'}]
    """
    wire = wire_message(payload)
    if not isinstance(wire, dict) or not isinstance(wire.get("content"), list):
        return payload
    blocks = [block for block in wire["content"] if not is_thinking(block)]
    rest = {**wire, "content": blocks}
    return rest if wire is payload else {**payload, "message": rest}


def is_thinking(block: Any) -> bool:
    """Return whether a block is reasoning, readable or not."""
    return text_at(block, "type") in _THINKING


def _payloads(item: Any, roles: list[Any]) -> list[Any]:
    """Return the payloads for a wire message, wrapped if their position must be remembered.

    `roles` are the roles of the messages before and after it.
    """
    role = at(item, "role")
    # A reply that came first was accepted there, so no user message is put before it.
    # One behind another reply came so, too, and is not parted from it.
    if role == "system" or (role == "assistant" and roles[0] in (None, "assistant")):
        return [{"message": item, "between": roles}]
    content = [] if role == "assistant" else items_at(item, "content")
    are_results = list(map(_is_result, content))
    if all(are_results) or not any(are_results):
        # `wire_message` tells a message from a wrapped one by its role.
        return [item] if isinstance(role, str) else [{"message": item}]
    results = [place for place, is_result in enumerate(are_results) if is_result]
    others = [place for place, is_result in enumerate(are_results) if not is_result]
    return [
        {"message": {**item, "content": [content[place] for place in places]}, "at": places}
        for places in (results, others)
    ]


def _is_result(block: Any) -> bool:
    return text_at(block, "type") == "tool_result"


def _read(item: Any, names: Mapping[str, str], native: ProviderPayload | None = None) -> Message:
    """Read one wire message. `names` maps the id of each call so far to its tool."""
    content, role = at(item, "content"), _ROLES.get(text_at(item, "role"), "user")
    if isinstance(content, str):
        return decoded_message(role, content, native)
    blocks = blocks_of(content)
    if role == "assistant":
        return _reply(blocks, native)
    if role == "system":
        return _system(blocks, native)
    media = [part for part in map(_media_of, blocks) if part]
    text = "\n\n".join(filter(None, map(text_of, blocks)))
    results = [_result(block, names) for block in blocks if _is_result(block)]
    if results:
        return decoded_message("tool", text, native, tool_results=results, media=media)
    return decoded_message("user", text, native, media=media)


def _system(part: str | list[Any], native: ProviderPayload | None = None) -> Message:
    text = "\n\n".join(filter(None, map(text_of, blocks_of(part))))
    return decoded_message("system", text, native)


def _reply(blocks: list[Any], native: ProviderPayload | None) -> Message:
    """Read a reply. Its texts are joined without a separator, as in a stream."""
    texts, thoughts, calls = [], [], []
    for block in blocks:
        kind = text_at(block, "type")
        if kind == "text":
            texts.append(text_at(block, "text"))
        elif kind == "thinking":
            thoughts.append(text_at(block, "thinking"))
        elif kind == "tool_use":
            arguments = input_text(at(block, "input"))
            calls.append(decoded_call(text_at(block, "id"), text_at(block, "name"), arguments))
    reasoning = "\n\n".join(filter(None, thoughts))
    return decoded_message(
        "assistant", "".join(texts), native, reasoning=reasoning, tool_calls=calls
    )


def input_text(value: Any) -> str:
    """Return arguments as the model's JSON text; invalid JSON was kept as the original text."""
    if isinstance(value, dict) and list(value) == [INVALID_JSON]:
        value = value[INVALID_JSON] or {}
    return json_text(value)


def _result(block: Any, names: Mapping[str, str]) -> ToolResult:
    """Read a tool result."""
    content = at(block, "content")
    media: tuple[Media, ...] = ()
    if isinstance(content, str):
        text = content
    else:
        inner = blocks_of(content)
        media = tuple(part for part in map(_media_of, inner) if part)
        text = "\n".join(filter(None, map(text_of, inner)))
    call_id = text_at(block, "tool_use_id")
    if at(block, "is_error") is True:
        return decoded_result(call_id, names.get(call_id, ""), "", ToolError(text), media)
    return decoded_result(call_id, names.get(call_id, ""), text, None, media)


def blocks_of(content: Any) -> list[Any]:
    """Return content as a list of blocks; a string is short for one text block.

    >>> blocks_of("Hello.")
    [{'type': 'text', 'text': 'Hello.'}]
    """
    if isinstance(content, str):
        return [text_block(content)]
    return content if isinstance(content, list) else []


def text_block(text: str) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": text}


def text_of(block: Any) -> str:
    r"""Return the text in a block that the model sees, without binary or encrypted data.

    >>> text_of({"type": "search_result", "title": "Cats", "content": [text_block("They purr.")]})
    'Cats\nThey purr.'
    """
    kind = text_at(block, "type")
    if kind in _WITH_TEXTS:
        return "\n".join(text for text in _texts(block) if text)
    return text_at(block, "text") if kind == "text" else ""


def _texts(block: Any) -> Iterator[str]:
    # A stack instead of recursion: the nesting of a document may be of any depth.
    waiting = [block]
    while waiting:
        part = waiting.pop()
        kind = text_at(part, "type")
        if kind == "text":
            yield text_at(part, "text")
        elif kind in _WITH_TEXTS:
            yield text_at(part, "title")
            if at(part, "source", "type") == "text":
                yield text_at(part, "source", "data")
            inner = at(part, "source", "content") or at(part, "content")
            waiting += reversed(blocks_of(inner))


def _media_of(block: Any) -> Media | None:
    """Read an image, or a document that is not text."""
    kind = text_at(block, "type")
    if kind not in _TYPES:
        return None
    source = at(block, "source")
    if text_at(source, "type") in {"text", "content"}:
        return None
    file_id = text_at(source, "file_id")
    return Media(
        text_at(source, "media_type") or _TYPES[kind],
        from_base64(text_at(source, "data")) or b"",
        text_at(source, "url"),
        extra={"file_id": file_id} if file_id else {},
    )


# All but the last: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
# (2026-11). `compaction` is from a beta: the pause after the server compacted the conversation,
# https://platform.claude.com/docs/en/build-with-claude/compaction. A paused turn is neither done
# nor cut off: the Decider continues it, so a caller sees these two words only after several
# consecutive pauses.
STOP_WORDS = StopWords(
    NAME,
    {
        "end_turn": StopReason.STOP,
        "stop_sequence": StopReason.STOP,
        "tool_use": StopReason.TOOL,
        "max_tokens": StopReason.MAX_TOKENS,
        "model_context_window_exceeded": StopReason.MAX_TOKENS,
        "refusal": StopReason.CONTENT_FILTER,
        "pause_turn": StopReason.OTHER,
        "compaction": StopReason.OTHER,
    },
)

_NOTHING = {"type": "text", "text": ""}


def decode_response(response: Any, /) -> Decision:
    """Read a reply. Its blocks, with thinking and signatures, are the payload to send back.

    >>> decode_response({"content": [{"type": "text", "text": "Done."}]}).reply
    'Done.'
    """
    data = plain(response)
    blocks = reply_blocks(data)
    payload = {"role": "assistant", "content": blocks}
    message = read_payload(payload) or Message("assistant")
    tokens = usage(data) if isinstance(_usage_of(data), dict) else None
    return Decision(
        message.content,
        message.tool_calls,
        tokens,
        stop_reason(data),
        ProviderPayload(NAME, payload) if blocks else None,
        stop_word=text_at(data, "stop_reason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_at(data, "model"),
        response_id=text_at(data, "id"),
        last_request=last_request_in(_usage_of(data)) if tokens and tokens.summed else None,
        input_transformations=input_transformations(data),
    )


def reply_blocks(response: Any) -> list[Any]:
    """Return the blocks of a response that are sent back with the next request.

    An empty text is left out: a stream may contain one, but the API rejects it in a request
    (https://github.com/anthropics/claude-code/issues/59812).
    """
    return [block for block in blocks_of(at(response, "content")) if block != _NOTHING]


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"stop_reason": "refusal"})
    <StopReason.CONTENT_FILTER: 'content_filter'>
    """
    data = plain(response)
    if at(data, "type") == "error":
        return StopReason.ERROR
    # A server that says end_turn next to a call waits for its result all the same.
    calls = any(at(block, "type") == "tool_use" for block in items_at(data, "content"))
    return STOP_WORDS.reason(text_at(data, "stop_reason") or None, has_tool_calls=calls)


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. The provider counts cached tokens separately; `input` includes them.

    The tokens of a compaction on the server and of an advisor are in `iterations` only, and are not
    counted: they do not reflect the size of the context, and have separate prices
    (https://platform.claude.com/docs/en/build-with-claude/compaction, 2026-11).

    >>> usage({"usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7}})
    Usage(input=95, output=7, total=0, cache_read=90, cache_write=0, reasoning=0)
    """
    data = plain(response)
    counts = _usage_of(data)
    return attrs.evolve(read_counts(counts), summed=_is_sum(data, counts))


def _is_sum(data: Any, counts: Any) -> bool:
    """Return whether a usage adds up several requests, or is not that of the conversation now.

    The server sends the conversation again after each of its own tools, and counts what it read
    from the cache each time.
    """
    requests = requests_in(counts)
    if requests:
        replies = [each for each in requests if text_at(each, "type") != "compaction"]
        return len(replies) != 1 or replies[-1] is not requests[-1]
    ran = any(is_server_call(text_at(block, "type")) for block in items_at(data, "content"))
    return ran or used_server_tools(counts)


def _usage_of(data: Any) -> Any:
    """Return the usage in a response, or in the event that starts a streamed one."""
    return at(data, "usage") or at(data, "message", "usage")
