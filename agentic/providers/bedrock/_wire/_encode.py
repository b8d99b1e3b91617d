"""From our messages to the wire's, each from its payload or from its typed fields."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from agentic.messages import Message, ToolResult
from agentic.providers._as_text import text_with_media
from agentic.providers._native import native_payload, payload_facts
from agentic.providers._plain import at, items_at, text_at
from agentic.providers._sendable import sendable
from agentic.providers.bedrock._wire._calls import TOOL_NAMES, CallIds, wire_input
from agentic.providers.bedrock._wire._decode import decode_payload
from agentic.providers.bedrock._wire._media import DocumentNames, encode_media
from agentic.providers.bedrock._wire._mend import mend
from agentic.providers.bedrock._wire._name import NAME

__all__ = ["encode", "split_system", "system_blocks"]

_NO_OUTPUT = "(no output)"


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write a request's `messages`; a history that was cut is not repaired, see `encode_request`.

    System messages are a user's words here, in tags: only a whole request has a field for them.

    >>> encode([Message("user", "Hi"), Message("user", "there")])
    [{'role': 'user', 'content': [{'text': 'Hi'}, {'text': 'there'}]}]
    """
    parts = _as_they_came(messages)
    wire: list[Any] = []
    joined: dict[int, list[Any]] = {}
    role_before, own_before = "", False
    for part, is_own in _written(messages) if parts is None else parts:
        role = text_at(part, "role")
        # Older versions of the service refuse two users:
        # https://github.com/langchain-ai/langchain-aws/issues/130
        joins = role == role_before and role in {"user", "assistant"}
        if joins and not (is_own and own_before):
            joined.setdefault(len(wire) - 1, [wire[-1]]).append(part)
        else:
            wire.append(part)
        role_before, own_before = role, is_own
    for place, turn in joined.items():
        wire[place] = _joined(turn)
    return wire


def _as_they_came(messages: Sequence[Message]) -> list[tuple[Any, bool]] | None:
    """Return what untouched messages came from, as `_written` does; None if that has to change."""
    parts: list[tuple[Any, bool]] = []
    asked: set[str] = set()
    role: str = ""
    for message in messages:
        calls = payload_facts(message, NAME, _calls_as_they_came)
        if calls is None or message.native is None:
            return None
        before, role = role, message.role
        if asked and role != "tool" and (before, role) != ("assistant", "assistant"):
            asked = set()
        if calls:
            if not asked.isdisjoint(calls):
                return None
            asked.update(calls)
        parts.append((message.native.payload, role == "user"))
    return parts


def _calls_as_they_came(payload: Any) -> frozenset[str] | None:
    """Return the ids of a payload's calls if nothing has to change in it; None if something has.

    An id that an earlier message of the same run has is to be changed all the same.
    """
    ids = CallIds(set(_call_ids([payload])))
    if payload is None or isinstance(payload, list) or mend(payload, ids) is not payload:
        return None
    return frozenset(ids.kept)


def _written(messages: Sequence[Message]) -> Iterator[tuple[Any, bool]]:
    """Write messages, each with whether it is a user's own that goes back as it came.

    Two of those in a row are served. Results beside a user's words are one message with them.
    """
    sent = [_Sent(message, _payload(message)) for message in messages]
    kept = [one.payload for one in sent]
    writer = _Writer(CallIds(set(_call_ids(kept))), DocumentNames.beside(kept))
    for one in sent:
        part = writer.write(one)
        if part is not None:
            yield part, one.payload is not None and one.message.role == "user"


def split_system(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Part the messages for the field `system` from the others."""
    for position, message in enumerate(messages):
        if message.role != "system" or isinstance(_payload(message), dict):
            return list(messages[:position]), list(messages[position:])
    return list(messages), []


def system_blocks(message: Message) -> list[Any]:
    """Give the blocks of a leading system message."""
    payload = _payload(message)
    return payload if isinstance(payload, list) else _text_blocks(text_with_media(message))


@attrs.frozen
class _Sent:
    """A message, and what may be sent in its place."""

    message: Message
    payload: Any


def _payload(message: Message) -> Any:
    return native_payload(message, NAME, decode_payload, TOOL_NAMES.wire)


def _call_ids(payloads: Iterable[Any]) -> Iterable[str]:
    for payload in payloads:
        for block in items_at(payload, "content"):
            yield text_at(block, "toolUse", "toolUseId")


def _joined(parts: list[Any]) -> Any:
    merged: dict[str, Any] = {}
    for part in parts:
        merged = {**part, **merged}
    content = [block for part in parts for block in _content(part)]
    return {key: content if key == "content" else merged[key] for key in {**parts[0], **merged}}


def _content(part: Any) -> list[Any]:
    content = at(part, "content")
    return [{"text": content}] if isinstance(content, str) else items_at(part, "content")


def _text_blocks(text: str) -> list[dict[str, Any]]:
    """Give one block, or none: a blank text is refused.

    https://github.com/earendil-works/pi/issues/4975
    """
    return [{"text": sendable(text)}] if text.strip() else []


@attrs.define
class _Writer:
    """Writes the messages of one request, in order."""

    ids: CallIds
    documents: DocumentNames
    in_run: bool = False
    """Whether the last message was an assistant's: results may answer all of a run."""

    def write(self, one: _Sent) -> Any | None:
        """Give the wire message for one of ours; None if there is nothing to say."""
        message = one.message
        if message.role != "tool" and not (self.in_run and message.role == "assistant"):
            self.ids.close()
        self.in_run = message.role == "assistant"
        if one.payload is not None and not isinstance(one.payload, list):
            return mend(one.payload, self.ids)
        role = "assistant" if message.role == "assistant" else "user"
        content = self._blocks(message)
        return {"role": role, "content": content} if content else None

    def _blocks(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "system":
            return _text_blocks(_as_user(message))
        results = [self._result(result) for result in message.tool_results]
        if message.role == "assistant":
            said = _text_blocks(text_with_media(message))
            calls = [
                {
                    "toolUse": {
                        "toolUseId": self.ids.give(call.id),
                        "name": TOOL_NAMES.wire(call.name),
                        "input": wire_input(call.arguments),
                    }
                }
                for call in message.tool_calls
            ]
            return said + calls
        return results + self._beside(message, _text_blocks(message.content))

    def _beside(self, message: Message, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add media. A document needs a text in its message (API_runtime_Message)."""
        media = [encode_media(part, self.documents) for part in message.media]
        silent = not any("text" in block for block in said + media)
        if silent and any("document" in block for block in media):
            said = [{"text": "See the document."}]
        return said + media

    def _result(self, result: ToolResult) -> dict[str, Any]:
        content = _text_blocks(result.text) or [{"text": _NO_OUTPUT}]
        answer = {"toolUseId": self.ids.answer(result.call_id), "content": content}
        # Not every model takes a status, so that success is not said (API_runtime_ToolResultBlock).
        return {"toolResult": {**answer, "status": "error"} if result.error else answer}


def _as_user(message: Message) -> str:
    text = text_with_media(message)
    if message.summary is not None or not text.strip():
        return text
    return f"<system>\n{text}\n</system>"
