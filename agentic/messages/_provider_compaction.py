"""Compactions that a provider made: opaque items that stand for everything before them.

Anthropic's block and OpenAI's item, which xAI and OpenRouter have as well, are of the same type.
The block has a text, unless the compaction failed, and perhaps data; the item has only data:
https://platform.claude.com/docs/en/build-with-claude/compaction,
https://developers.openai.com/api/docs/guides/compaction (2026-11-27).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agentic.messages._message import Message

_TYPE = "compaction"


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
    if message.role != "assistant" or message.origin is None:
        return None
    for item in reversed(_items(message.origin.payload)):
        if not isinstance(item, Mapping) or item.get("type") != _TYPE:
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
    if not isinstance(payload, Mapping):
        return []
    if payload.get("type") == _TYPE:
        return [payload]
    inner = payload.get("message")
    content = (inner if isinstance(inner, Mapping) else payload).get("content")
    return content if isinstance(content, list) else []
