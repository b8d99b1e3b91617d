"""From messages to the API's contents.

A message that came from this API goes back as it came, as long as it still says the same; any other
is written anew. Contents of one role may follow each other
(https://github.com/google/adk-go/pull/1302), but a model's content with calls has to come right
after a user's or after results (https://github.com/google-gemini/gemini-cli/issues/11814): what the
model said before is put into one content with it.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import attrs

from agentic.messages import Message, ToolResult
from agentic.providers._native import is_untouched, native_payload
from agentic.providers._sendable import sendable
from agentic.providers.gemini._wire._calls import TOOL_NAMES
from agentic.providers.gemini._wire._decode import REST, RESULTS, read_message, shared_parts
from agentic.providers.gemini._wire._fields import field, has_field, parts_of, text_of
from agentic.providers.gemini._wire._ids import is_made_up
from agentic.providers.gemini._wire._name import NAME
from agentic.providers.gemini._wire._rebuild import (
    media_parts,
    model_parts,
    result_part,
    user_content,
    user_parts,
)

__all__ = ["encode"]


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write a request's `contents`; a history that was cut is not repaired, see `encode_request`.

    >>> encode([Message("user", "Hello."), Message("assistant", "Hi.")])
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}, {'role': 'model', 'parts': [{'text': 'Hi.'}]}]
    """
    as_they_came = _as_they_came(messages)
    if as_they_came is not None:
        return as_they_came
    writer = _Writer()
    for are_results, group in groupby(map(_sent, messages), lambda sent: sent.is_results):
        if are_results:
            writer.add_results(list(group))
        else:
            for sent in group:
                writer.add(sent)
    return writer.contents


def _as_they_came(messages: Sequence[Message]) -> list[Any] | None:
    """Return what untouched messages came from; None if something has to be joined or written."""
    contents: list[Any] = []
    for message in messages:
        payload: Any = message.native.payload if message.native else None
        if not is_untouched(message, NAME) or "content" not in payload or "share" in payload:
            return None
        if message.role == "assistant" and contents and text_of(contents[-1], "role") == "model":
            return None
        contents.append(payload["content"])
    return contents


@attrs.frozen
class _Sent:
    """A message, and its native payload if that may be sent."""

    message: Message
    payload: Any

    @property
    def is_results(self) -> bool:
        return self.message.role == "tool"

    @property
    def content(self) -> Any:
        return field(self.payload, "content")

    @property
    def share(self) -> Any:
        return field(self.payload, "share")


def _sent(message: Message) -> _Sent:
    payload = native_payload(message, NAME, _decode, TOOL_NAMES.wire)
    return _Sent(message, payload if has_field(payload, "content") else None)


def _decode(payload: Any) -> Message | None:
    return read_message(payload) if has_field(payload, "content") else None


@attrs.define
class _Writer:
    """The contents so far, and what the next one has to fit."""

    contents: list[Any] = attrs.field(factory=list)
    _calls: "list[_Asked]" = attrs.field(factory=list)
    """The calls of the latest model contents that follow each other."""
    _used_ids: set[str] = attrs.field(factory=set)
    _open_share: Any = None
    """The content whose results were written as the latest content, and whose rest may follow."""
    _rebuilt: bool = True
    """Whether the latest content was written anew."""

    def add(self, sent: _Sent) -> None:
        """Write a message that holds no results."""
        if sent.share == REST and self._open_share == sent.content:
            self.contents[-1] = sent.content
            self._open_share = None
        elif sent.message.role == "assistant":
            self._add_model(sent)
        elif sent.payload is not None:
            self._append(_native_content(sent))
        elif sent.message.role != "system" or sent.message.content or sent.message.media:
            self._append(user_content(user_parts(sent.message)), rebuilt=True)

    def _add_model(self, sent: _Sent) -> None:
        if sent.payload is None:
            wire_ids = [self._wire_id(call.id) for call in sent.message.tool_calls]
            content = {"role": "model", "parts": model_parts(sent.message, wire_ids)}
        else:
            content = _native_content(sent)
        earlier = self._calls if self._follows_model() else []
        self._calls = [*earlier, *_asked(sent.message, content, len(earlier))]
        self._used_ids |= {call.wire_id for call in self._calls}
        if self._joins(sent):
            before = self.contents[-1]
            parts = [*parts_of(before), *parts_of(content)]
            self.contents[-1] = {**before, "parts": parts}
            self._rebuilt = True
        elif parts_of(content) or sent.payload is not None:
            self._append(content, rebuilt=sent.payload is None)

    def _joins(self, sent: _Sent) -> bool:
        """Whether a model's content has to be one with the content before it."""
        if not self._follows_model():
            return False
        came_so = sent.payload is not None and bool(field(sent.payload, "after_model"))
        return self._rebuilt or not came_so

    def _follows_model(self) -> bool:
        return bool(self.contents) and text_of(self.contents[-1], "role") == "model"

    def add_results(self, group: list[_Sent]) -> None:
        """Write the results of one turn: as they came, or all in one content."""
        if all(sent.payload is not None for sent in group):
            for sent in group:
                self._append(_native_content(sent))
            last = group[-1]
            self._open_share = last.content if last.share == RESULTS else None
            return
        parts = sorted(self._result_parts(group), key=lambda placed: placed[0])
        if parts:
            self._append(user_content([part for _, part in parts]), rebuilt=True)
        anew = [sent.message for sent in group if sent.payload is None]
        attached = [{"text": sendable(message.content)} for message in anew if message.content]
        attached += media_parts([item for message in anew for item in message.media])
        if attached:
            self._append(user_content(attached), rebuilt=True)

    def _result_parts(self, group: list[_Sent]) -> Iterator[tuple[int, Any]]:
        """Give each result's part, and the place of its call."""
        waiting = list(self._calls)
        for sent in group:
            native = [] if sent.payload is None else shared_parts(sent.payload)
            for number, result in enumerate(sent.message.tool_results):
                call = next((call for call in waiting if call.call_id == result.call_id), None)
                if call is not None:
                    waiting.remove(call)
                place = len(self._calls) if call is None else call.place
                yield place, native[number] if native else _result_part(result, call)

    def _wire_id(self, call_id: str) -> str:
        """Give the id to send: none where the API gave none, none that names a call already."""
        if is_made_up(call_id) or call_id in self._used_ids:
            return ""
        self._used_ids.add(call_id)
        return call_id

    def _append(self, content: Any, *, rebuilt: bool = False) -> None:
        self.contents.append(content)
        self._open_share, self._rebuilt = None, rebuilt


def _native_content(sent: _Sent) -> Any:
    """Give the content as it came, or the message's share of it."""
    if sent.share is None:
        return sent.content
    return {**sent.content, "parts": shared_parts(sent.payload)}


@attrs.frozen
class _Asked:
    """A call as it was sent."""

    place: int
    call_id: str
    wire_id: str
    name: str


def _asked(message: Message, content: Any, first: int) -> Iterator[_Asked]:
    sent = [call for part in parts_of(content) if (call := field(part, "functionCall")) is not None]
    for place, (call, wire) in enumerate(zip(message.tool_calls, sent, strict=False), first):
        yield _Asked(place, call.id, text_of(wire, "id"), text_of(wire, "name"))


def _result_part(result: ToolResult, call: _Asked | None) -> Any:
    if call is None:
        wire_id = "" if is_made_up(result.call_id) else result.call_id
        return result_part(result, wire_id, TOOL_NAMES.wire(result.name))
    return result_part(result, call.wire_id, call.name or TOOL_NAMES.wire(result.name))
