"""Messages in the form of providers' APIs, and in agentic's own forms.

From OpenAI's chat completions, items of its Responses API and Anthropic's messages, the texts,
thinking, calls and results are read. A provider's own items are not kept, because a replay judges
only what was said.

Of a store's or an export's entries, only those that append a message are read: together they are
the archive. Views that replaced it are left out, so that a policy sees the original conversation.
"""

import json
from collections.abc import Sequence
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult, from_plain
from agentic.providers import anthropic, openai_chat, openai_responses
from agentic.providers.kit import text_at
from agentic.replay._json_values import Damage, Value, note_originals, objects_at

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
"""Blocks that occur only in Anthropic's messages."""
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_ANSWERS = {f"{kind}_output" for kind in _CALLS}
_PARTS = {"input_text", "output_text", "input_image", "input_file"}
RESPONSE_ITEMS = {"message", "reasoning", *_CALLS, *_ANSWERS}
"""The items of the Responses API that are part of a conversation."""
_VIEWS = {"replace", "restore"}


def is_chat(data: dict[str, Any]) -> bool:
    """Return whether an object is a message with a role."""
    return text_at(data, "role") in _ROLES


def is_anthropic(data: dict[str, Any]) -> bool:
    """Return whether an object is a message that only Anthropic's API accepts.

    >>> is_anthropic({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]})
    True
    """
    blocks = objects_at(data, "content") if is_chat(data) else []
    return any(text_at(block, "type") in _BLOCKS for block in blocks)


def read_chat(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read chat completions; `x_is_error` marks the result of a call that failed."""
    return [_chat_message(value) for value in values], []


def read_anthropic(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read Anthropic's messages."""
    for value in values:
        _check_role(value)
    return read_blocks([value.data for value in values]), []


def read_blocks(wire: list[dict[str, Any]]) -> list[Message]:
    """Read messages that consist of content blocks."""
    return _without_native(anthropic.decode(wire))


def is_item(data: dict[str, Any]) -> bool:
    """Return whether an object is an item that only the Responses API knows.

    >>> is_item({"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"})
    True
    >>> is_item({"type": "message", "role": "user", "content": "Hi."})
    False
    """
    if data.get("object") == "response" or text_at(data, "type") in _CALLS | _ANSWERS:
        return True
    parts = objects_at(data, "content") if data.get("role") else []
    return any(text_at(part, "type") in _PARTS for part in parts)


def read_items(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read items of the Responses API; a whole response stands for its items."""
    items: list[dict[str, Any]] = []
    for value in values:
        if value.data.get("object") == "response":
            items += objects_at(value.data, "output")
        # A message may leave its type out (`EasyInputMessage` in OpenAI's API).
        elif text_at(value.data, "type") in RESPONSE_ITEMS or value.data.get("role"):
            items.append(value.data)
    # mini-swe-agent ends a run with a message of its own, which is never sent.
    return decode_items([item for item in items if item.get("role") != "exit"]), []


def decode_items(items: list[dict[str, Any]]) -> list[Message]:
    """Return the messages that items of the Responses API are."""
    return _without_native(openai_responses.decode(items))


def text_in(content: Any, separator: str = "\n") -> str:
    """Return the text of a content that is a text, or a list of parts with texts."""
    if isinstance(content, str):
        return content
    return separator.join(filter(None, (text_at(each, "text") for each in objects_at(content))))


def make_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """Return a call whose arguments are a text, or a value that becomes one.

    >>> make_call("c1", "read", {"path": "a.py"}).arguments
    '{"path": "a.py"}'
    """
    is_text = isinstance(arguments, str)
    text = arguments if is_text else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(call_id, name, text)


def make_result(
    call_id: str, name: str, text: str, *, failed: bool, media: Sequence[Media] = ()
) -> ToolResult:
    """Return a result, whose text is its error if the call failed."""
    if failed:
        return ToolResult(call_id, name, "", ToolError(text), media=media)
    return ToolResult(call_id, name, text, media=media)


def is_store_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is an entry of a store.

    >>> is_store_entry({"v": 1, "type": "message", "message": {}})
    True
    >>> is_store_entry({"v": 1, "role": "user"})
    False
    """
    return isinstance(data.get("v"), int) and text_at(data, "type") in {"message", *_VIEWS}


def is_plain(data: dict[str, Any]) -> bool:
    """Return whether an object is a message in the form of `messages.to_plain`."""
    return isinstance(data.get("v"), int) and isinstance(data.get("role"), str)


def read_store_entries(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages that were appended, in order."""
    views = sum(value.data.get("type") == "replace" for value in values)
    messages = [
        _message(value.data.get("message"), value.line)
        for value in values
        if value.data.get("type") == "message"
    ]
    return messages, note_originals(views, "compactions")


def read_plain(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read messages, one per line."""
    return [_message(value.data, value.line) for value in values], []


def _without_native(messages: list[Message]) -> list[Message]:
    """Remove the providers' own items, which would take memory next to what was read from them."""
    return [attrs.evolve(message, native=None) for message in messages]


def _chat_message(value: Value) -> Message:
    _check_role(value)
    [message] = _without_native(openai_chat.decode([value.data]))
    if not (value.data.get("x_is_error") and message.tool_results):
        return message
    failed = [
        make_result(each.call_id, each.name, each.output, failed=True, media=each.media)
        for each in message.tool_results
    ]
    return attrs.evolve(message, tool_results=failed)


def _check_role(value: Value) -> None:
    role = value.data.get("role")
    if not is_chat(value.data):
        found = "no `role`" if role is None else f"the role {role!r}"
        raise Damage(value.line, f"found {found} where a message should be")


def _message(data: Any, line: int) -> Message:
    try:
        return from_plain(data)
    except ConfigError as problem:
        raise Damage(line, str(problem)) from problem
