"""Session files of kimi: `context.jsonl` of Kimi CLI, and `wire.jsonl` of Kimi Code.

- `~/.kimi/sessions/<folder>/<session>/context.jsonl` has a chat completion message on each line,
  its content as parts, and lines of roles that begin with `_`: the system prompt, checkpoints and
  token counts (`src/kimi_cli/soul/context.py` of https://github.com/MoonshotAI/kimi-cli, 2026-11).
- `~/.kimi-code/sessions/<folder>/<session>/agents/main/wire.jsonl` has events (`context.*` in
  https://github.com/MoonshotAI/kimi-code, 2026-11): a message is appended whole, a reply as the
  parts, calls and results of its steps. `context.undo` takes back requests, `context.clear` all;
  `context.apply_compaction` is skipped, because the originals are in the file.
"""

import json
from collections.abc import Sequence
from typing import Any

import attrs

from agentic.messages import Message, ToolResult
from agentic.providers.kit import at, text_at
from agentic.replay._json_values import Value, note_originals, objects_at
from agentic.replay._message_formats import make_call, make_result, read_chat

__all__ = ["is_context_line", "is_wire_event", "read_context", "read_wire"]

_MARKS = {"_system_prompt", "_checkpoint", "_usage"}


def is_context_line(data: dict[str, Any]) -> bool:
    """Return whether an object is a line that only `context.jsonl` has.

    >>> is_context_line({"role": "_checkpoint", "id": 0})
    True
    """
    return text_at(data, "role") in _MARKS


def is_wire_event(data: dict[str, Any]) -> bool:
    """Return whether an object is an event of `wire.jsonl`.

    >>> is_wire_event({"type": "context.clear"})
    True
    """
    return str(data.get("type")).startswith("context.")


def read_context(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages of a `context.jsonl`, with its system prompt first."""
    chat: list[Value] = []
    for value in values:
        role = text_at(value.data, "role")
        if role == "_system_prompt":
            chat.insert(0, attrs.evolve(value, data={**value.data, "role": "system"}))
        elif role not in _MARKS:
            chat.append(attrs.evolve(value, data=_flat(value.data)))
    return read_chat(chat)


def read_wire(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages of a `wire.jsonl` that were not taken back."""
    messages: list[Message] = []
    step: Any = None
    compactions = 0
    for value in values:
        data, kind = value.data, value.data.get("type")
        event = data.get("event")
        if kind == "context.append_message" and isinstance(data.get("message"), dict):
            messages += _appended(attrs.evolve(value, data=data["message"]))
            step = None
        elif kind == "context.append_loop_event" and isinstance(event, dict):
            step = _add_event(messages, event, step)
        elif kind == "context.clear":
            messages.clear()
        elif kind == "context.undo":
            _take_back(messages, data.get("count"))
        elif kind == "context.apply_compaction":
            compactions += 1
    return messages, note_originals(compactions, "compactions")


def _flat(said: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion message whose thoughts stand beside its text."""
    if not isinstance(said.get("content"), list):
        return said
    parts = objects_at(said, "content")
    thoughts = [part["think"] for part in parts if isinstance(part.get("think"), str)]
    rest = [part for part in parts if part.get("type") != "think"]
    texts = [part["text"] for part in rest if isinstance(part.get("text"), str)]
    flat = {**said, "content": "\n".join(texts) if len(texts) == len(rest) else rest}
    return {**flat, "reasoning_content": "\n\n".join(thoughts)} if thoughts else flat


def _appended(value: Value) -> list[Message]:
    said = value.data
    calls = [
        {
            "id": call.get("id"),
            "type": "function",
            "function": {"name": call.get("name"), "arguments": call.get("arguments") or "{}"},
        }
        for call in objects_at(said, "toolCalls")
    ]
    known = {"role": said.get("role"), "content": said.get("content")}
    if calls:
        known["tool_calls"] = calls
    if said.get("toolCallId"):
        known["tool_call_id"] = said["toolCallId"]
    return read_chat([attrs.evolve(value, data=_flat(known))])[0]


def _add_event(messages: list[Message], event: dict[str, Any], step: Any) -> Any:
    """Add a part, a call or a result to the messages; return the step that is now open."""
    kind = text_at(event, "type")
    if kind == "tool.result":
        messages.append(Message("tool", tool_results=[_result(event)]))
        return step
    if kind not in {"content.part", "tool.call"}:
        return step
    own = event.get("stepUuid") or (event.get("turnId"), event.get("step"))
    if step != own or not messages or messages[-1].role != "assistant":
        messages.append(Message("assistant"))
    reply = messages[-1]
    if kind == "tool.call":
        call = make_call(text_at(event, "toolCallId"), text_at(event, "name"), event.get("args"))
        messages[-1] = reply.replace(tool_calls=[*reply.tool_calls, call])
        return own
    said, thought = text_at(event, "part", "text"), text_at(event, "part", "think")
    messages[-1] = reply.replace(content=reply.content + said, reasoning=reply.reasoning + thought)
    return own


def _result(event: dict[str, Any]) -> ToolResult:
    given = event.get("result")
    output = given.get("output") if isinstance(given, dict) else given
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    failed = bool(at(given, "isError"))
    return make_result(text_at(event, "toolCallId"), text_at(event, "name"), text, failed=failed)


def _take_back(messages: list[Message], count: Any) -> None:
    """Remove the latest requests and everything after them."""
    asked = [at for at, message in enumerate(messages) if message.role == "user"]
    if isinstance(count, int) and 0 < count <= len(asked):
        del messages[asked[-count] :]
