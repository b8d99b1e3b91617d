"""From messages to the API's contents.

A message that came from this API goes back as it came, as long as it still says the same; any other
is written anew. Contents of one role may follow each other
(https://github.com/google/adk-go/pull/1302), but a model's content with calls has to come right
after a user's or after results (https://github.com/google-gemini/gemini-cli/issues/11814): what the
model said before is put into one content with it.

Where each goes that is written anew: text and media are parts of a user's content; an assistant's
text and calls are parts of a model's content; the results of one turn are one content, in the order
of its calls, and media that tools gave are a content after it (functionResponse.parts is refused by
Gemini 2.5: https://github.com/google-gemini/gemini-cli/issues/19436). A system message in the
middle is a user's text in `<system>` tags; the leading system messages, a summary among them, are
the system instruction, since Google has no other place that is not the user's word. A pinned
message goes where its role goes. Reasoning is not sent.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from agentic.messages import (
    Media,
    Message,
    ToolCall,
    ToolResult,
    close_open_rounds,
    leading_system_count,
)
from agentic.providers.gemini._decoding import (
    NAME,
    REST,
    RESULTS,
    is_made_up,
    read_message,
    read_text,
    shared_parts,
)
from agentic.providers.gemini._fields import field, has_field, parts_of, text_of
from agentic.providers.kit import NameRule, arguments_as_object, native_payload, replace_surrogates
from agentic.providers.kit._messages import is_untouched, media_note, text_with_media
from agentic.tools import ToolDefinition

if TYPE_CHECKING:
    from agentic.providers.validators import Violation

__all__ = ["TOOL_NAMES", "encode", "encode_request", "encode_tools", "validate"]

TOOL_NAMES = NameRule(re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), 128)
"""https://ai.google.dev/api/caching#FunctionDeclaration (2026-11)."""
_EMPTY = "(empty message)"
"""Stands for a request without a word: a content needs a part."""

_UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode("ascii")
"""The signature of a call that has none, or whose own was lost with an edit.

Gemini 3 refuses a turn whose first call is unsigned; this value is documented for history that
comes from elsewhere, by the Gemini API (https://ai.google.dev/gemini-api/docs/thought-signatures,
FAQ) and by Vertex AI (https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures).
The field is bytes, so that JSON holds it in base64.
"""

