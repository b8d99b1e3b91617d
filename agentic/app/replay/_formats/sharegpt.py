"""Data sets in the form of ShareGPT: `{"conversations": [{"from": "human", "value": "..."}]}`.

There is no specification. LLaMA-Factory documents the roles that are in use, with `function_call`
and `observation` for tools
(https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html, 2026-11). A
call is a JSON text with `name` and `arguments`, and the observation behind it answers it.
"""

import json
from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format, each_document
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result
from agentic.app.replay._reading import Reading
from agentic.messages import Message, ToolCall
from agentic.messages._message import Role
from agentic.providers.kit import text_at

_ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "model": "assistant",
}


def is_conversation(data: Entry) -> bool:
    """Return whether an object is a conversation in this form.

    >>> is_conversation({"conversations": [{"from": "human", "value": "Hi."}]})
    True
    """
    turns = objects_at(data, "conversations")
    return any("from" in each and "value" in each for each in turns)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of one conversation."""
    document, *items = values
    if system := text_at(document.data, "system"):
        reading.add(Message("system", system))
    open_calls: list[ToolCall] = []
    for number, value in enumerate(items):
        kind, text = text_at(value.data, "from"), text_at(value.data, "value")
        if kind in {"function_call", "tool_call"} and (calls := _calls(text, number)):
            open_calls = calls
            reading.add(Message("assistant", tool_calls=calls))
        elif kind in {"observation", "tool", "function_response"} and open_calls:
            call = open_calls.pop(0)
            reading.add(Message("tool", tool_results=[make_result(call.id, call.name, text)]))
        elif kind in _ROLES:
            reading.add(Message(_ROLES[kind], text), value.data)
        elif kind in {"observation", "tool", "function_response"}:
            reading.add(Message("user", text), value.data)
        else:
            reading.skip_entry(value.line, f"found a message from {kind!r}", value.data)


def _calls(text: str, number: int) -> list[ToolCall]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = value if isinstance(value, list) else [value]
    return [
        make_call(f"call-{number}-{place}", text_at(each, "name"), each.get("arguments"))
        for place, each in enumerate(objects_at(items))
    ]


FORMAT = Format(
    name="ShareGPT conversation",
    recognizes=is_conversation,
    read=read,
    split=each_document("conversations", "id"),
)
