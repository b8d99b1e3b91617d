"""Sessions of Kimi CLI: `~/.kimi/sessions/<folder>/<session>/context.jsonl`.

A chat completion message on each line, its content as parts, and lines of roles that begin with
`_`: the system prompt, checkpoints and token counts (`src/kimi_cli/soul/context.py` of
https://github.com/MoonshotAI/kimi-cli, 2026-11).
https://moonshotai.github.io/kimi-cli/en/configuration/data-locations.html says where they are.
"""

from collections.abc import Sequence

import attrs

from agentic.app.replay._formats._format import Entry, Format, Place
from agentic.app.replay._formats.apis import read_chat
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._reading import Reading
from agentic.providers.kit import text_at

_OWN_ROLES = {"_system_prompt", "_checkpoint", "_usage"}


def is_line(data: Entry) -> bool:
    """Return whether an object is a line that only a `context.jsonl` of Kimi CLI has.

    >>> is_line({"role": "_checkpoint", "id": 0})
    True
    """
    return text_at(data, "role") in _OWN_ROLES


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the messages, with the system prompt first."""
    chat: list[Value] = []
    for value in values:
        role = text_at(value.data, "role")
        if role == "_system_prompt":
            chat.insert(0, attrs.evolve(value, data={**value.data, "role": "system"}))
        elif role not in _OWN_ROLES:
            chat.append(attrs.evolve(value, data=flatten(value.data)))
    read_chat(chat, reading)


def flatten(message: Entry) -> Entry:
    """Return a chat completion message whose thoughts stand beside its text."""
    if not isinstance(message.get("content"), list):
        return message
    parts = objects_at(message, "content")
    thoughts = [part["think"] for part in parts if isinstance(part.get("think"), str)]
    rest = [part for part in parts if part.get("type") != "think"]
    texts = [part["text"] for part in rest if isinstance(part.get("text"), str)]
    flat = {**message, "content": "\n".join(texts) if len(texts) == len(rest) else rest}
    return {**flat, "reasoning_content": "\n\n".join(thoughts)} if thoughts else flat


FORMAT = Format(
    name="Kimi CLI session",
    recognizes=is_line,
    read=read,
    places=(Place((".kimi",), "sessions/*/*/context.jsonl", "KIMI_SHARE_DIR"),),
)
