"""Compactions that a provider made: opaque items that stand for everything before them.

Anthropic's block and OpenAI's item, which xAI and OpenRouter have as well, are of the same type.
The block has a text, unless the compaction failed, and perhaps data; the item has only data:
https://platform.claude.com/docs/en/build-with-claude/compaction,
https://developers.openai.com/api/docs/guides/compaction (2026-11-27).
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentic.messages._message import ContextSummary, Message
from agentic.messages._parts import Marked
from agentic.messages._plain import from_plain, to_plain

_TYPE = "compaction"
_UNREAD: Any = object()
_note = Marked.__dict__["_compaction"].__set__
_note_reasoning = Marked.__dict__["_holds_reasoning"].__set__
_NOTES, _VERSION = "native", 1
"""The key and the format of a native compaction among the notes of a summary."""


@attrs.frozen
class NativeCompaction:
    """What a provider made of the messages that a summary replaces, for one of its models.

    It is kept in the notes of a readable summary of the same messages, which takes its place
    wherever nobody can read it: for another model, in a search, after an undo.
    """

    provider: str
    """The adapter that wrote and reads it: `anthropic`, `openai_responses`."""
    model: str
    """The model that it was made by."""
    reply: Message
    """The reply with the provider's items, which is sent first and byte for byte."""

    def to_notes(self) -> dict[str, Any]:
        """Return it as notes of a summary, in plain JSON data."""
        reply = to_plain(self.reply.replace(native=self.reply.native))
        plain = {"v": _VERSION, "provider": self.provider, "model": self.model, "reply": reply}
        # As a store would read it: notes are compared with what JSON makes of them.
        return {_NOTES: json.loads(json.dumps(plain, ensure_ascii=False))}

    @classmethod
    def of_summary(cls, summary: ContextSummary) -> "NativeCompaction | None":
        """Return that of a summary; None if it has none, or one of an unknown format."""
        plain = summary.notes.get(_NOTES)
        if not isinstance(plain, Mapping) or plain.get("v") != _VERSION:
            return None
        try:
            reply = from_plain(plain["reply"])
            compaction = cls(str(plain["provider"]), str(plain["model"]), reply)
        # What somebody else wrote under this key is no compaction, and the summary is readable.
        except (KeyError, TypeError, ValueError):
            return None
        if reply.native is None or compaction_text(reply) is None:
            return None
        # It stands for reasoning, and holds none that could be left out.
        _note_reasoning(reply.native, False)  # noqa: FBT003
        return compaction


def without_native(summary: ContextSummary) -> ContextSummary:
    """Return a summary without what a provider made; itself if there is nothing of it."""
    if _NOTES not in summary.notes:
        return summary
    notes = {key: value for key, value in summary.notes.items() if key != _NOTES}
    return attrs.evolve(summary, notes=notes)


def compaction_key(message: Message) -> str:
    """Return what tells the provider's compaction in a message from others; empty if none is."""
    origin = message.native or message.edited_native
    if origin is None or compaction_text(message) is None:
        return ""
    return json.dumps(origin.payload, sort_keys=True, ensure_ascii=True, default=str)


def compaction_text(message: Message) -> str | None:
    """Return the text of a provider's compaction in a message, empty if it has none to read.

    None if there is no compaction in the message, or one that failed and stands for nothing.

    >>> from agentic.messages import ProviderPayload
    >>> item = {"type": "compaction", "encrypted_content": "gAAAA"}
    >>> compaction_text(Message("assistant", native=ProviderPayload("openai_responses", [item])))
    ''
    >>> compaction_text(Message("assistant", "Hello.")) is None
    True
    """
    # Only a reply has one; of all others the payload need not be looked at.
    origin = message.native or message.edited_native
    if message.role != "assistant" or origin is None:
        return None
    text: str | None = getattr(origin, "_compaction", _UNREAD)
    if text is _UNREAD:
        # Kept beside the payload: this is asked of the same replies at every request.
        text = _read(origin.payload)
        _note(origin, text)
    return text


def _read(payload: Any) -> str | None:
    for item in reversed(_items(payload)):
        if not isinstance(item, dict) or item.get("type") != _TYPE:
            continue
        content = item.get("content")
        if isinstance(content, str) and content:
            return content
        if item.get("encrypted_content"):
            return ""
    return None


def holds_compaction(messages: Iterable[Message]) -> bool:
    """Return whether a provider's compaction is in one of the messages."""
    # A loop: a generator takes a fifth longer, and this is asked of every round.
    for message in messages:  # noqa: SIM110
        if compaction_text(message) is not None:
            return True
    return False


def _items(payload: Any) -> list[Any]:
    """Return a payload's items: those of a list, of a message, or of a message inside."""
    if isinstance(payload, list):
        return payload
    # A payload is JSON data. `Mapping` would be asked by a slow check, of every reply.
    if not isinstance(payload, dict):
        return []
    if payload.get("type") == _TYPE:
        return [payload]
    inner = payload.get("message")
    content = (inner if isinstance(inner, dict) else payload).get("content")
    return content if isinstance(content, list) else []
