"""Session files that are trees: those of Claude Code and of pi.

An entry names the one before it. Going back and asking again leaves an abandoned branch; the latest
entry determines which branch is current. A compaction is skipped: the originals are in the file.

Claude Code writes `~/.claude/projects/<project>/<session>.jsonl`. Its maker does not document the
format. It is described, from many files, in
https://github.com/ticpu/claude-conversation-search-mcp/blob/main/docs/jsonl-format.md,
https://github.com/microsoft/amplifier (ai_working/claude_code_logging) and
https://github.com/DRMacIver/claude-reliability/blob/main/notes/transcript-format.md:

- An entry has a `uuid`, and the `parentUuid` of the entry before it.
- A reply is written as several entries, one per block, with the same `message.id`. The results of
  parallel calls are linked to the entry of their call, outside the chain.
- A compaction begins a new chain (`parentUuid` is null, `logicalParentUuid` is the last entry
  before it), followed by a summary (`isCompactSummary`).
- `isSidechain` marks another agent's conversation; an `isApiErrorMessage` never came from the
  model.

pi writes `~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`, a header and then entries with an `id`
and a `parentId`. Its maker documents the format (versions 1 to 3):
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message
from agentic.providers.kit import text_at
from agentic.replay._json_values import (
    Damage,
    Value,
    note,
    note_branches,
    note_originals,
    objects_at,
)
from agentic.replay._message_formats import make_call, make_result, read_blocks, text_in
from agentic.usage import Usage

_Entry = dict[str, Any]
_SPOKEN = {"user", "assistant"}
_MARKS = {"sessionId", "parentUuid", "isSidechain", "leafUuid"}
_IN_CONTEXT = {"message", "custom_message", "branch_summary"}


def is_claude_entry(data: _Entry) -> bool:
    """Return whether an object is an entry of a session of Claude Code.

    >>> is_claude_entry({"type": "user", "parentUuid": None, "message": {"role": "user"}})
    True
    """
    kind = data.get("type")
    return isinstance(kind, str) and not _MARKS.isdisjoint(data) and "role" not in data


def read_claude(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the current branch of a session of Claude Code."""
    spoken = [value.data for value in values if _speaks(value)]
    main = [entry for entry in spoken if not entry.get("isSidechain")]
    # A subagent's own file contains nothing but a side chain.
    chosen = main or spoken
    standing = list(_standing(chosen, [value.data for value in values]))
    notes = note(
        len(spoken) - len(chosen),
        "entry of a sidechain is left out",
        "entries of sidechains are left out",
    )
    notes += note_branches(len(chosen) - len(standing))
    summaries = [entry for entry in standing if entry.get("isCompactSummary")]
    notes += note_originals(len(summaries), "summaries")
    unsaid = ("isCompactSummary", "isApiErrorMessage")
    said = [entry for entry in standing if not any(map(entry.get, unsaid))]
    return read_blocks(_join_replies(said)), notes


def _speaks(value: Value) -> bool:
    if text_at(value.data, "type") not in _SPOKEN:
        return False
    if text_at(value.data, "message", "role") not in _SPOKEN:
        raise Damage(value.line, f"found an entry {value.data['type']!r} without a message")
    return True


def _standing(spoken: list[_Entry], every: list[_Entry]) -> Iterator[_Entry]:
    """Yield the entries of the current branch, in the order of the file."""
    # Of every entry: the marker of a compaction says nothing, and links what is before and after.
    parents = {entry["uuid"]: _parent(entry) for entry in every if text_at(entry, "uuid")}
    chain = _chain(parents, spoken[-1].get("uuid") if spoken else None)
    if not chain:
        yield from spoken
        return
    replies = {_reply_id(entry) for entry in spoken if text_at(entry, "uuid") in chain} - {""}
    # Of all blocks of a reply, since each is an entry of its own.
    calls = {call for entry in spoken if _reply_id(entry) in replies for call in _calls(entry)}
    for entry in spoken:
        # Of parallel calls, only the last result is in the chain: each is linked to its own call.
        answers = set(_answers(entry))
        if (
            text_at(entry, "uuid") in chain
            or _reply_id(entry) in replies
            or (answers and answers <= calls)
        ):
            yield entry


def _chain(parents: Mapping[str, Any], latest: Any) -> set[str]:
    """Return the ids from the latest entry back to the first; none if they are not linked."""
    chain: set[str] = set()
    # The links of a damaged file may form a circle.
    while isinstance(latest, str) and latest in parents and latest not in chain:
        chain.add(latest)
        latest = parents[latest]
    return chain


def _parent(entry: _Entry) -> Any:
    # After a compaction the first is null, and the second leads on.
    return entry.get("parentUuid") or entry.get("logicalParentUuid")


def _reply_id(entry: _Entry) -> str:
    """Return the id that the provider gave to the reply that an entry belongs to; "" for none."""
    return text_at(entry, "message", "id") if entry["type"] == "assistant" else ""


def _blocks(entry: _Entry) -> list[_Entry]:
    if text := text_at(entry, "message", "content"):
        return [{"type": "text", "text": text}]
    return objects_at(entry, "message", "content")


def _calls(entry: _Entry) -> Iterator[str]:
    return (text_at(each, "id") for each in _blocks(entry) if each.get("type") == "tool_use")


