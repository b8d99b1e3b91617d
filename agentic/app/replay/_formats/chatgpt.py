"""The export of ChatGPT: `conversations.json`, a list of conversations.

Described in https://help.openai.com/en/articles/7260999 and, field by field, by readers such as
https://github.com/mohamed-chs/convoviz (2026-11): the `mapping` is a tree of nodes with a
`message`, and `current_node` is the end of the branch that is shown. A reply to a tool has it as
`recipient`; a message of the author `tool` answers it. Hidden messages were sent, unless they are
empty.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Value
from agentic.app.replay._parts import make_call, make_result
from agentic.app.replay._reading import Reading
from agentic.messages import Media, Message, ToolCall
from agentic.providers.kit import at, items_at, text_at

_SILENT = {"model_editable_context", "user_editable_context", "reasoning_recap"}


def is_conversation(data: Entry) -> bool:
    """Return whether an object is a conversation of the export.

    >>> is_conversation({"title": "A", "mapping": {}, "current_node": "n1"})
    True
    """
    return isinstance(data.get("mapping"), dict)


def _split(values: Sequence[Value]) -> Iterator[tuple[str, Sequence[Value]]]:
    for value in values:
        if is_conversation(value.data):
            nodes = [Value(value.line, node) for node in _branch(value.data)]
            yield text_at(value.data, "title"), nodes


def _branch(data: Entry) -> list[Entry]:
    """Return the messages of the current branch, from its root on."""
    mapping = data["mapping"]
    latest: Any = data.get("current_node") or next(reversed(mapping), None)
    path: dict[str, Entry] = {}
    while isinstance(latest, str) and latest in mapping and latest not in path:
        node = mapping[latest]
        path[latest] = node if isinstance(node, dict) else {}
        latest = at(node, "parent")
    messages = (node.get("message") for node in reversed(path.values()))
    return [message for message in messages if isinstance(message, dict)]


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages of one conversation."""
    call: ToolCall | None = None
    for value in values:
        data, role = value.data, text_at(value.data, "author", "role")
        kind = text_at(data, "content", "content_type")
        if kind in _SILENT:
            continue
        text, media = _content(data.get("content"), kind, reading)
        recipient = text_at(data, "recipient") or "all"
        reading.use_model(at(data, "metadata", "model_slug"))
        if role == "assistant" and kind == "thoughts":
            reading.add(Message("assistant", reasoning=text))
        elif role == "assistant" and recipient != "all":
            call = make_call(text_at(data, "id"), recipient, {"input": text})
            reading.add(Message("assistant", tool_calls=[call]))
        elif role == "tool":
            name = text_at(data, "author", "name")
            call_made = call if call is not None else make_call(text_at(data, "id"), name, {})
            if call is None:
                # ChatGPT itself has run it, and kept no call.
                reading.add(Message("assistant", tool_calls=[call_made]))
            result = make_result(call_made.id, name, text, media=media)
            reading.add(Message("tool", tool_results=[result]))
            call = None
        elif role in {"system", "user", "assistant"}:
            if text or media:
                reading.add(Message(role, text, media=media))  # type: ignore[arg-type]
        else:
            reading.skip_entry(value.line, f"found the author {role!r}", data)


def _content(content: Any, kind: str, reading: Reading) -> tuple[str, list[Media]]:
    texts: list[str] = []
    media: list[Media] = []
    for part in items_at(content, "parts"):
        if isinstance(part, str):
            texts.append(part)
        elif text_at(part, "asset_pointer"):
            media.append(Media("image/*", url=text_at(part, "asset_pointer")))
        elif text := text_at(part, "text"):
            texts.append(text)
        else:
            reading.skip(f"part of the kind {at(part, 'content_type')!r}", part)
    texts += [text_at(content, "text"), text_at(content, "result")]
    for entry in items_at(content, "thoughts"):
        texts.append(text_at(entry, "content"))
    text = "\n".join(filter(None, texts))
    if not text and not media:
        reading.skip(f"content of the kind {kind or 'none'!r}", _without_kind(content))
    return text, media


def _without_kind(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return {key: each for key, each in content.items() if key not in {"content_type", "language"}}


FORMAT = Format(name="ChatGPT export", recognizes=is_conversation, read=read, split=_split)
