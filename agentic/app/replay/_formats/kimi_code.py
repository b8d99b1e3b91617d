"""Sessions of Kimi Code: `~/.kimi-code/sessions/<folder>/<session>/agents/main/wire.jsonl`.

Its events are `context.*` in https://github.com/MoonshotAI/kimi-code (2026-11): a message is
appended whole, a reply as the parts, calls and results of its steps. `context.undo` takes back
requests, `context.clear` all. https://moonshotai.github.io/kimi-code/en/guides/sessions.html says
where they are.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats.apis import read_chat
from agentic.app.replay._formats.kimi_cli import flatten
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output
from agentic.app.replay._reading import Reading
from agentic.messages import Message, ToolResult
from agentic.providers.kit import at, text_at


def is_event(data: Entry) -> bool:
    """Return whether an object is an event of a `wire.jsonl` of Kimi Code.

    >>> is_event({"type": "context.clear"})
    True
    """
    return text_at(data, "type").startswith("context.")


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages that were not taken back."""
    messages = reading.messages
    requests: list[int] = []
    step: Any = None
    compactions = 0
    for value in values:
        data, kind = value.data, value.data.get("type")
        message, event, count = data.get("message"), data.get("event"), data.get("count")
        if kind == "context.append_message" and isinstance(message, dict):
            if _is_request(message):
                requests.append(len(messages))
            _append(attrs.evolve(value, data=message), reading)
            step = None
        elif kind == "context.append_loop_event" and isinstance(event, dict):
            step = _add_event(reading, event, step)
        elif kind == "context.clear":
            messages.clear()
            requests.clear()
        # As Kimi Code does, more requests than there are take nothing back.
        elif kind == "context.undo" and isinstance(count, int) and 0 < count <= len(requests):
            del messages[requests[-count] :], requests[-count:]
        elif kind == "context.apply_compaction":
            compactions += 1
            if summary := text_at(data, "summary"):
                reading.compact(Message("user", summary))
    reading.note_own(compactions, "compactions")


def _is_request(message: Entry) -> bool:
    """Return whether the user wrote a message, and not Kimi Code in the user's name.

    So decides `isUndoAnchor` in packages/agent-core-v2/src/agent/contextMemory/conversationTime.ts.
    """
    kind = text_at(message, "origin", "kind") or "user"
    wrote = kind == "user" or text_at(message, "origin", "trigger") == "user-slash"
    return wrote and message.get("role") == "user"


def _append(value: Value, reading: Reading) -> None:
    message = value.data
    calls = [
        {
            "id": call.get("id"),
            "type": "function",
            "function": {"name": call.get("name"), "arguments": call.get("arguments") or "{}"},
        }
        for call in objects_at(message, "toolCalls")
    ]
    # Only these fields: Kimi Code writes calls without the envelope of chat completions.
    fields = {"role": message.get("role"), "content": message.get("content")}
    if calls:
        fields["tool_calls"] = calls
    if message.get("toolCallId"):
        fields["tool_call_id"] = message["toolCallId"]
    read_chat([attrs.evolve(value, data=flatten(fields))], reading)


def _add_event(reading: Reading, event: Entry, step: Any) -> Any:
    """Add a part, a call or a result to the messages; return the step that is now open."""
    messages, kind = reading.messages, text_at(event, "type")
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
    text, reasoning = text_at(event, "part", "text"), text_at(event, "part", "think")
    if not text and not reasoning:
        reading.skip("part of a step", event.get("part"))
    messages[-1] = reply.replace(
        content=reply.content + text, reasoning=reply.reasoning + reasoning
    )
    return own


def _result(event: Entry) -> ToolResult:
    outcome = event.get("result")
    output = outcome.get("output") if isinstance(outcome, dict) else outcome
    text, media = read_output(output)
    is_error = bool(at(outcome, "isError"))
    call_id, name = text_at(event, "toolCallId"), text_at(event, "name")
    return make_result(call_id, name, text, is_error=is_error, media=media)


FORMAT = Format(
    name="Kimi Code session",
    recognizes=is_event,
    read=read,
    places=(Place((".kimi-code",), "sessions/*/*/agents/main/wire.jsonl", "KIMI_CODE_HOME"),),
)
