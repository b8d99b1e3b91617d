"""Sessions of Continue: `~/.continue/sessions/<session>.json`.

By `Session` and `ChatHistoryItem` in core/index.d.ts of https://github.com/continuedev/continue
(2026-11). A session has a `history` of items. An item has a `message` with a role, text, and for a
reply `toolCalls`; its `toolCallStates` hold the `output` of each call, unless a message of the role
`tool` follows. `contextItems` are what the user attached to a request. The CLI adds the `usage` of
a reply, with its model.
"""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry, Format, Place, each_document
from agentic.app.replay._formats._usage import whole_usage
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_call, make_result, read_output, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.messages._message import Role
from agentic.providers.kit import at, text_at

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "thinking": "assistant"}
_FAILED = {"errored", "canceled"}


def is_session(data: Entry) -> bool:
    """Return whether an object is a session of Continue.

    >>> is_session({"sessionId": "s1", "history": [{"message": {"role": "user"}}]})
    True
    """
    items = objects_at(data, "history")
    return "sessionId" in data and any(isinstance(each.get("message"), dict) for each in items)


def read(values: Sequence[Value], reading: Reading) -> None:
    """Read the items of one session."""
    document, *items = values
    reading.use_model(document.data.get("chatModelTitle"))
    ids = {
        text_at(value.data, "message", "toolCallId")
        for value in items
        if at(value.data, "message", "role") == "tool"
    }
    for value in items:
        message, role = value.data.get("message"), text_at(value.data, "message", "role")
        if not isinstance(message, dict) or role not in {*_ROLES, "assistant", "tool"}:
            reading.skip_entry(value.line, f"found the role {role!r} in an item", value.data)
        elif role == "assistant":
            _read_reply(message, value.data, ids, reading)
        elif role == "tool":
            text, media = read_output(message.get("content"))
            result = make_result(text_at(message, "toolCallId"), "", text, media=media)
            reading.add(Message("tool", tool_results=[result]))
        elif role == "thinking":
            texts = read_parts(message.get("content"), reading).texts
            reading.add(Message("assistant", reasoning="\n".join(texts)), message)
        else:
            _read_request(message, _ROLES[role], value.data, reading)


def _read_request(message: Entry, role: Role, item: Entry, reading: Reading) -> None:
    parts = read_parts(message.get("content"), reading)
    names = [
        f"{text_at(each, 'name')}\n{text_at(each, 'content')}"
        for each in objects_at(item, "contextItems")
        if text_at(each, "content")
    ]
    parts.texts = [*names, *parts.texts]
    for part in parts.messages(role):
        reading.add(part, message)


def _read_reply(message: Entry, item: Entry, ids: set[str], reading: Reading) -> None:
    parts = read_parts(message.get("content"), reading)
    parts.calls += [
        make_call(
            text_at(call, "id"),
            text_at(call, "function", "name"),
            at(call, "function", "arguments"),
        )
        for call in objects_at(message, "toolCalls")
    ]
    parts.thoughts += filter(None, [text_at(item, "reasoning", "text")])
    parts.results += [
        make_result(
            text_at(state, "toolCallId"),
            text_at(state, "toolCall", "function", "name"),
            read_output([each.get("content") for each in objects_at(state, "output")])[0],
            is_error=text_at(state, "status") in _FAILED,
        )
        for state in objects_at(item, "toolCallStates")
        if text_at(state, "toolCallId") not in ids and state.get("output") is not None
    ]
    counts = message.get("usage")
    reading.use_model(text_at(counts, "model"))
    details = at(counts, "prompt_tokens_details")
    flat = (
        {**counts, **details} if isinstance(counts, dict) and isinstance(details, dict) else counts
    )
    usage = whole_usage(flat, "prompt_tokens", "completion_tokens", "cached_tokens")
    for part in parts.messages("assistant", usage=usage):
        reading.add(part, message)


FORMAT = Format(
    name="Continue session",
    recognizes=is_session,
    read=read,
    split=each_document("history", "title"),
    places=(Place((".continue",), "sessions/*-*.json"),),
)
