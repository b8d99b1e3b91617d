"""From a file to its conversations: which form it has, by what its objects look like."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import attrs

from agentic.cli.replay._reading import _chat, _claude_code, _ours, _pi
from agentic.cli.replay._reading._transcript import Damage, Transcript, TranscriptUnreadable
from agentic.cli.replay._reading._values import Value, Values, read_values
from agentic.errors import ConfigError
from agentic.messages import Message

__all__ = ["Conversation", "read_transcripts"]

_Reader = Callable[[Sequence[Value]], tuple[list[Message], list[str]]]


@attrs.frozen
class Conversation:
    """How one form is told from the others, and read."""

    format: str
    recognizes: Callable[[dict[str, Any]], bool]
    """Looks at one object of the file."""
    read: _Reader
    """Gives the messages and notes; raises Damage."""


_FORMS = [
    Conversation("agentic store", _ours.is_entry, _ours.read_entries),
    Conversation("agentic messages", _ours.is_plain, _ours.read_plain),
    Conversation("pi session", _pi.is_entry, _pi.read),
    Conversation("Claude Code session", _claude_code.is_entry, _claude_code.read),
    Conversation("Anthropic messages", _chat.is_anthropic, _chat.read_anthropic),
    Conversation("chat completions", _chat.is_chat, _chat.read_chat),
]
"""The first that recognizes any object of a file reads all of them."""


def read_transcripts(path: str | Path, *, file: BinaryIO | None = None) -> list[Transcript]:
    """Read the conversations of a file: one, or one for each `{"messages": [...]}` in it.

    Nothing of them is mended, see `Transcript.mended`. With a `file`, that is read and `path` is
    only its name.

    Raises:
        TranscriptUnreadable: which line, what is there, and what would be understood.
        OSError: the file cannot be opened.
    """
    name = Path(path).name
    stem = name.removesuffix(".json").removesuffix(".jsonl") or name
    try:
        if file is not None:
            return _read(read_values(file), stem)
        with Path(path).open("rb") as opened:
            return _read(read_values(opened), stem)
    except Damage as problem:
        raise TranscriptUnreadable(str(path), problem.line, problem.found) from problem


def _read(found: Values, name: str) -> list[Transcript]:
    whole = [value for value in found.values if _messages_of(value.data) is not None]
    if not whole:
        return [_conversation(found.values, name, found.notes)]
    if len(whole) < len(found.values):
        other = next(value for value in found.values if _messages_of(value.data) is None)
        told = "an object without `messages` among others that have them"
        raise Damage(other.line, f"found {told}")
    return [
        _conversation(
            list(_inner(value)), name if len(whole) == 1 else f"{name} {number}", found.notes
        )
        for number, value in enumerate(whole, 1)
    ]


def _messages_of(data: dict[str, Any]) -> list[Any] | None:
    messages = data.get("messages")
    return messages if isinstance(messages, list) and "type" not in data else None


def _inner(value: Value) -> Iterator[Value]:
    """Give the messages of one conversation, its system prompt first."""
    system = value.data.get("system")
    if system:
        yield Value(value.line, {"role": "system", "content": system})
    for message in value.data["messages"]:
        if not isinstance(message, dict):
            raise Damage(value.line, f"found {type(message).__name__} among `messages`, no object")
        yield Value(value.line, message)


def _conversation(values: Sequence[Value], name: str, notes: list[str]) -> Transcript:
    form = _recognize(values)
    try:
        messages, told = form.read(values)
    except ConfigError as problem:
        raise Damage(None, f"{form.format}: {problem}") from problem
    if not messages:
        raise Damage(None, f"found {form.format}, and no message in it")
    return Transcript(name, form.format, tuple(messages), (*notes, *told))


def _recognize(values: Sequence[Value]) -> Conversation:
    for form in _FORMS:
        if any(form.recognizes(value.data) for value in values):
            return form
    if not values:
        raise Damage(None, "found a conversation with no message in it")
    first = values[0]
    keys = ", ".join(repr(key) for key in list(first.data)[:8]) or "no keys"
    raise Damage(first.line, f"found an object with {keys}, which is no message")
