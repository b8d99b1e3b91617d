"""Sessions of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`.

Its maker does not document the format. It is described, from many files, in
https://github.com/ticpu/claude-conversation-search-mcp/blob/main/docs/jsonl-format.md,
https://github.com/microsoft/amplifier (ai_working/claude_code_logging) and
https://github.com/DRMacIver/claude-reliability/blob/main/notes/transcript-format.md (2026-11):

- An entry has a `uuid`, and the `parentUuid` of the entry before it. The latest entry determines
  which branch is current.
- A reply is written as several entries, one per block, with the same `message.id`. The results of
  parallel calls are linked to the entry of their call, outside the chain.
- A compaction begins a new chain (`parentUuid` is null, `logicalParentUuid` is the last entry
  before it), followed by a summary (`isCompactSummary`).
- `isSidechain` marks another agent's conversation; an `isApiErrorMessage` never came from the
  model.
- An `attachment` is what the program puts beside the user's words, such as a request that was typed
  while the agent worked (`queued_command`).
- A hook writes `progress` entries. One that is written late names an early entry as its parent, and
  what follows it continues there: the entries in between are no abandoned branch.
"""

from collections.abc import Iterable, Sequence

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats._usage import anthropic_usage
from agentic.app.replay._formats.apis import read_blocks
from agentic.app.replay._formats.claude_attachments import attachment_text
from agentic.app.replay._formats.claude_branches import blocks_of, current_branch, reply_id
from agentic.app.replay._json_values import Value
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import text_at

_ROLES = {"user", "assistant"}
_MARKS = {"sessionId", "parentUuid", "isSidechain", "leafUuid"}


def is_entry(data: Entry) -> bool:
    """Return whether an object is an entry of a session of Claude Code.

    >>> is_entry({"type": "user", "parentUuid": None, "message": {"role": "user"}})
    True
    """
    kind = data.get("type")
    return isinstance(kind, str) and not _MARKS.isdisjoint(data) and "role" not in data


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the current branch."""
    messages = [entry for value in values if (entry := _spoken(value, reading))]
    main = [entry for entry in messages if not entry.get("isSidechain")]
    # A subagent's own file contains nothing but a side chain.
    branch = main or messages
    is_side = bool(branch) and bool(branch[0].get("isSidechain"))
    every = [value.data for value in values if bool(value.data.get("isSidechain")) == is_side]
    current = list(current_branch(branch, every, reading))
    reading.note_count(
        len(messages) - len(branch),
        "entry of a sidechain is left out",
        "entries of sidechains are left out",
    )
    reading.note_branches(len(branch) - len(current))
    stretch: list[Entry] = []
    summaries = 0
    for entry in current:
        if entry.get("isCompactSummary"):
            summaries += 1
            _read_stretch(stretch, reading)
            reading.compact(Message("user", _text_of(entry)))
            stretch = []
        elif not entry.get("isApiErrorMessage"):
            stretch.append(entry)
    _read_stretch(stretch, reading)
    reading.note_own(summaries, "summaries")


def _spoken(value: Value, reading: Reading) -> Entry | None:
    """Return an entry that the model read or wrote, an attachment as a message of the user."""
    entry, kind = value.data, text_at(value.data, "type")
    if kind == "attachment":
        text = attachment_text(entry.get("attachment"), reading)
        message = {"role": "user", "content": text}
        return {**entry, "type": "user", "message": message} if text else None
    if kind not in _ROLES:
        return None
    if text_at(entry, "message", "role") not in _ROLES:
        reading.skip_entry(value.line, f"found an entry {kind!r} without a message", entry)
        return None
    return entry


def _read_stretch(entries: list[Entry], reading: Reading) -> None:
    wire = _join_replies(entries)
    usages = [anthropic_usage(each.pop("usage", None)) for each in wire]
    read_blocks(wire, usages, reading)


def _text_of(entry: Entry) -> str:
    return "\n".join(filter(None, (text_at(block, "text") for block in blocks_of(entry))))


def _join_replies(entries: Iterable[Entry]) -> list[Entry]:
    """Return messages, each reply with all of its blocks at the position of its first block."""
    by_id: dict[str, Entry] = {}
    messages: list[Entry] = []
    for entry in entries:
        reply, body = reply_id(entry), entry["message"]
        # Later blocks of a reply join the first, wherever results stand between them.
        if reply not in by_id:
            message = {
                "role": body["role"],
                "content": blocks_of(entry),
                "model": body.get("model"),
            }
            messages.append(message)
            if reply:
                by_id[reply] = message
        else:
            blocks = by_id[reply]["content"]
            blocks += [block for block in blocks_of(entry) if block not in blocks]
            message = by_id[reply]
        # The last entry of a reply has its final counts.
        message["usage"] = body.get("usage")
    return messages


FORMAT = Format(
    name="Claude Code session",
    recognizes=is_entry,
    read=read,
    places=(Place((".claude",), "projects/*/*.jsonl", "CLAUDE_CONFIG_DIR"),),
)
