"""Tasks of Cline and of programs made from it: `tasks/<task>/api_conversation_history.json`.

By src/core/storage/disk.ts and src/core/task of https://github.com/cline/cline (2026-11): a JSON
array of Anthropic's messages, with `ts` and `modelInfo`. Cline answers many calls in texts of the
user, `[read_file for 'a.py'] Result:` followed by another text with the output; these are paired
with the calls in their order. Cline CLI 3 writes `{"version", "messages"}` in
`~/.cline/data/sessions/<session>/`, a result's content as objects with `query` and `result`.
"""

import re
from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._usage import anthropic_usage, whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import Parts, read_parts
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at

_HEADING = re.compile(r"^\[(\w+)[^\n]{0,2000}?\] Result:[ \t]*\n?")
_MARKS = {"ts", "modelInfo", "metrics"}


def is_message(data: Entry) -> bool:
    """Return whether an object is a message of Cline's.

    >>> is_message({"role": "user", "content": [{"type": "text", "text": "Hi."}], "ts": 1})
    True
    """
    is_said = text_at(data, "role") in {"user", "assistant"}
    blocks = objects_at(data, "content")
    if is_said and blocks and not _MARKS.isdisjoint(data):
        return True
    return is_said and any(_HEADING.match(text_at(block, "text")) for block in blocks)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages, a text that is the result of a call as a result."""
    waiting: dict[str, str] = {}
    for value in values:
        data, role = value.data, text_at(value.data, "role")
        if role not in {"system", "user", "assistant"}:
            reading.skip_entry(value.line, f"found the role {data.get('role')!r}", data)
            continue
        content = data.get("content")
        if role == "user":
            content = _with_results(content, waiting)
        parts = read_parts(content, reading)
        if role == "assistant":
            waiting = {call.id: call.name for call in parts.calls}
            _add_reply(data, parts, reading)
        else:
            for message in parts.messages("system" if role == "system" else "user"):
                reading.add(message, data)


def _add_reply(data: Entry, parts: Parts, reading: Reading) -> None:
    reading.use_model(text_at(data, "modelInfo", "modelId"))
    metrics = data.get("metrics")
    usage = anthropic_usage(data.get("usage"))
    if isinstance(metrics, dict):
        tokens = metrics.get("tokens")
        usage = whole_usage(tokens, "prompt", "completion", "cached")
    for message in parts.messages("assistant", usage=usage):
        reading.add(message, data)


def _with_results(content: Any, waiting: dict[str, str]) -> Any:
    """Return the content, in which texts that answer the calls before it are results."""
    if not isinstance(content, list) or not waiting:
        return content
    ids = {text_at(part, "tool_use_id") for part in objects_at(content)}
    open_calls = {call: tool for call, tool in waiting.items() if call not in ids}
    items: list[Any] = []
    for part in content:
        text = text_at(part, "text") if isinstance(part, dict) else ""
        heading = _HEADING.match(text)
        call = _take(open_calls, heading[1]) if heading else ""
        if call and heading:
            result = {"type": "tool_result", "tool_use_id": call, "content": text[heading.end() :]}
            items.append(result)
        elif items and _awaits_output(items[-1]) and text and not text.startswith("<"):
            # The output is a text of its own, right behind the heading.
            items[-1] = {**items[-1], "content": text}
        else:
            items.append(part)
    return items


def _take(open_calls: dict[str, str], tool: str) -> str:
    """Return the first open call of a tool, which is open no more; empty if there is none."""
    call = next((each for each, name in open_calls.items() if name == tool), "")
    open_calls.pop(call, None)
    return call


def _awaits_output(part: Any) -> bool:
    return bool(part.get("type") == "tool_result" and part.get("content") == "")


_CODE = (".config", "Code", "User", "globalStorage", "saoudrizwan.claude-dev")
FORMAT = Format(
    name="Cline task",
    recognizes=is_message,
    read=read,
    places=(
        Place((".cline", "data"), "tasks/*/api_conversation_history.json"),
        Place((".cline", "data"), "sessions/*/*.messages.json"),
        Place(_CODE, "tasks/*/api_conversation_history.json"),
    ),
)