_GO_ON = "Continue."
"""The neutral request that stands first where a cut left none of the user's."""


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write a request's `contents`; a history that was cut is not repaired, see `encode_request`.

    >>> encode([Message("user", "Hello."), Message("assistant", "Hi.")])
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}, {'role': 'model', 'parts': [{'text': 'Hi.'}]}]
    """
    as_they_came = _as_they_came(messages)
    if as_they_came is not None:
        return as_they_came
    writer = _ContentWriter()
    for are_results, group in groupby(map(_sent, messages), lambda sent: sent.is_results):
        if are_results:
            writer.add_results(list(group))
        else:
            for sent in group:
                writer.add(sent)
    return writer.contents


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Write all that a request holds of a conversation, so that the provider accepts it.

    Open rounds are closed, orphaned results left out. The contents never start with a model's turn,
    unless they came so.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["contents"]
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}]
    """
    messages = close_open_rounds(list(messages))
    leading = leading_system_count(messages)
    request = _instruction(system_prompt, messages[:leading])
    request["contents"] = _begun_by_user(messages[leading:])
    if tools:
        request["tools"] = encode_tools(tools)
    sent: dict[str, Any] = replace_surrogates(request)
    return sent


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call, as one object of function declarations.

    Both APIs take JSON Schema in `parametersJsonSchema`:
    https://ai.google.dev/api/caching#FunctionDeclaration (2026-11).

    >>> encode_tools([ToolDefinition("now")])[0]["functionDeclarations"][0]["name"]
    'now'
    """
    declared = [
        {
            "name": TOOL_NAMES.wire(tool.name),
            "description": replace_surrogates(tool.description),
            "parametersJsonSchema": replace_surrogates(dict(tool.parameters)),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declared}] if declared else []


def validate(request: Mapping[str, Any], /) -> "list[Violation]":
    """Return why the provider would refuse a request for its shape; nothing if it would not.

    The request is a REST body, or the arguments of the SDK's call.

    >>> [found.rule for found in validate({"contents": []})]
    ['first_message']
    """
    from agentic.providers.validators import gemini  # noqa: PLC0415  loaded at the first call

    return gemini.validate(request)


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
class _ContentWriter:
    """The contents so far, and what the next one has to fit."""

    contents: list[Any] = attrs.field(factory=list)
    _calls: "list[_SentCall]" = attrs.field(factory=list)
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
            self._append(_user_content(_user_parts(sent.message)), rebuilt=True)

    def _add_model(self, sent: _Sent) -> None:
        if sent.payload is None:
            wire_ids = [self._wire_id(call.id) for call in sent.message.tool_calls]
            content = {"role": "model", "parts": _model_parts(sent.message, wire_ids)}
        else:
            content = _native_content(sent)
        earlier = self._calls if self._follows_model() else []
        self._calls = [*earlier, *_sent_calls(sent.message, content, len(earlier))]
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
            self._append(_user_content([part for _, part in parts]), rebuilt=True)
        anew = [sent.message for sent in group if sent.payload is None]
        attached = [
            {"text": replace_surrogates(message.content)} for message in anew if message.content
        ]
        attached += _media_parts([item for message in anew for item in message.media])
        if attached:
            self._append(_user_content(attached), rebuilt=True)

    def _result_parts(self, group: list[_Sent]) -> Iterator[tuple[int, Any]]:
        """Yield each result's part, and the place of its call."""
        waiting = list(self._calls)
        for sent in group:
            native = [] if sent.payload is None else shared_parts(sent.payload)
            for number, result in enumerate(sent.message.tool_results):
                call = next((call for call in waiting if call.call_id == result.call_id), None)
                if call is not None:
                    waiting.remove(call)
                place = len(self._calls) if call is None else call.place
                yield place, native[number] if native else _answer_part(result, call)

    def _wire_id(self, call_id: str) -> str:
        """Return the id to send: none where the API gave none, none that names a call already."""
        if is_made_up(call_id) or call_id in self._used_ids:
            return ""
        self._used_ids.add(call_id)
        return call_id

    def _append(self, content: Any, *, rebuilt: bool = False) -> None:
        self.contents.append(content)
        self._open_share, self._rebuilt = None, rebuilt


def _native_content(sent: _Sent) -> Any:
    """Return the content as it came, or the message's share of it."""
    if sent.share is None:
        return sent.content
    return {**sent.content, "parts": shared_parts(sent.payload)}


@attrs.frozen
class _SentCall:
    """A call as it was sent."""

    place: int
    call_id: str
    wire_id: str
    name: str


def _sent_calls(message: Message, content: Any, first: int) -> Iterator[_SentCall]:
    sent = [call for part in parts_of(content) if (call := field(part, "functionCall")) is not None]
    for place, (call, wire) in enumerate(zip(message.tool_calls, sent, strict=False), first):
        yield _SentCall(place, call.id, text_of(wire, "id"), text_of(wire, "name"))


def _answer_part(result: ToolResult, call: _SentCall | None) -> Any:
    if call is None:
        wire_id = "" if is_made_up(result.call_id) else result.call_id
        return _result_part(result, wire_id, TOOL_NAMES.wire(result.name))
    return _result_part(result, call.wire_id, call.name or TOOL_NAMES.wire(result.name))


def _user_content(parts: list[Any]) -> dict[str, Any]:
    """Make a user's content, as Google's SDKs spell it."""
    return {"role": "user", "parts": parts}


def _user_parts(message: Message) -> list[dict[str, Any]]:
    """Write what a user, or a system message in the middle of a conversation, says."""
    text = replace_surrogates(message.content)
    if message.role == "system":
        text = f"<system>\n{text}\n</system>" if text else ""
    return [*_text_parts(text), *_media_parts(message.media)] or _text_parts(_EMPTY)


