"""Session files of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`.

Its maker does not document the format. It is described, from many files, in
https://github.com/ticpu/claude-conversation-search-mcp/blob/main/docs/jsonl-format.md,
https://github.com/microsoft/amplifier (ai_working/claude_code_logging) and
https://github.com/DRMacIver/claude-reliability/blob/main/notes/transcript-format.md:

- An entry has a `uuid`, and the `parentUuid` of the entry before it. Going back and asking again
  leaves an abandoned branch; the latest entry determines which branch is current.
- A reply is written as several entries, one per block, with the same `message.id`. The results of
  parallel calls are linked to the entry of their call, outside the chain.
- A compaction begins a new chain (`parentUuid` is null, `logicalParentUuid` is the last entry
  before it), followed by a summary (`isCompactSummary`). Both are skipped: the originals are in the
  file.
- `isSidechain` marks another agent's conversation; an `isApiErrorMessage` never came from the
  model.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentic.messages import Message
from agentic.providers.kit import text_at
from agentic.replay._json_values import (
    Damage,
    Value,
    note,
    note_branches,
    note_originals,
    objects_at,
)
from agentic.replay._message_formats import read_blocks

__all__ = ["is_entry", "read"]

_SPOKEN = {"user", "assistant"}
_MARKS = {"sessionId", "parentUuid", "isSidechain", "leafUuid"}
_Entry = dict[str, Any]


def is_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is an entry of a session.

    >>> is_entry({"type": "user", "parentUuid": None, "message": {"role": "user", "content": "?"}})
    True
    """
    kind = data.get("type")
    return isinstance(kind, str) and not _MARKS.isdisjoint(data) and "role" not in data


def read(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the current branch."""
    spoken = [value.data for value in values if _speaks(value)]
    main = [entry for entry in spoken if not entry.get("isSidechain")]
    chosen = main or spoken  # a subagent's file contains only a side chain
    standing = list(_standing(chosen, [value.data for value in values]))
    notes = note(
        len(spoken) - len(chosen),
        "entry of a sidechain is left out",
        "entries of sidechains are left out",
    )
    notes += note_branches(len(chosen) - len(standing))
    said = [entry for entry in standing if not _is_no_message(entry)]
    summaries = sum(bool(entry.get("isCompactSummary")) for entry in standing)
    notes += note_originals(summaries, "summaries")
    return read_blocks(_replies_joined(said)), notes


def _speaks(value: Value) -> bool:
    if text_at(value.data, "type") not in _SPOKEN:
        return False
    if text_at(value.data, "message", "role") not in _SPOKEN:
        raise Damage(value.line, f"found an entry {value.data['type']!r} without a message")
    return True


def _is_no_message(entry: _Entry) -> bool:
    return bool(entry.get("isCompactSummary") or entry.get("isApiErrorMessage"))


def _standing(spoken: list[_Entry], every: list[_Entry]) -> Iterator[_Entry]:
    """Yield the entries of the current branch, in the order of the file."""
    chain = _chain(spoken, every)
    if not chain:
        yield from spoken
        return
    replies = {_reply_id(entry) for entry in spoken if text_at(entry, "uuid") in chain} - {""}
    calls = {call for entry in spoken if _reply_id(entry) in replies for call in _calls(entry)}
    for entry in spoken:
        answers = set(_answers(entry))
        if (
            text_at(entry, "uuid") in chain
            or _reply_id(entry) in replies
            or (answers and answers <= calls)
        ):
            yield entry


def _chain(spoken: list[_Entry], every: list[_Entry]) -> set[str]:
    """Return the ids from the latest entry back to the first; none if they are not linked."""
    parents = {
        entry["uuid"]: _parent(entry) for entry in every if isinstance(entry.get("uuid"), str)
    }
    at = spoken[-1].get("uuid") if spoken else None
    chain: set[str] = set()
    # The links of a damaged file may form a circle.
    while isinstance(at, str) and at in parents and at not in chain:
        chain.add(at)
        at = parents[at]
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


def _replies_joined(entries: Iterable[_Entry]) -> list[_Entry]:
    """Return messages, each reply with all of its blocks at the position of its first block."""
    known: dict[str, _Entry] = {}
    messages: list[_Entry] = []
    for entry in entries:
        reply = _reply_id(entry)
        if not reply or reply not in known:
            message = {"role": entry["message"]["role"], "content": _blocks(entry)}
            messages.append(message)
            if reply:
                known[reply] = message
            continue
        blocks = known[reply]["content"]
        blocks += [block for block in _blocks(entry) if block not in blocks]
    return messages
