"""Sessions of Codex: `$CODEX_HOME/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

By `RolloutLine` in codex-rs/protocol/src/protocol.rs of https://github.com/openai/codex (2026-11).
A line is an envelope of a `type` and a `payload`:

- `session_meta` is the first line; it may hold the system prompt.
- `response_item` is an item of OpenAI's Responses API. Together they are the conversation.
- `compacted` is a compaction: its `message` is the summary, which stands as a reply of its own
  right before it, and `replacement_history` is what the next request begins with.
- `turn_context` names the model.
- `event_msg` is for the screen. `thread_rolled_back` takes back the latest turns, and `token_count`
  holds the usage of the last request.
"""

from collections.abc import Sequence

import attrs

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._formats.codex_turns import drop_summary, roll_back
from agentic.app.replay._formats.openai_items import read_items
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import at, text_at
from agentic.usage import Usage

_LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_OWN_ITEMS = {"ghost_snapshot", "compaction_summary", "other"}
"""Items that were never sent."""


def is_line(data: Entry) -> bool:
    """Return whether an object is a line of a session file of Codex.

    >>> is_line({"type": "session_meta", "timestamp": "", "payload": {"id": "s1"}})
    True
    """
    return text_at(data, "type") in _LINES and isinstance(data.get("payload"), dict)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read a session without the turns that were taken back."""
    items: list[Entry] = []
    usages: list[tuple[int, Usage]] = []
    compactions: list[tuple[int, Entry]] = []
    taken_back = 0
    for value in values:
        kind, payload = value.data.get("type"), value.data.get("payload")
        if not isinstance(payload, dict):
            reading.skip_entry(value.line, "found a line without a payload", value.data)
        elif kind == "response_item" and text_at(payload, "type") not in _OWN_ITEMS:
            items.append(payload)
        elif kind == "compacted":
            drop_summary(items, text_at(payload, "message"))
            compactions.append((len(items), payload))
        elif kind == "turn_context":
            reading.use_model(payload.get("model"))
        elif payload.get("type") == "thread_rolled_back":
            taken_back += roll_back(items, payload.get("num_turns"))
            compactions = [each for each in compactions if each[0] <= len(items)]
        elif payload.get("type") == "token_count" and (usage := _usage(payload)):
            usages.append((len(items), usage))
    reading.extend(_prompt(values))
    places = [len(reading.messages), *read_items(items, reading)]
    _set_usages(reading, [(places[min(at, len(items))], usage) for at, usage in usages])
    for at_item, payload in compactions:
        _compact(places[at_item], payload, reading)
    reading.note_count(
        taken_back,
        "item that was taken back is left out",
        "items that were taken back are left out",
    )
    reading.note_own(len(compactions), "compactions")


def _prompt(values: Sequence[Value]) -> list[Message]:
    # Only the first: a fork repeats those of its ancestors.
    metas = (value.data for value in values if value.data.get("type") == "session_meta")
    meta = at(next(metas, {}), "payload")
    text = text_at(meta, "base_instructions", "text") or text_at(meta, "instructions")
    return [Message("system", text)] if text else []


def _compact(position: int, payload: Entry, reading: Reading) -> None:
    """Record what the requests after a compaction begin with."""
    system = [each for each in reading.messages[:1] if each.role == "system"]
    if history := objects_at(payload, "replacement_history"):
        view = Reading()
        read_items(history, view)
        messages = view.messages
    else:
        # Before there was a replacement, the user's messages were kept.
        requests = [each for each in reading.messages[:position] if each.role == "user"]
        messages = [*requests, Message("user", text_at(payload, "message"))]
    reading.compact(*system, *messages)
    record = attrs.evolve(reading.compactions[-1], position=position, resumes=position)
    reading.compactions[-1] = record


def _usage(payload: Entry) -> Usage | None:
    counts = at(payload, "info", "last_token_usage")
    return whole_usage(counts, "input_tokens", "output_tokens", "cached_input_tokens")


def _set_usages(reading: Reading, usages: list[tuple[int, Usage]]) -> None:
    """Give each reply the usage that was recorded last before the next one."""
    for position, usage in usages:
        place = position - 1
        while place >= 0 and reading.messages[place].role != "assistant":
            place -= 1
        if place >= 0:
            reading.messages[place] = attrs.evolve(reading.messages[place], usage=usage)


FORMAT = Format(
    name="Codex session",
    recognizes=is_line,
    read=read,
    places=(
        Place((".codex",), "sessions/**/rollout-*.jsonl", "CODEX_HOME"),
        Place((".codex",), "archived_sessions/rollout-*.jsonl", "CODEX_HOME"),
    ),
)
