"""Session files that are logs of what happened: those of Codex, Gemini CLI and Kimi.

A line adds to the conversation, or takes back what earlier lines added. A compaction is skipped:
the originals are in the file.

Codex writes `$CODEX_HOME/sessions/<year>/<month>/<day>/rollout-*.jsonl`, by `RolloutLine` in
codex-rs/protocol/src/protocol.rs of https://github.com/openai/codex (2026-11). A line is an
envelope of a `type` and a `payload`:

- `session_meta` is the first line; it may hold the system prompt.
- `response_item` is an item of OpenAI's Responses API. Together they are the conversation.
- `compacted` is a compaction; it repeats items that are in the file.
- `event_msg` is for the screen. Only `thread_rolled_back` matters: it takes back the latest turns.

Gemini CLI writes `~/.gemini/tmp/<project>/chats/session-*.json` or `.jsonl`, by
packages/core/src/services/chatRecordingTypes.ts and chatRecordingService.ts of
https://github.com/google-gemini/gemini-cli (2026-11). An older file is one object with all
`messages`. A newer one has a line for each message; one that changed is written again with the
same `id`. A `$set` line updates the session, perhaps with all `messages`; a `$rewindTo` line takes
back a message and all after it. A reply holds its calls and their results in `toolCalls`. Messages
of the types `info`, `warning` and `error` were shown to the user, never sent.

Kimi has two forms:

- `~/.kimi/sessions/<folder>/<session>/context.jsonl` has a chat completion message on each line,
  its content as parts, and lines of roles that begin with `_`: the system prompt, checkpoints and
  token counts (`src/kimi_cli/soul/context.py` of https://github.com/MoonshotAI/kimi-cli, 2026-11).
- `~/.kimi-code/sessions/<folder>/<session>/agents/main/wire.jsonl` has events (`context.*` in
  https://github.com/MoonshotAI/kimi-code, 2026-11): a message is appended whole, a reply as the
  parts, calls and results of its steps. `context.undo` takes back requests, `context.clear` all.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.messages import Message, ToolResult
from agentic.providers.kit import at, text_at
from agentic.replay._json_values import Value, note, note_originals, objects_at
from agentic.replay._message_formats import (
    RESPONSE_ITEMS,
    decode_items,
    make_call,
    make_result,
    read_chat,
    text_in,
)

_Line = dict[str, Any]
_CODEX = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How user messages begin that Codex wrote, not the user."""
_GEMINI = {"user", "gemini"}
_GEMINI_SHOWN = {"info", "warning", "error"}
_GEMINI_FAILED = {"error", "cancelled"}
_KIMI = {"_system_prompt", "_checkpoint", "_usage"}


def is_codex_line(data: _Line) -> bool:
    """Return whether an object is a line of a session file of Codex.

    >>> is_codex_line({"type": "session_meta", "timestamp": "", "payload": {"id": "s1"}})
    True
    """
    return text_at(data, "type") in _CODEX and isinstance(data.get("payload"), dict)


