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

from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.replay._json_values import Value
from agentic.replay._message_formats import read_chat

__all__ = ["is_context_line", "is_wire_event", "read_context", "read_wire"]

_MARKS = {"_system_prompt", "_checkpoint", "_usage"}


def is_context_line(data: dict[str, Any]) -> bool:
    """Return whether an object is a line that only `context.jsonl` has.

    >>> is_context_line({"role": "_checkpoint", "id": 0})
    True
    """
    return data.get("role") in _MARKS


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
        role = value.data.get("role")
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
    was = "compaction is" if compactions == 1 else "compactions are"
    told = f"{compactions} of its own {was} passed over: the originals are replayed"
    return messages, [told] if compactions else []


def _flat(said: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion message whose thoughts stand beside its text."""
    content = said.get("content")
    if not isinstance(content, list):
        return said
    parts = [part for part in content if isinstance(part, dict)]
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
        for call in said.get("toolCalls") or ()
        if isinstance(call, dict)
    ]
    known = {"role": said.get("role"), "content": said.get("content")}
    if calls:
        known["tool_calls"] = calls
    if said.get("toolCallId"):
        known["tool_call_id"] = said["toolCallId"]
    return read_chat([attrs.evolve(value, data=_flat(known))])[0]


def _add_event(messages: list[Message], event: dict[str, Any], step: Any) -> Any:
    """Add a part, a call or a result to the messages; return the step that is now open."""
    kind = event.get("type")
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
        arguments = event.get("args")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        call = ToolCall(str(event.get("toolCallId")), str(event.get("name")), text)
        messages[-1] = reply.replace(tool_calls=[*reply.tool_calls, call])
        return own
    part = event.get("part")
    part = part if isinstance(part, dict) else {}
    said, thought = part.get("text"), part.get("think")
    if isinstance(said, str):
        messages[-1] = reply.replace(content=reply.content + said)
    elif isinstance(thought, str):
        messages[-1] = reply.replace(reasoning=reply.reasoning + thought)
    return own


def _result(event: dict[str, Any]) -> ToolResult:
    given = event.get("result")
    result = given if isinstance(given, dict) else {"output": given}
    output = result.get("output")
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    call_id, name = str(event.get("toolCallId")), str(event.get("name") or "")
    if result.get("isError"):
        return ToolResult(call_id, name, "", ToolError(text))
    return ToolResult(call_id, name, text)


def _take_back(messages: list[Message], count: Any) -> None:
    """Remove the latest requests and everything after them."""
    asked = [at for at, message in enumerate(messages) if message.role == "user"]
    if isinstance(count, int) and 0 < count <= len(asked):
        del messages[asked[-count] :]
