"""The export of claude.ai: `conversations.json`, a list of conversations.

Not documented; described by many readers, such as https://github.com/osteele/claude-chat-viewer
(src/schemas, 2026-11): a conversation has a `name` and `chat_messages` with a `sender`, a `text`,
`content` in blocks, and `attachments` with their `extracted_content`. Calls of claude.ai's own
tools have no id in older exports: they are paired with the result behind them.
"""

from collections.abc import Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format, each_document
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import Parts, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers.kit import text_at

_SILENT = {"token_budget", "flag"}


def is_conversation(data: Entry) -> bool:
    """Return whether an object is a conversation of the export.

    >>> is_conversation({"uuid": "u", "name": "A", "chat_messages": []})
    True
    """
    return isinstance(data.get("chat_messages"), list)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of one conversation."""
    document, *items = values
    reading.use_model(document.data.get("model"))
    for value in items:
        data, sender = value.data, text_at(value.data, "sender")
        if sender not in {"human", "assistant"}:
            reading.skip_entry(value.line, f"found the sender {sender!r}", data)
            continue
        blocks = [b for b in objects_at(data, "content") if text_at(b, "type") not in _SILENT]
        content: Any = _with_ids(blocks, text_at(data, "uuid")) or text_at(data, "text")
        parts = read_parts(content, reading)
        if not (parts.texts or parts.calls or parts.results):
            parts = Parts(texts=[text_at(data, "text")])
        parts.texts += [
            f"{text_at(each, 'file_name')}\n{text_at(each, 'extracted_content')}"
            for each in objects_at(data, "attachments")
            if text_at(each, "extracted_content")
        ]
        _add(parts, sender, data, reading)


def _with_ids(blocks: list[Entry], message: str) -> list[Entry]:
    """Return the blocks, in which each call has an id and the result behind it the same."""
    calls = []
    call = ""
    for place, block in enumerate(blocks):
        kind = block.get("type")
        if kind == "tool_use":
            call = text_at(block, "id") or f"{message}-{place}"
            calls.append({**block, "id": call})
        elif kind == "tool_result":
            calls.append({**block, "tool_use_id": text_at(block, "tool_use_id") or call})
        else:
            calls.append(block)
    return calls


def _add(parts: Parts, sender: str, data: Entry, reading: Reading) -> None:
    text, results = parts.texts, parts.results
    if sender == "assistant" and results and text:
        # What was said after the tools ran is a reply of its own.
        parts.texts = text[:1] if len(text) > 1 else []
        reading.extend(parts.messages("assistant"))
        reading.add(Message("assistant", "".join(text[len(parts.texts) :])))
        return
    for message in parts.messages("user" if sender == "human" else "assistant"):
        reading.add(message, data)


FORMAT = Format(
    name="Claude.ai export",
    recognizes=is_conversation,
    read=read,
    split=each_document("chat_messages", "name"),
)
