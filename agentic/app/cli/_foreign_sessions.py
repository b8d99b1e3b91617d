"""Sessions of other programs as entries of ours, and our messages in the forms of others.

What comes from elsewhere is not trusted: its size and its number of messages are limited, JSON that
is nested too deeply is refused, and no name in it becomes a path. What gets lost on the way is
listed.
"""

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from agentic.app.cli._output import describe_problem
from agentic.app.replay import Transcript, TranscriptUnreadable, read_transcripts
from agentic.messages import Message, leading_system_count, to_plain
from agentic.providers import anthropic, gemini, openai_chat, openai_responses

MOST_BYTES = 1_000_000_000
"""How large a file from elsewhere may be."""
_MOST_MESSAGES = 1_000_000
_BINARY = (b"SQLite format 3\x00", b"PK\x03\x04")


def is_foreign(lines: Sequence[bytes]) -> bool:
    """Return whether lines are not those of an export of ours, but of another kind."""
    first = next((line for line in lines if line.strip()), b"0")
    if first.startswith(_BINARY):
        return True
    try:
        value = json.loads(first)
    # Damage, of which the import says where it is; or a value of many lines.
    except (ValueError, RecursionError):
        return first.strip() in {b"{", b"["}
    return isinstance(value, list) or (isinstance(value, dict) and "v" not in value)


def read_foreign(file: str, lines: Sequence[bytes]) -> list[Transcript]:
    """Return the sessions in a file, repaired as a store repairs what it loads.

    Raises:
        ClickException: it cannot be read, or is too large.
    """
    try:
        # A database is more than its lines, and a session may have other files beside it.
        in_place = file != "-"
        content = None if in_place else BytesIO(b"".join(lines))
        name = file if in_place else "stdin"
        transcripts = read_transcripts(name, file=content)
    except TranscriptUnreadable as problem:
        raise click.ClickException(describe_problem(problem)) from problem
    if sum(len(each.messages) for each in transcripts) > _MOST_MESSAGES:
        raise click.ClickException(f"{file} has more than {_MOST_MESSAGES:,} messages")
    return [each.mended() for each in transcripts]


def read_own(name: str, lines: Sequence[bytes]) -> list[Message]:
    """Return the messages in an export of ours, repaired as a store repairs what it loads."""
    messages: list[Message] = []
    for transcript in read_transcripts(name, file=BytesIO(b"".join(lines))):
        messages += transcript.mended().messages
    return messages


def name_of(transcript: Transcript) -> str:
    """Return an id for a session that is named by others.

    >>> name_of(Transcript("../Über: a plan", "chat", ()))
    'ber-a-plan'
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", transcript.name)
    return plain.strip("-._")[:100].rstrip("-._") or "session"


def entries_of(transcript: Transcript) -> list[bytes]:
    """Return the lines of an export that a session would have, were it ours."""
    entries = (
        {"v": 1, "type": "message", "message": to_plain(each)} for each in transcript.messages
    )
    return [json.dumps(each).encode() + b"\n" for each in entries]


def _wire(adapter: ModuleType, messages: list[Message]) -> tuple[Any, list[Message]]:
    request = adapter.encode_request(messages)
    return request, adapter.decode_request(request)


def _chat(messages: list[Message]) -> tuple[list[Any], list[Message]]:
    request, read = _wire(openai_chat, messages)
    return list(request["messages"]), read


def _responses(messages: list[Message]) -> tuple[list[Any], list[Message]]:
    request, read = _wire(openai_responses, messages)
    return [request], read


def _anthropic(messages: list[Message]) -> tuple[list[Any], list[Message]]:
    # Not the messages of a request: one may not end with a reply, and gets a message more.
    leading = leading_system_count(messages)
    request = {"messages": anthropic.encode(messages[leading:])}
    if system := anthropic.encode_request(messages).get("system"):
        request["system"] = system
    return [request], anthropic.decode_request(request)


def _gemini(messages: list[Message]) -> tuple[list[Any], list[Message]]:
    request, read = _wire(gemini, messages)
    return [request], read


def _claude_code(messages: list[Message]) -> tuple[list[Any], list[Message]]:
    """Return entries of a session of Claude Code, linked in order, with ids made of their place."""
    wire = anthropic.encode([each for each in messages if each.role != "system"])
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(wire)))
    entries: list[Any] = []
    for place, source in enumerate(wire):
        entry = str(uuid.uuid5(uuid.UUID(session), str(place)))
        message = dict(source)
        if source["role"] == "assistant":
            message |= {"id": f"msg_{entry.replace('-', '')[:24]}", "type": "message"}
        entries.append(
            {
                "parentUuid": entries[-1]["uuid"] if entries else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": str(Path.cwd()),
                "sessionId": session,
                "version": "2.0.0",
                "type": source["role"],
                "message": message,
                "uuid": entry,
                "timestamp": "2026-01-01T00:00:00.000Z",
            }
        )
    return entries, anthropic.decode(wire)


FORMS: Mapping[str, Callable[[list[Message]], tuple[list[Any], list[Message]]]] = {
    "openai": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "claude-code": _claude_code,
}
"""For each form: its JSON values, one a line, and the messages that are read from them again."""


def write_foreign(form: str, messages: list[Message]) -> tuple[bytes, list[str]]:
    """Return messages in the form of others, and what is lost, a sentence each.

    A provider's own items are left out: they are only good for the provider that made them.
    """
    plain = [each.replace() for each in messages]
    values, read = FORMS[form](plain)
    text = "".join(f"{json.dumps(value, ensure_ascii=True)}\n" for value in values)
    return text.encode(), list(_losses(messages, read))


def _losses(messages: Sequence[Message], read: Sequence[Message]) -> Iterator[str]:
    """Yield what the form does not carry, by counting it before and after."""
    before, after = _count(messages), _count(read)
    for what, number in before.items():
        if (loss := number - after[what]) > 0:
            yield f"lost: {loss:,} of {number:,} {what}"


def _count(messages: Sequence[Message]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in messages:
        counts["system messages"] += each.role == "system"
        counts["texts of reasoning"] += bool(each.reasoning)
        counts["calls"] += len(each.tool_calls)
        counts["results"] += len(each.tool_results)
        counts["images, sounds and files"] += len(each.all_media)
        counts["counts of what a reply used"] += each.usage is not None
        counts["times"] += each.timestamp is not None
        counts["ids"] += each.id is not None
        counts["pins"] += each.pinned
        counts["providers' own items"] += each.native is not None
        counts["summaries that can be merged again"] += each.summary is not None
        counts["marks that a call failed"] += sum(r.error is not None for r in each.tool_results)
    return counts
