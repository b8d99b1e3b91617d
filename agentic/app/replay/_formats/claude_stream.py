"""The output of `claude -p --output-format stream-json`: one JSON object for each event.

https://code.claude.com/docs/en/headless and https://code.claude.com/docs/en/agent-sdk/typescript
(`SDKMessage`, 2026-11). `system` events describe the session, `assistant` and `user` events have a
`message` of Anthropic's API, and `result` is the end. A `parent_tool_use_id` marks a subagent's.
Events of `--include-partial-messages` (`stream_event`) repeat what whole messages say. The prompt
itself is not among the events.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._formats._usage import anthropic_usage
from agentic.app.replay._formats.apis import read_blocks
from agentic.app.replay._json_values import Value
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at

_EVENTS = {"system", "assistant", "user", "result"}
_SILENT = {"system", "result", "stream_event", "rate_limit_event", "tool_progress", "auth_status"}


def is_event(data: Entry) -> bool:
    """Return whether an object is an event of the stream.

    >>> is_event({"type": "system", "subtype": "init", "session_id": "s1"})
    True
    """
    is_typed = text_at(data, "type") in _EVENTS and "session_id" in data
    return is_typed and "parentUuid" not in data and "role" not in data


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of the main agent."""
    replies: dict[str, Entry] = {}
    wire: list[Entry] = []
    others = 0
    for value in values:
        data, kind = value.data, text_at(value.data, "type")
        message = data.get("message")
        if kind in _SILENT:
            if kind == "system":
                reading.use_model(data.get("model"))
        elif kind not in _EVENTS or not isinstance(message, dict):
            reading.skip_entry(value.line, f"found an event {kind!r} without a message", data)
        elif data.get("parent_tool_use_id"):
            others += 1
        else:
            _add(message, wire, replies)
    usages = [anthropic_usage(each.get("usage")) for each in wire]
    read_blocks(wire, usages, reading)
    reading.note_count(
        others, "message of a subagent is left out", "messages of subagents are left out"
    )


def _add(message: Entry, wire: list[Entry], replies: dict[str, Entry]) -> None:
    """Append a message; the blocks of one reply come one by one, each with its id."""
    reply = text_at(message, "id")
    content = message.get("content")
    former = replies.get(reply)
    if former is None or not isinstance(content, list):
        parts = [*content] if isinstance(content, list) else content
        former = {**message, "content": parts}
        wire.append(former)
        if reply and isinstance(parts, list):
            replies[reply] = former
        return
    former["content"] += [block for block in content if block not in former["content"]]
    former["usage"] = message.get("usage")


FORMAT = Format(name="Claude Code stream", recognizes=is_event, read=read)
