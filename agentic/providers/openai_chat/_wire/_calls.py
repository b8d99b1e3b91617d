"""What the wire takes of a tool call, and in which of its forms a call was written.

Any text will do for the arguments at OpenAI, but vLLM and llama.cpp parse what is sent back, and
refuse the whole conversation for one that is no JSON object:
https://github.com/vllm-project/vllm/issues/43995, https://github.com/ggml-org/llama.cpp/issues/25510.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs

from agentic.messages import Message, ToolCall
from agentic.providers._names import NameRule
from agentic.providers._plain import at, items_at, text_at
from agentic.providers._sendable import parse_object, sendable_arguments

__all__ = [
    "TOOL_NAMES",
    "custom_of",
    "has_object",
    "legacy_of",
    "with_objects",
    "with_objects_on_the_wire",
]

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://platform.openai.com/docs/api-reference/chat/create (2026-11)."""


def has_object(call: ToolCall) -> bool:
    """Tell whether a call's arguments are a JSON object, or nothing, which stands for none.

    >>> has_object(ToolCall("c1", "read", "{oops")), has_object(ToolCall("c1", "read", ""))
    (False, True)
    """
    return parse_object(call.arguments) is not None


def with_objects(message: Message) -> Message:
    """Give a message whose calls have arguments that may be sent; its payload stays."""
    calls = [
        call
        if has_object(call)
        else attrs.evolve(call, arguments=sendable_arguments(call.arguments))
        for call in message.tool_calls
    ]
    return attrs.evolve(message, tool_calls=calls)


def with_objects_on_the_wire(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Do the same to a message of the wire. What else stands in it is left as it is.

    >>> call = {"name": "read", "arguments": "{oops"}
    >>> with_objects_on_the_wire({"role": "assistant", "function_call": call})["function_call"]
    {'name': 'read', 'arguments': '{"unparsed_arguments": "{oops"}'}
    """
    changed: dict[str, Any] = dict(wire)
    if legacy := legacy_of(wire):
        changed["function_call"] = _with_object(legacy)
    if calls := items_at(wire, "tool_calls"):
        changed["tool_calls"] = [
            {**call, "function": _with_object(call["function"])}
            if isinstance(at(call, "function"), dict)
            else call
            for call in calls
        ]
    return changed


def _with_object(function: Mapping[str, Any]) -> dict[str, Any]:
    given = function.get("arguments")
    if not isinstance(given, str) or parse_object(given) is not None:
        return dict(function)
    return {**function, "arguments": sendable_arguments(given)}


def custom_of(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give what a call holds of a custom tool; None for the call of a function.

    Snowflake sends an empty `custom` beside every `function`: the type decides, else the name.

    >>> custom_of({"type": "function", "function": {"name": "f"}, "custom": {"name": ""}}) is None
    True
    """
    custom, kind = call.get("custom"), call.get("type")
    if not isinstance(custom, dict) or kind == "function":
        return None
    filled = bool(text_at(custom, "name")) or not text_at(call, "function", "name")
    return custom if kind == "custom" or filled else None


def legacy_of(wire: Any) -> dict[str, Any] | None:
    """Give the one call of a message in the form of 2023, which has no id.

    It is answered by a message of role `function`:
    https://platform.openai.com/docs/api-reference/chat/object (2026-11). One without a name is what
    Snowflake sends in every reply, and no call.

    >>> legacy_of({"tool_calls": None, "function_call": {"name": "", "arguments": ""}}) is None
    True
    """
    legacy = at(wire, "function_call")
    named = isinstance(legacy, dict) and bool(text_at(legacy, "name"))
    return legacy if named and not items_at(wire, "tool_calls") else None