def _answers(entry: _Entry) -> Iterator[str]:
    found = (each for each in _blocks(entry) if each.get("type") == "tool_result")
    return (text_at(each, "tool_use_id") for each in found)


def _join_replies(entries: Iterable[_Entry]) -> list[_Entry]:
    """Return messages, each reply with all of its blocks at the position of its first block."""
    known: dict[str, _Entry] = {}
    messages: list[_Entry] = []
    for entry in entries:
        reply = _reply_id(entry)
        # Later blocks of a reply join the first, wherever results stand between them.
        if reply not in known:
            message = {"role": entry["message"]["role"], "content": _blocks(entry)}
            messages.append(message)
            if reply:
                known[reply] = message
            continue
        blocks = known[reply]["content"]
        blocks += [block for block in _blocks(entry) if block not in blocks]
    return messages


def is_pi_entry(data: _Entry) -> bool:
    """Return whether an object is the header of a session of pi, or one of its messages.

    >>> is_pi_entry({"type": "session", "id": "s1", "cwd": "/src"})
    True
    """
    if data.get("type") == "session":
        return "cwd" in data or "version" in data
    # An entry of agentic's own stores has a version, `v`.
    is_message = data.get("type") == "message" and "v" not in data
    return is_message and text_at(data, "message", "role") in _SAID


def read_pi(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the current branch of a session of pi."""
    entries = [value for value in values if value.data.get("type") != "session"]
    standing = _current(entries)
    spoken = [value for value in standing if text_at(value.data, "type") in _IN_CONTEXT]
    left = sum(text_at(value.data, "type") in _IN_CONTEXT for value in entries) - len(spoken)
    compactions = sum(value.data.get("type") == "compaction" for value in standing)
    notes = [*note_branches(left), *note_originals(compactions, "compactions")]
    return [message for value in spoken if (message := _message(value))], notes


def _current(entries: list[Value]) -> list[Value]:
    ids = [value.data["id"] for value in entries if isinstance(value.data.get("id"), str)]
    # Version 1 has no ids: its entries follow one another.
    if len({*ids}) < len(entries):
        return entries
    parents = {value.data["id"]: value.data.get("parentId") for value in entries}
    chain = _chain(parents, ids[-1] if ids else None)
    return [value for value in entries if value.data["id"] in chain]


def _message(value: Value) -> Message | None:
    entry = value.data
    # A branch's summary, or an extension's entry.
    if entry["type"] != "message":
        return _user({"content": entry.get("summary"), **entry})
    said, role = entry.get("message"), text_at(entry, "message", "role")
    if not isinstance(said, dict) or role not in _SAID:
        found = said.get("role") if isinstance(said, dict) else said
        raise Damage(value.line, f"found {found!r} where the role of a message should be")
    return _SAID[role](said)


def _user(said: _Entry) -> Message:
    content = said.get("content")
    return Message("user", text_in(content), media=_media(content))


def _reply(said: _Entry) -> Message:
    blocks = objects_at(said, "content")
    calls = [
        make_call(text_at(block, "id"), text_at(block, "name"), block.get("arguments"))
        for block in blocks
        if block.get("type") == "toolCall"
    ]
    thoughts = [text_at(block, "thinking") for block in blocks if block.get("type") == "thinking"]
    return Message(
        "assistant",
        text_in(said.get("content"), ""),
        reasoning="\n\n".join(filter(None, thoughts)),
        tool_calls=calls,
        usage=_usage(said.get("usage")),
    )


def _result(said: _Entry) -> Message:
    content = said.get("content")
    result = make_result(
        text_at(said, "toolCallId"),
        text_at(said, "toolName"),
        text_in(content),
        failed=said.get("isError") is True,
        media=_media(content),
    )
    return Message("tool", tool_results=[result])


def _shell(said: _Entry) -> Message | None:
    """Read a command that the user ran; the model sees it as a user message."""
    if said.get("excludeFromContext"):
        return None
    return Message("user", f"Ran `{text_at(said, 'command')}`\n```\n{text_at(said, 'output')}\n```")


def _media(content: Any) -> list[Media]:
    return [
        Media(text_at(block, "mimeType") or "image/*", _decoded(block.get("data")))
        for block in objects_at(content)
        if block.get("type") == "image"
    ]


def _decoded(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (TypeError, ValueError):
        # Still a picture, which takes its place in a request.
        return b""


def _usage(given: Any) -> Usage | None:
    """Convert pi's counts, none of which includes another."""
    if not isinstance(given, dict):
        return None
    parts = Usage(
        given.get("input"), given.get("output"), 0, given.get("cacheRead"), given.get("cacheWrite")
    )
    return attrs.evolve(parts, input=parts.input + parts.cache_read + parts.cache_write)


_SAID: Mapping[str, Callable[[_Entry], Message | None]] = {
    "user": _user,
    "assistant": _reply,
    "toolResult": _result,
    "bashExecution": _shell,
    "custom": _user,
    "hookMessage": _user,
    "branchSummary": lambda said: _user({"content": said.get("summary")}),
    # The originals are in the file.
    "compactionSummary": lambda _: None,
}
"""The function that reads a message, by role."""