def read_codex(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read a session of Codex without the turns that were taken back."""
    prompt = _codex_prompt(values)
    items: list[_Line] = []
    compactions = taken_back = 0
    for value in values:
        payload = value.data.get("payload")
        kind = value.data.get("type")
        if not isinstance(payload, dict):
            continue
        # Its own kinds of items, such as snapshots of the project, were never sent.
        if kind == "response_item" and text_at(payload, "type") in RESPONSE_ITEMS:
            items.append(payload)
        elif kind == "compacted":
            compactions += 1
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            taken_back += _roll_back(items, payload.get("num_turns"))
    notes = note(
        taken_back,
        "item that was taken back is left out",
        "items that were taken back are left out",
    )
    notes += note_originals(compactions, "compactions")
    return [*prompt, *decode_items(items)], notes


def _codex_prompt(values: Sequence[Value]) -> list[Message]:
    # Only the first: a fork repeats those of its ancestors.
    metas = (value.data for value in values if value.data.get("type") == "session_meta")
    meta = at(next(metas, {}), "payload")
    text = text_at(meta, "base_instructions", "text") or text_at(meta, "instructions")
    return [Message("system", text)] if text else []


def _roll_back(items: list[_Line], turns: Any) -> int:
    """Remove the latest turns, each of which begins with what the user wrote; return how many."""
    asked = [at for at, item in enumerate(items) if _is_request(item)]
    if not isinstance(turns, int) or turns < 1 or not asked:
        return 0
    first = asked[-min(turns, len(asked))]
    removed = len(items) - first
    del items[first:]
    return removed


def _is_request(item: _Line) -> bool:
    written = text_in(item.get("content"), "").lstrip()
    return item.get("role") == "user" and not written.startswith(_INJECTED)


def is_gemini_line(data: _Line) -> bool:
    """Return whether an object is a line of a session of Gemini CLI, or one of its messages.

    >>> is_gemini_line({"id": "m1", "timestamp": "", "type": "gemini", "content": "Hello."})
    True
    """
    if "$rewindTo" in data or isinstance(data.get("$set"), dict):
        return True
    if "projectHash" in data and "sessionId" in data:
        return True
    # An entry of Claude Code has the type `user`, too.
    kinds = {"gemini"} if "parentUuid" in data else _GEMINI | _GEMINI_SHOWN
    is_line = text_at(data, "type") in kinds and "role" not in data
    return is_line and "id" in data and "content" in data


def read_gemini(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages of Gemini CLI that stand, each in its latest version."""
    standing: dict[str, _Line] = {}
    taken_back = 0
    for value in values:
        data = value.data
        if "$rewindTo" in data:
            # As Gemini CLI does, a message that is not known takes back all of them.
            ids, first = list(standing), text_at(data, "$rewindTo")
            gone = ids[ids.index(first) :] if first in standing else ids
            taken_back += len(gone)
            for each in gone:
                del standing[each]
            continue
        # An empty list replaces nothing (`loadConversationRecord` in chatRecordingService.ts).
        if snapshot := objects_at(data, "$set", "messages"):
            standing = {text_at(each, "id"): each for each in snapshot}
        elif text_at(data, "type") in _GEMINI:
            standing[text_at(data, "id")] = data
    messages = [message for each in standing.values() for message in _gemini_messages(each)]
    return messages, note(
        taken_back,
        "message that was taken back is left out",
        "messages that were taken back are left out",
    )


def _gemini_messages(said: _Line) -> Iterator[Message]:
    if said.get("type") == "user":
        yield Message("user", _text(said.get("content")))
        return
    # A snapshot also has what was only shown.
    if said.get("type") != "gemini":
        return
    calls = objects_at(said, "toolCalls")
    content = _text(said.get("content"))
    # Gemini CLI keeps summaries of thoughts, each with a heading.
    reasoning = "\n\n".join(
        f"{each.get('subject')}: {each.get('description')}" for each in objects_at(said, "thoughts")
    )
    if content or reasoning or calls:
        yield Message(
            "assistant",
            content,
            reasoning=reasoning,
            tool_calls=[
                make_call(text_at(each, "id"), text_at(each, "name"), each.get("args"))
                for each in calls
            ],
        )
    if calls:
        yield Message("tool", tool_results=[_gemini_result(each) for each in calls])


def _gemini_result(call: _Line) -> ToolResult:
    text, failed = _text(call.get("result")), text_at(call, "status") in _GEMINI_FAILED
    return make_result(text_at(call, "id"), text_at(call, "name"), text, failed=failed)


def _text(content: Any) -> str:
    """Return the text in a part or a list of parts; of a tool's response, its output."""
    match content:
        case str(text) | {"text": str(text)}:
            return text
        case list(parts):
            return "\n".join(filter(None, map(_text, parts)))
        case {"functionResponse": {"response": {"output": str(text)} | {"error": str(text)}}}:
            return text
        case {"functionResponse": {"response": response}}:
            return json.dumps(response, ensure_ascii=False)
    return ""


def is_kimi_line(data: _Line) -> bool:
    """Return whether an object is a line that only a `context.jsonl` of Kimi CLI has.

    >>> is_kimi_line({"role": "_checkpoint", "id": 0})
    True
    """
    return text_at(data, "role") in _KIMI


def is_kimi_event(data: _Line) -> bool:
    """Return whether an object is an event of a `wire.jsonl` of Kimi Code.

    >>> is_kimi_event({"type": "context.clear"})
    True
    """
    return text_at(data, "type").startswith("context.")


def read_kimi_context(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages of a `context.jsonl`, with its system prompt first."""
    chat: list[Value] = []
    for value in values:
        role = text_at(value.data, "role")
        if role == "_system_prompt":
            chat.insert(0, attrs.evolve(value, data={**value.data, "role": "system"}))
        elif role not in _KIMI:
            chat.append(attrs.evolve(value, data=_flat(value.data)))
    return read_chat(chat)


def read_kimi_events(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages of a `wire.jsonl` that were not taken back."""
    messages: list[Message] = []
    asked: list[int] = []
    step: Any = None
    compactions = 0
    for value in values:
        data, kind = value.data, value.data.get("type")
        message, event, count = data.get("message"), data.get("event"), data.get("count")
        if kind == "context.append_message" and isinstance(message, dict):
            if _is_kimi_request(message):
                asked.append(len(messages))
            messages += _appended(attrs.evolve(value, data=message))
            step = None
        elif kind == "context.append_loop_event" and isinstance(event, dict):
            step = _add_event(messages, event, step)
        elif kind == "context.clear":
            messages.clear()
            asked.clear()
        # As Kimi Code does, more requests than there are take nothing back.
        elif kind == "context.undo" and isinstance(count, int) and 0 < count <= len(asked):
            del messages[asked[-count] :], asked[-count:]
        elif kind == "context.apply_compaction":
            compactions += 1
    return messages, note_originals(compactions, "compactions")


def _flat(said: _Line) -> _Line:
    """Return a chat completion message whose thoughts stand beside its text."""
    if not isinstance(said.get("content"), list):
        return said
    parts = objects_at(said, "content")
    thoughts = [part["think"] for part in parts if isinstance(part.get("think"), str)]
    rest = [part for part in parts if part.get("type") != "think"]
    texts = [part["text"] for part in rest if isinstance(part.get("text"), str)]
    flat = {**said, "content": "\n".join(texts) if len(texts) == len(rest) else rest}
    return {**flat, "reasoning_content": "\n\n".join(thoughts)} if thoughts else flat


def _is_kimi_request(said: _Line) -> bool:
    """Return whether the user wrote a message, and not Kimi Code in the user's name.

    So decides `isUndoAnchor` in packages/agent-core-v2/src/agent/contextMemory/conversationTime.ts.
    """
    kind = text_at(said, "origin", "kind") or "user"
    wrote = kind == "user" or text_at(said, "origin", "trigger") == "user-slash"
    return wrote and said.get("role") == "user"


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
    # Only these fields: Kimi Code writes calls without the envelope of chat completions.
    known = {"role": said.get("role"), "content": said.get("content")}
    if calls:
        known["tool_calls"] = calls
    if said.get("toolCallId"):
        known["tool_call_id"] = said["toolCallId"]
    return read_chat([attrs.evolve(value, data=_flat(known))])[0]


def _add_event(messages: list[Message], event: _Line, step: Any) -> Any:
    """Add a part, a call or a result to the messages; return the step that is now open."""
    kind = text_at(event, "type")
    if kind == "tool.result":
        messages.append(Message("tool", tool_results=[_kimi_result(event)]))
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


def _kimi_result(event: _Line) -> ToolResult:
    given = event.get("result")
    text = text_in(given.get("output") if isinstance(given, dict) else given)
    failed = bool(at(given, "isError"))
    return make_result(text_at(event, "toolCallId"), text_at(event, "name"), text, failed=failed)