def _text_parts(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def _media_parts(media: Sequence[Media]) -> list[dict[str, Any]]:
    """Write media: their bytes, or where they are.

    >>> _media_parts([Media("image/png", url="gs://b/a.png")])
    [{'fileData': {'mimeType': 'image/png', 'fileUri': 'gs://b/a.png'}}]
    """
    return [_media_part(item) or {"text": media_note(item)} for item in media]


def _media_part(media: Media) -> dict[str, Any]:
    kind = {"mimeType": media.media_type or "application/octet-stream"}
    if media.data:
        return {"inlineData": {**kind, "data": base64.b64encode(media.data).decode("ascii")}}
    scheme, _, data = media.url.partition(";base64,")
    if data and scheme.startswith("data:"):
        return {"inlineData": {**kind, "data": data}}
    return {"fileData": {**kind, "fileUri": replace_surrogates(media.url)}} if media.url else {}


def _model_parts(message: Message, wire_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Write what the model said and called. `wire_ids` gives each call's id, empty for none."""
    calls = [
        _call_part(call, wire_id)
        for call, wire_id in zip(message.tool_calls, wire_ids, strict=True)
    ]
    if calls:
        calls[0]["thoughtSignature"] = _UNSIGNED
    return [*_text_parts(replace_surrogates(message.content)), *_media_parts(message.media), *calls]


def _call_part(call: ToolCall, wire_id: str) -> dict[str, Any]:
    """Write one call, without a signature.

    >>> _call_part(ToolCall("c1", "read", '{"path": "a.py"}'), "")
    {'functionCall': {'name': 'read', 'args': {'path': 'a.py'}}}
    """
    named = {"id": replace_surrogates(wire_id)} if wire_id else {}
    name, arguments = TOOL_NAMES.wire(call.name), arguments_as_object(call.arguments)
    return {"functionCall": {**named, "name": name, "args": arguments}}


def _result_part(result: ToolResult, wire_id: str, name: str) -> dict[str, Any]:
    """Write one result, under the id and the name that its call was sent with.

    >>> _result_part(ToolResult("c1", "read", "text", error="gone"), "", "read")
    {'functionResponse': {'name': 'read', 'response': {'output': 'text', 'error': 'gone'}}}
    """
    named = {"id": replace_surrogates(wire_id)} if wire_id else {}
    said = "\n".join(text for text in (result.output, result.notice) if text)
    response = {"output": replace_surrogates(said)} if said or result.error is None else {}
    if result.error is not None:
        response["error"] = replace_surrogates(result.error.message) or "the tool failed"
    return {"functionResponse": {**named, "name": name, "response": response}}


def _instruction(system_prompt: str, messages: Sequence[Message]) -> dict[str, Any]:
    """Write the system instruction: a part for the prompt and for each message."""
    if len(messages) == 1 and not system_prompt:
        payload = native_payload(messages[0], NAME, _decode_instruction)
        if payload is not None and has_field(payload, "instruction"):
            return {payload["key"]: payload["instruction"]}
    texts = [system_prompt, *map(text_with_media, messages)]
    parts = [{"text": text} for text in texts if text]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def _decode_instruction(payload: Any) -> Message | None:
    instruction = field(payload, "instruction")
    if instruction is None or not text_of(payload, "key"):
        return None
    return Message("system", read_text(parts_of(instruction), between="\n"))


def _begun_by_user(messages: Sequence[Message]) -> list[Any]:
    contents = encode(messages)
    came_first = bool(messages) and _came_first(messages[0])
    if not contents or (text_of(contents[0], "role") == "model" and not came_first):
        return [_user_content([{"text": _GO_ON}]), *contents]
    return contents


def _came_first(message: Message) -> bool:
    ours = message.native is not None and message.native.provider == NAME
    return ours and message.native is not None and bool(field(message.native.payload, "first"))
