"""Sessions of GitHub Copilot CLI: `~/.copilot/session-state/<session>/events.jsonl`.

An event has a `type`, `data`, an `id` and a `parentId`. The types are those of `SessionEvent` in
https://github.com/github/copilot-sdk (nodejs/src/generated/session-events.ts, 2026-11), seen with
versions 0.0.369 to 1.0.80. `assistant.message` holds a reply with its `toolRequests`,
`tool.execution_complete` a result. What is `ephemeral`, such as deltas and progress, is not stored,
or repeats what whole events say. A user's `transformedContent` is what was sent; the text of a
skill follows as a message of its own. Events of a subagent have its `agentId` (a record of 1.0.76,
printed by `--output-format json`), in earlier versions a `parentToolCallId` in their data.
"""

from collections.abc import Callable, Mapping, Sequence

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, text_at

_ROOMS = (
    *("session.", "assistant.", "tool.", "user.", "hook.", "system.", "skill.", "subagent."),
    *("permission.", "abort", "pending_messages.", "external_tool.", "capabilities.", "mcp."),
)
"""How the types of events begin."""
_OWN_ROOMS = ("session.", "assistant.", "tool.", "user.")


def is_event(data: Entry) -> bool:
    """Return whether an object is an event of a session of Copilot CLI.

    >>> is_event({"type": "user.message", "data": {"content": "Hi."}, "id": "e1", "parentId": None})
    True
    """
    kind = text_at(data, "type")
    return isinstance(data.get("data"), dict) and kind.startswith(_OWN_ROOMS) and "id" in data


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of the main agent."""
    others = 0
    for value in values:
        kind, data = text_at(value.data, "type"), value.data.get("data")
        if not isinstance(data, dict):
            reading.skip_entry(value.line, f"found an event {kind!r} without data", value.data)
        elif value.data.get("ephemeral") is True:
            continue
        elif value.data.get("agentId") or data.get("parentToolCallId"):
            others += 1
        elif kind == "assistant.message":
            reading.add(_reply(data, reading), data)
        elif kind == "tool.execution_complete":
            _add_result(data, reading)
        elif kind in _EVENTS:
            _EVENTS[kind](data, reading)
        elif not kind.startswith(_ROOMS):
            reading.skip(f"event of the type {kind!r}", data)
    reading.note_own(len(reading.compactions), "compactions")
    reading.note_count(
        others, "event of a subagent is left out", "events of subagents are left out"
    )


def _add_request(data: Entry, reading: Reading) -> None:
    text = text_at(data, "transformedContent") or text_at(data, "content")
    reading.add(Message("user", text), data)


def _add_prompt(data: Entry, reading: Reading) -> None:
    reading.add(Message("system", text_at(data, "content")), data)


def _compact(data: Entry, reading: Reading) -> None:
    summary = text_at(data, "summaryContent")
    if summary and data.get("success") is not False:
        reading.compact(Message("user", summary))


def _use_model(data: Entry, reading: Reading) -> None:
    reading.use_model(data.get("newModel") or data.get("selectedModel"))


_EVENTS: Mapping[str, Callable[[Entry, Reading], None]] = {
    "user.message": _add_request,
    "system.message": _add_prompt,
    "session.compaction_complete": _compact,
    "session.start": _use_model,
    "session.resume": _use_model,
    "session.model_change": _use_model,
}
"""The function that reads an event, by type."""


def _reply(data: Entry, reading: Reading) -> Message:
    reading.use_model(data.get("model"))
    calls = [
        make_call(text_at(each, "toolCallId"), text_at(each, "name"), each.get("arguments"))
        for each in objects_at(data, "toolRequests")
    ]
    reasoning = text_at(data, "reasoningText")
    return Message("assistant", text_at(data, "content"), reasoning=reasoning, tool_calls=calls)


def _add_result(data: Entry, reading: Reading) -> None:
    is_error = data.get("success") is False
    # The detailed content is for the screen.
    content = at(data, "result", "content")
    text, media = read_output(content if content is not None else data.get("result"))
    if is_error:
        text = text_at(data, "error", "message") or text
    call_id = text_at(data, "toolCallId")
    result = make_result(call_id, "", text, is_error=is_error, media=media)
    reading.add(Message("tool", tool_results=[result]))


FORMAT = Format(
    name="Copilot CLI session",
    recognizes=is_event,
    read=read,
    places=(Place((".copilot",), "session-state/*/events.jsonl"),),
)
