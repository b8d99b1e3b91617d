"""Sessions of pi and OpenClaw: a header, and entries with an `id` and a `parentId`.

pi writes `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`. Its maker documents the format
(versions 1 to 3):
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md (2026-11). The
latest entry determines the current branch. A compaction is left out: the originals are in the file.
"""

from collections.abc import Callable, Mapping, Sequence

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._tree import Tree
from agentic.app.replay._formats._usage import separate_usage
from agentic.app.replay._json_values import Value
from agentic.app.replay._parts import make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import text_at

_IN_CONTEXT = {"message", "custom_message", "branch_summary"}


def is_entry(data: Entry) -> bool:
    """Return whether an object is the header of a session of pi, or one of its messages.

    >>> is_entry({"type": "session", "id": "s1", "cwd": "/src"})
    True
    """
    if data.get("type") == "session":
        return "cwd" in data or "version" in data
    # An entry of agentic's own stores has a version, `v`.
    is_message = data.get("type") == "message" and "v" not in data
    return is_message and text_at(data, "message", "role") in _READERS


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the current branch."""
    entries = [value for value in values if value.data.get("type") != "session"]
    current = _current(entries, reading)
    count = sum(text_at(value.data, "type") in _IN_CONTEXT for value in current)
    elsewhere = sum(text_at(value.data, "type") in _IN_CONTEXT for value in entries) - count
    places: dict[str, int] = {}
    compactions = 0
    for value in current:
        places[text_at(value.data, "id")] = len(reading.messages)
        kind = text_at(value.data, "type")
        if kind in _IN_CONTEXT:
            _add(value, reading)
        elif kind == "compaction":
            compactions += 1
            position = places.get(text_at(value.data, "firstKeptEntryId"), len(reading.messages))
            summary = Message("user", text_at(value.data, "summary"))
            reading.compact(summary, resumes=position)
    reading.note_branches(elsewhere)
    reading.note_own(compactions, "compactions")


def _current(entries: list[Value], reading: Reading) -> list[Value]:
    ids = [value.data["id"] for value in entries if isinstance(value.data.get("id"), str)]
    # Version 1 has no ids: its entries follow one another.
    if len({*ids}) < len(entries):
        return entries
    tree = Tree.of((value.data["id"], value.data.get("parentId")) for value in entries)
    chain = tree.chain(ids[-1] if ids else None)
    tree.note_bridges(chain, reading)
    return [value for value in entries if value.data["id"] in chain]


def _add(value: Value, reading: Reading) -> None:
    entry = value.data
    # A branch's summary, or an extension's entry.
    if entry["type"] != "message":
        reading.add(_user({"content": entry.get("summary"), **entry}, reading))
        return
    body, role = entry.get("message"), text_at(entry, "message", "role")
    if not isinstance(body, dict) or role not in _READERS:
        kind = body.get("role") if isinstance(body, dict) else body
        reading.skip_entry(
            value.line, f"found {kind!r} where the role of a message should be", entry
        )
        return
    if message := _READERS[role](body, reading):
        reading.add(message, body)


def _user(message: Entry, reading: Reading) -> Message:
    parts = read_parts(message.get("content"), reading)
    return Message("user", "\n".join(filter(None, parts.texts)), media=parts.media)


def _reply(message: Entry, reading: Reading) -> Message:
    reading.use_model(message.get("model"))
    counts = message.get("usage")
    usage = (
        separate_usage(counts, ("input", "cacheRead", "cacheWrite"), counts.get("output"))
        if isinstance(counts, dict)
        else None
    )
    return read_parts(message.get("content"), reading).messages("assistant", usage=usage)[0]


def _result(message: Entry, _: Reading) -> Message:
    text, media = read_output(message.get("content"))
    is_error = message.get("isError") is True
    call_id, name = text_at(message, "toolCallId"), text_at(message, "toolName")
    result = make_result(call_id, name, text, is_error=is_error, media=media)
    return Message("tool", tool_results=[result])


def _shell(message: Entry, _: Reading) -> Message | None:
    """Read a command that the user ran; the model sees it as a user message."""
    if message.get("excludeFromContext"):
        return None
    return Message(
        "user", f"Ran `{text_at(message, 'command')}`\n```\n{text_at(message, 'output')}\n```"
    )


_READERS: Mapping[str, Callable[[Entry, Reading], Message | None]] = {
    "user": _user,
    "assistant": _reply,
    "toolResult": _result,
    "bashExecution": _shell,
    "custom": _user,
    "hookMessage": _user,
    "branchSummary": lambda said, reading: _user({"content": said.get("summary")}, reading),
    # The originals are in the file.
    "compactionSummary": lambda _said, _reading: None,
}
"""The function that reads a message, by role."""

FORMAT = Format(
    name="pi session",
    recognizes=is_entry,
    read=read,
    places=(Place((".pi", "agent"), "sessions/*/*.jsonl", "PI_CODING_AGENT_DIR"),),
)
