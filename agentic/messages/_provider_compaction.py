"""Compactions that a provider made: opaque items that stand for everything before them.

Anthropic's block and OpenAI's item, which xAI and OpenRouter have as well, are of the same type.
The block has a text, unless the compaction failed, and perhaps data; the item has only data:
https://platform.claude.com/docs/en/build-with-claude/compaction,
https://developers.openai.com/api/docs/guides/compaction (2026-11-27).
"""

from collections.abc import Iterable
from typing import Any

from agentic.messages._message import Message
from agentic.messages._parts import Marked

_TYPE = "compaction"
_UNREAD: Any = object()
_note = Marked.__dict__["_compaction"].__set__


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
