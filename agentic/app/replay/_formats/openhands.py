"""Events of OpenHands, in the form of its SDK and in that of the version before it.

- The SDK: a file for each event (see `openhands_files`), or all in one list. The model reads those
  of the kinds `SystemPromptEvent`, `MessageEvent`, `ActionEvent` and `_RESULTS`
  (openhands-sdk/openhands/sdk/event of https://github.com/OpenHands/software-agent-sdk, 2026-11).
  Actions with one `llm_response_id` are calls of one reply. `Condensation` is its own compaction.
- Before: a list of events with an `action` and `args`, or an `observation` that names its `cause`
  (openhands/events of https://github.com/OpenHands/OpenHands, 2025-12). Its calls are in
  `tool_call_metadata`, or an action without any is its own call.
"""

from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._json_values import Value
from agentic.app.replay._parts import make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, text_at

_RESULTS = {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}
_READ = {"SystemPromptEvent", "MessageEvent", "ActionEvent", *_RESULTS}
_SILENT = {
    *("ConversationStateUpdateEvent", "CondensationRequest", "CondensationSummaryEvent"),
    *("PauseEvent", "TokenEvent", "ConversationErrorEvent", "LLMCompletionLogEvent"),
}


def is_event(data: Entry) -> bool:
    """Return whether an object is an event of OpenHands.

    >>> is_event({"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user"}})
    True
    >>> is_event({"id": 1, "source": "user", "action": "message", "args": {"content": "Hi."}})
    True
    """
    if text_at(data, "kind") in _READ | {"Condensation"}:
        return "source" in data
    is_old = isinstance(data.get("args"), dict) if "action" in data else "extras" in data
    return (
        "source" in data
        and bool(text_at(data, "action") or text_at(data, "observation"))
        and is_old
    )


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the events in the order of the file."""
    reply = ""
    count = 0
    for value in values:
        event, kind = value.data, text_at(value.data, "kind")
        if kind == "ActionEvent":
            _read_action(event, reply, reading)
            reply = text_at(event, "llm_response_id")
            continue
        if kind not in _RESULTS:
            reply = ""
        if kind == "SystemPromptEvent":
            prompt = [event.get("system_prompt"), event.get("dynamic_context")]
            reading.add(Message("system", read_output(prompt)[0]))
        elif kind == "MessageEvent":
            _read_message(event, reading)
        elif kind in _RESULTS:
            _read_result(event, reading)
        elif kind == "Condensation":
            count += 1
            reading.compact(Message("user", text_at(event, "summary")))
        elif "action" in event or "observation" in event:
            _read_old(event, reading)
        elif kind not in _SILENT:
            reading.skip(f"event of the kind {kind or 'none'!r}", event)
    reading.note_own(count, "condensations")


def _read_message(event: Entry, reading: Reading) -> None:
    body = event.get("llm_message")
    role = text_at(body, "role")
    parts = read_parts(at(body, "content"), reading)
    parts.texts += read_parts(event.get("extended_content"), reading).texts
    parts.thoughts += filter(None, [text_at(body, "reasoning_content")])
    role_or_user = role if role in {"system", "assistant"} else "user"
    for message in parts.messages(role_or_user):  # type: ignore[arg-type]
        reading.add(message, event)


def _read_action(event: Entry, reply: str, reading: Reading) -> None:
    call = event.get("tool_call")
    arguments = at(call, "arguments") or at(call, "function", "arguments") or event.get("action")
    name = text_at(event, "tool_name") or text_at(call, "name")
    result = make_call(text_at(event, "tool_call_id") or text_at(call, "id"), name, arguments)
    last = reading.messages[-1] if reading.messages else None
    same = reply and reply == text_at(event, "llm_response_id")
    if same and last is not None and last.role == "assistant":
        reading.messages[-1] = last.replace(tool_calls=[*last.tool_calls, result])
        return
    text = "".join(read_parts(event.get("thought"), reading).texts)
    reasoning = text_at(event, "reasoning_content")
    reading.add(Message("assistant", text, reasoning=reasoning, tool_calls=[result]))


def _read_result(event: Entry, reading: Reading) -> None:
    observation: Any = event.get("observation")
    content = at(observation, "content") or at(observation, "output") or observation
    is_error = text_at(event, "kind") != "ObservationEvent"
    if is_error:
        content = event.get("error") or event.get("rejection_reason")
    text, media = read_output(content)
    is_error = is_error or at(observation, "is_error") is True
    call_id, name = text_at(event, "tool_call_id"), text_at(event, "tool_name")
    result = make_result(call_id, name, text, is_error=is_error, media=media)
    reading.add(Message("tool", tool_results=[result]))


def _read_old(event: Entry, reading: Reading) -> None:
    action, args = text_at(event, "action"), event.get("args")
    metadata = event.get("tool_call_metadata")
    call_id = text_at(metadata, "tool_call_id")
    if action in {"system", "message", "finish"}:
        text = (
            text_at(args, "content") or text_at(args, "final_thought") or text_at(event, "message")
        )
        role = "system" if action == "system" else text_at(event, "source")
        names = {"agent": "assistant", "system": "system"}
        reading.add(Message(names.get(role, "user"), text), event)  # type: ignore[arg-type]
    elif action and action not in {"change_agent_state", "recall", "null"}:
        call_id = call_id or f"event-{event.get('id')}"
        reasoning = text_at(args, "thought")
        fields = (
            {key: each for key, each in args.items() if key != "thought"}
            if isinstance(args, dict)
            else {}
        )
        call = make_call(call_id, text_at(metadata, "function_name") or action, fields)
        reading.add(Message("assistant", reasoning, tool_calls=[call]))
    elif text_at(event, "observation") not in {"", "agent_state_changed", "recall", "null"}:
        call_id = call_id or f"event-{event.get('cause')}"
        name = text_at(metadata, "function_name") or text_at(event, "observation")
        is_error = event.get("observation") == "error"
        result = make_result(call_id, name, text_at(event, "content"), is_error=is_error)
        reading.add(Message("tool", tool_results=[result]))


FORMAT = Format(
    name="OpenHands events",
    recognizes=is_event,
    read=read,
    places=(Place((".openhands",), "conversations/*/events/event-00000-*.json"),),
)
