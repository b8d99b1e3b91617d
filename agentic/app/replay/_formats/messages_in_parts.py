"""Messages whose content is a list of parts that no chat completion has, whoever wrote them.

Bedrock's Converse, Gemini's `contents`, Vercel's `UIMessage` and `ModelMessage`, Goose, Amp and
claw-code are read by their parts; see `_parts` for the sources.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import kind_of, read_parts, split_steps
from agentic.app.replay._reading import Reading
from agentic.messages._message import Role
from agentic.providers.kit import text_at

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
}
_LISTS = ("content", "parts", "blocks")
_OWN_PARTS = {"toolcall", "toolresult", "toolrequest", "toolresponse", "dynamictool"}
_BARE = {"tooluse", "toolresult", "functioncall", "functionresponse", "reasoningcontent", "text"}


def is_message(data: Entry) -> bool:
    """Return whether an object is a message with parts that only other APIs have.

    >>> is_message({"role": "user", "content": [{"text": "Hi."}]})
    True
    >>> is_message({"role": "user", "content": [{"type": "text", "text": "Hi."}]})
    False
    """
    if text_at(data, "role") not in _ROLES:
        return False
    if any(isinstance(data.get(key), list) for key in _LISTS[1:]) and "content" not in data:
        return True
    return any(map(_is_own_part, objects_at(data, "content")))


def _is_own_part(part: Entry) -> bool:
    kind = text_at(part, "type")
    if not kind:
        return kind_of(part) in _BARE
    # Anthropic's result names its call; Amp's does so under another key.
    if kind == "tool_result":
        return "tool_use_id" not in part
    return kind != "tool_use" and (
        kind_of(part) in _OWN_PARTS or (kind.startswith("tool-") and "toolCallId" in part)
    )


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read messages by their parts."""
    for value in values:
        data, role = value.data, _ROLES.get(text_at(value.data, "role"))
        if role is None:
            sentence = f"found the role {data.get('role')!r} where a message should be"
            reading.skip_entry(value.line, sentence, data)
            continue
        reading.use_model(data.get("model"))
        content = next((data[key] for key in _LISTS if key in data), None)
        parts = content if isinstance(content, list) else [content]
        for step in split_steps(parts):
            for message in read_parts(step, reading).messages(role):
                reading.add(message, data)


FORMAT = Format(name="messages in parts", recognizes=is_message, read=read)
