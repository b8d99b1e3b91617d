"""Session files of Codex, `$CODEX_HOME/sessions/<year>/<month>/<day>/rollout-*.jsonl`, and items.

The format is that of `RolloutLine` in codex-rs/protocol/src/protocol.rs of
https://github.com/openai/codex (2026-11). A line is an envelope of a `type` and a `payload`:

- `session_meta` is the first line; it may hold the system prompt. A fork has those of its
  ancestors, too: only the first one counts.
- `response_item` is an item of OpenAI's Responses API. Together they are the conversation.
- `compacted` is a compaction; it repeats items that are in the file, and is skipped.
- `event_msg` is for the screen. Only `thread_rolled_back` matters: it takes back the latest turns.

Files written before September 2025 have the items without envelopes, as requests to the API do.
"""

from collections.abc import Sequence
from typing import Any

from agentic.messages import Message
from agentic.providers import openai_responses
from agentic.providers.kit import text_at
from agentic.replay._json_values import Value, note, note_originals, objects_at
from agentic.replay._message_formats import without_native

__all__ = ["is_entry", "is_item", "read", "read_items"]

_ENVELOPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_ANSWERS = {f"{kind}_output" for kind in _CALLS}
_PARTS = {"input_text", "output_text", "input_image", "input_file"}
_ITEMS = {"message", "reasoning", *_CALLS, *_ANSWERS}
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How user messages begin that Codex wrote, not the user."""


def is_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is a line of a session file.

    >>> is_entry({"type": "session_meta", "timestamp": "", "payload": {"id": "s1"}})
    True
    """
    return text_at(data, "type") in _ENVELOPES and isinstance(data.get("payload"), dict)


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


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the conversation without the turns that were taken back."""
    prompt = _system_prompt(values)
    items: list[dict[str, Any]] = []
    compactions = taken_back = 0
    for value in values:
        payload = value.data.get("payload")
        kind = value.data.get("type")
        if not isinstance(payload, dict):
            continue
        if kind == "response_item" and text_at(payload, "type") in _ITEMS:
            items.append(payload)
        elif kind == "compacted":
            compactions += 1
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            taken_back += _take_back(items, payload.get("num_turns"))
    notes = note(
        taken_back,
        "item that was taken back is left out",
        "items that were taken back are left out",
    )
    notes += note_originals(compactions, "compactions")
    return [*prompt, *without_native(openai_responses.decode(items))], notes


def read_items(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read items without envelopes; a whole response stands for its items."""
    items: list[dict[str, Any]] = []
    for value in values:
        if value.data.get("object") == "response":
            items += objects_at(value.data, "output")
        elif text_at(value.data, "type") in _ITEMS or value.data.get("role"):
            items.append(value.data)
    # mini-swe-agent ends a run with a message of its own, which is never sent.
    said = [item for item in items if item.get("role") != "exit"]
    return without_native(openai_responses.decode(said)), []


def _system_prompt(values: Sequence[Value]) -> list[Message]:
    # Only the first: a fork repeats those of its ancestors.
    metas = (value.data["payload"] for value in values if value.data.get("type") == "session_meta")
    meta = next((each for each in metas if isinstance(each, dict)), {})
    text = text_at(meta, "base_instructions", "text") or text_at(meta, "instructions")
    return [Message("system", text)] if text else []


def _take_back(items: list[dict[str, Any]], turns: Any) -> int:
    """Remove the latest turns, each of which begins with what the user wrote; return how many."""
    asked = [at for at, item in enumerate(items) if _is_request(item)]
    if not isinstance(turns, int) or turns < 1 or not asked:
        return 0
    first = asked[-min(turns, len(asked))]
    removed = len(items) - first
    del items[first:]
    return removed


def _is_request(item: dict[str, Any]) -> bool:
    written = "".join(text_at(part, "text") for part in objects_at(item, "content")).lstrip()
    return item.get("role") == "user" and not written.startswith(_INJECTED)
