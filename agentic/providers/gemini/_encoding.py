"""Encode messages as the API's contents.

A message that came from this API is sent back unchanged while it still says the same; any other
message is rebuilt. Contents of one role may follow each other
(https://github.com/google/adk-go/pull/1302), but a model content with calls has to come directly
after a user content or after results (https://github.com/google-gemini/gemini-cli/issues/11814).
What the model said before the calls is therefore merged into the same content.

Rebuilt messages are encoded as follows. Text and media are parts of a user content. An assistant's
text and calls are parts of a model content. The results of one turn are one content, in the order
of the calls. Media from tools are parts of their result if the model is known to accept them there,
and otherwise a content after the results. The leading system messages are the system
instruction: Google has no other field for text that is not the user's. A later system message is
user text in `<system>` tags. A pinned message is encoded according to its role.
Reasoning is not sent.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

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
    field,
    has_field,
    is_made_up,
    parts_of,
    read_message,
    read_text,
    shared_parts,
    text_of,
)
from agentic.providers.kit import (
    NameRule,
    arguments_as_object,
    native_payload,
    place_record,
    replace_surrogates,
)
from agentic.providers.kit._json import is_blank_arguments, json_text, with_arguments
from agentic.providers.kit._media import media_note, read_data_url, text_with_media, to_base64
from agentic.providers.kit._messages import is_untouched, write_calls
from agentic.providers.kit._record import RecordRole
from agentic.tools import ToolDefinition

# https://ai.google.dev/api/caching#FunctionDeclaration (2026-11).
TOOL_NAMES = NameRule(re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}"), 128)
# Sent for an empty user message: a content needs at least one part.
_EMPTY = "(empty message)"
# The signature for a call that has none or lost its own in an edit. Gemini 3 rejects a turn whose
# first call is unsigned. This value is documented for history from other sources, by the Gemini API
# (https://ai.google.dev/gemini-api/docs/thought-signatures, FAQ) and by Vertex AI
# (https://cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures). The field's type is
# bytes, so in JSON it is base64.
_UNSIGNED = to_base64(b"skip_thought_signature_validator")
# https://ai.google.dev/gemini-api/docs/function-calling (multimodal function responses, 2026-11):
# from Gemini 3 on.
_FIRST_WITH_MEDIA = 3
_IN_RESULTS = {"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}
_GENERATION = re.compile(r"gemini-(\d+)")

SIGNING = re.compile(r"gemini-(?:[3-9]|\d\d)(?!.*image)")
"""Gemini 3 and later, except image models, do not accept calls without a signature:
https://ai.google.dev/gemini-api/docs/thought-signatures (2026-11)."""
WITHOUT_PREFILL = re.compile(r"gemini-(?:3\.[6-9]|3\.5-flash-lite|[4-9]|\d\d)")
"""Models that refuse a model turn as the last content:
https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6 (2026-11)."""
_GO_ON = "Continue."
"""The neutral user message where a truncated history lacks one."""


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `contents`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Hello."), Message("assistant", "Hi.")])
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}, {'role': 'model', 'parts': [{'text': 'Hi.'}]}]
    """
    return _encode(place_record(messages), "")


def _encode(messages: Sequence[Message], model: str) -> list[dict[str, Any]]:
    # Alone, so that the messages after a record need not be rebuilt with it.
    if len(messages) > 1 and messages[0].summary is not None:
        return [*_encode(messages[:1], model), *_encode(messages[1:], model)]
    as_they_came = _as_they_came(messages)
    if as_they_came is not None:
        return as_they_came
    # Without a model's name, media are not put into results: Gemini 2.5 rejects
    # functionResponse.parts (https://github.com/google-gemini/gemini-cli/issues/19436).
    generation = _GENERATION.search(model)
    writer = _ContentWriter(
        int(generation[1]) >= _FIRST_WITH_MEDIA if generation else False,
        WITHOUT_PREFILL.search(model) is None,
    )
    for are_results, group in groupby(map(_sent, messages), lambda entry: entry.is_results):
        if are_results:
            writer.add_results(list(group))
        else:
            for entry in group:
                writer.add(entry)
    return writer.contents


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results are left out. The contents do not start with a model
    turn unless the original contents did. A summary is a user content of its own, or a part of the
    system instruction if that is the `record_role`. `model` decides where media from tools are
    sent, whether calls need a signature, and whether a model turn may come last.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["contents"]
    [{'role': 'user', 'parts': [{'text': 'Hello.'}]}]
    """
    messages = place_record(close_open_rounds(list(messages), answer_async=True), record_role)
    leading = leading_system_count(messages)
    request = _instruction(system_prompt, messages[:leading])
    request["contents"] = _begun_by_user(messages[leading:], model)
    if tools:
        request["tools"] = encode_tools(tools)
    copy: dict[str, Any] = replace_surrogates(request)
    return copy


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the tools that the model may call, as one object with function declarations.

    Both APIs accept JSON Schema in `parametersJsonSchema`:
    https://ai.google.dev/api/caching#FunctionDeclaration (2026-11).

    >>> encode_tools([ToolDefinition("now")])[0]["functionDeclarations"][0]["name"]
    'now'
    """
    declarations = [
        {
            "name": TOOL_NAMES.wire(tool.name),
            "description": replace_surrogates(tool.description),
            "parametersJsonSchema": replace_surrogates(dict(tool.parameters)),
        }
        for tool in tools
    ]
    return [{"functionDeclarations": declarations}] if declarations else []


def _as_they_came(messages: Sequence[Message]) -> list[Any] | None:
    """Return untouched messages' contents; None if something has to be merged or rebuilt."""
    contents: list[Any] = []
    for message in messages:
        payload: Any = message.native.payload if message.native else None
        if not is_untouched(message, NAME) or "content" not in payload or "share" in payload:
            return None
        for call in message.tool_calls:
            if not call.arguments.strip():
                return None
        # Two model contents in a row are merged by the writer, unless they came so.
        if message.role == "assistant" and contents and text_of(contents[-1], "role") == "model":
            return None
        contents.append(payload["content"])
    return contents


@attrs.frozen
class _SentMessage:
    """A message, with its native payload if that may be sent."""

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


def _sent(message: Message) -> _SentMessage:
    payload = native_payload(message, NAME, _decode, TOOL_NAMES.wire, edit=_edit)
    return _SentMessage(message, payload if has_field(payload, "content") else None)


def _edit(payload: Any, message: Message) -> Any | None:
    """Return the payload of a reply with the message's calls, and without media that were removed.

    Its thought signatures stay.
    """
    content = field(payload, "content")
    parts = write_calls(parts_of(content), message.tool_calls, _edit_call, _is_call)
    if parts is None or field(payload, "share") is not None:
        return None
    copy = {**payload, "ids": [call.id for call in message.tool_calls]}
    if not message.media and any(map(_has_media, parts)):
        parts = _without_media(parts, message.content)
    return {**copy, "content": {**content, "parts": parts}}


def _is_call(part: Any) -> bool:
    return has_field(part, "functionCall")


def _edit_call(part: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    sent = field(part, "functionCall")
    if json_text(field(sent, "args")) == call.arguments:
        return part
    key = next(key for key in ("functionCall", "function_call") if key in part)
    return {**part, key: {**sent, "args": arguments_as_object(call.arguments)}}


def _has_media(part: Any) -> bool:
    return has_field(part, "inlineData") or has_field(part, "fileData")


def _without_media(parts: list[Any], text: str) -> list[Any]:
    """Return the parts without media and with another text, which comes before the calls."""
    texts = [part for part in parts if "text" in part and field(part, "thought") is not True]
    rest = [part for part in parts if not _has_media(part) and part not in texts]
    place = next((n for n, part in enumerate(rest) if _is_call(part)), len(rest))
    first = texts[0] if texts else {}
    return [*rest[:place], {**first, "text": text}, *rest[place:]]


def _decode(payload: Any) -> Message | None:
    if has_field(payload, "content"):
        return read_message(payload)
    instruction = field(payload, "instruction")
    if instruction is None or not text_of(payload, "key"):
        return None
    return Message("system", read_text(parts_of(instruction), between="\n"))


@attrs.define
class _ContentWriter:
    """The contents written so far, and what the next content depends on."""

    nests_media: bool
    """Whether media from tools are sent as parts of their results."""
    may_continue: bool
    """Whether the model continues a model content, so that none has to be a request behind it."""
    contents: list[Any] = attrs.field(factory=list)
    _calls: "list[_SentCall]" = attrs.field(factory=list)
    """The calls in the latest run of model contents."""
    _used_ids: set[str] = attrs.field(factory=set)
    _open_share: Any = None
    """The original content whose results share was just written; its rest share may follow."""
    _rebuilt: bool = True
    """Whether the latest content was rebuilt."""
    _joined: list[Any] | None = None
    """The parts of the latest content, if others were joined to it: then the list is our own."""

    def add(self, entry: _SentMessage) -> None:
        """Write a message without results."""
        if entry.share == REST and self._open_share == entry.content:
            # The whole content again, in the place of the results that were written of it.
            self.contents[-1] = entry.content
            self._open_share = None
        elif entry.message.role == "assistant":
            self._add_model(entry)
        elif entry.payload is not None:
            self._append(_native_content(entry))
        elif entry.message.role != "system" or entry.message.content or entry.message.media:
            self._append(_user_content(_user_parts(entry.message)), rebuilt=True)

    def _add_model(self, entry: _SentMessage) -> None:
        if entry.payload is None:
            wire_ids = [self._wire_id(call.id) for call in entry.message.tool_calls]
            content = {"role": "model", "parts": _model_parts(entry.message, wire_ids)}
        else:
            content = _native_content(entry)
        if not self._follows_model():
            self._calls = []
        calls = list(_sent_calls(entry.message, content, len(self._calls)))
        self._calls += calls
        self._used_ids |= {call.wire_id for call in calls}
        if self._is_answer(entry):
            self._append(_user_content([{"text": _GO_ON}]))
        if self._joins(entry):
            if self._joined is None:
                before = self.contents[-1]
                self._joined = [*parts_of(before)]
                self.contents[-1] = {**before, "parts": self._joined}
            self._joined += parts_of(content)
            self._rebuilt = True
        # A content without parts is refused, unless it came from the wire.
        elif parts_of(content) or entry.payload is not None:
            self._append(content, rebuilt=entry.payload is None)

    def _is_answer(self, entry: _SentMessage) -> bool:
        """Return whether a model content answers a request that ended with the one before it."""
        # Such a request ended with a neutral one of the user's, which stays where it was. Parts of
        # one turn from elsewhere are joined instead.
        if self.may_continue or not self._follows_model() or field(entry.payload, "after_model"):
            return False
        if self._rebuilt and entry.payload is None:
            return False
        return not any(map(_is_call, parts_of(self.contents[-1])))

    def _joins(self, entry: _SentMessage) -> bool:
        """Return whether a model content has to be merged with the content before it."""
        # What was accepted directly after another content may not be after a rebuilt one.
        came_so = bool(field(entry.payload, "after_model")) and not self._rebuilt
        return self._follows_model() and not came_so

    def _follows_model(self) -> bool:
        return bool(self.contents) and text_of(self.contents[-1], "role") == "model"

    def add_results(self, group: list[_SentMessage]) -> None:
        """Write the results of one turn, either unchanged or all in one content."""
        if all(entry.payload is not None for entry in group):
            for entry in group:
                self._append(_native_content(entry))
            last = group[-1]
            self._open_share = last.content if last.share == RESULTS else None
            return
        # Without ids, Gemini matches results to calls by their order.
        parts = sorted(self._result_parts(group), key=lambda pair: pair[0])
        if parts:
            self._append(_user_content([part for _, part in parts]), rebuilt=True)
        anew = [entry.message for entry in group if entry.payload is None]
        media = [
            {"text": replace_surrogates(message.content)} for message in anew if message.content
        ]
        for message in anew:
            media += _media_parts(self._after_results(message))
        if media:
            self._append(_user_content(media), rebuilt=True)

    def _after_results(self, message: Message) -> list[Media]:
        media = [part for result in message.tool_results for part in self._nested(result)]
        return [part for part in message.all_media if part not in media]

    def _nested(self, result: ToolResult) -> list[Media]:
        """Return the media that are sent as parts of their result."""
        media = result.media if self.nests_media else ()
        return [part for part in media if part.data and part.media_type in _IN_RESULTS]

    def _result_parts(self, group: list[_SentMessage]) -> Iterator[tuple[int, Any]]:
        """Yield each result's part with the position of its call."""
        # The first call of an id is answered first.
        waiting: dict[str, list[_SentCall]] = {}
        for call in reversed(self._calls):
            waiting.setdefault(call.call_id, []).append(call)
        for entry in group:
            # Of a content that also holds words of the user, only the share with results belongs
            # here.
            native = [] if entry.payload is None else shared_parts(entry.payload)
            for number, result in enumerate(entry.message.tool_results):
                calls = waiting.get(result.call_id)
                answered = calls.pop() if calls else None
                # `encode` leaves nothing out: a result without a call goes last.
                place = len(self._calls) if answered is None else answered.place
                answer = None if native else _answer_part(result, answered, self._nested(result))
                yield place, native[number] if answer is None else answer

    def _wire_id(self, call_id: str) -> str:
        """Return the id to send; empty if the API gave none or the id is already used."""
        if is_made_up(call_id) or call_id in self._used_ids:
            return ""
        self._used_ids.add(call_id)
        return call_id

    def _append(self, content: Any, *, rebuilt: bool = False) -> None:
        self.contents.append(content)
        self._open_share, self._rebuilt, self._joined = None, rebuilt, None


def _is_blank(call: ToolCall) -> bool:
    return is_blank_arguments(call.arguments)


def _native_content(entry: _SentMessage) -> Any:
    """Return the original content, or the message's share of it."""
    if any(map(_is_blank, entry.message.tool_calls)):
        return {**entry.content, "parts": [*map(_with_args, parts_of(entry.content))]}
    if entry.share is None:
        return entry.content
    return {**entry.content, "parts": shared_parts(entry.payload)}


@attrs.frozen
class _SentCall:
    """A call as it was sent."""

    place: int
    call_id: str
    wire_id: str
    name: str


def _sent_calls(message: Message, content: Any, first: int) -> Iterator[_SentCall]:
    calls = [
        call for part in parts_of(content) if (call := field(part, "functionCall")) is not None
    ]
    for place, (call, wire) in enumerate(zip(message.tool_calls, calls, strict=False), first):
        yield _SentCall(place, call.id, text_of(wire, "id"), text_of(wire, "name"))


def _answer_part(result: ToolResult, call: _SentCall | None, media: Sequence[Media]) -> Any:
    if call is None:
        wire_id = "" if is_made_up(result.call_id) else result.call_id
        part = _result_part(result, wire_id, TOOL_NAMES.wire(result.name))
    else:
        part = _result_part(result, call.wire_id, call.name or TOOL_NAMES.wire(result.name))
    if media:
        part["functionResponse"]["parts"] = _media_parts(media)
    return part


def _with_args(part: Any) -> Any:
    """Return a part without the blank text that a gateway may have in the place of the object."""
    call = field(part, "functionCall")
    if not isinstance(field(call, "args"), str):
        return part
    key = next(key for key in ("functionCall", "function_call") if key in part)
    return {**part, key: with_arguments(call, "args", {})}


def _user_content(parts: list[Any]) -> dict[str, Any]:
    return {"role": "user", "parts": parts}


def _user_parts(message: Message) -> list[dict[str, Any]]:
    """Return the parts for a user message, or for a system message within a conversation."""
    text = replace_surrogates(message.content)
    if message.role == "system":
        text = f"<system>\n{text}\n</system>" if text else ""
    return [*_text_parts(text), *_media_parts(message.media)] or _text_parts(_EMPTY)


def _text_parts(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text else []


def _media_parts(media: Sequence[Media]) -> list[dict[str, Any]]:
    """Return the parts for media: their bytes or their URLs.

    >>> _media_parts([Media("image/png", url="gs://b/a.png")])
    [{'fileData': {'mimeType': 'image/png', 'fileUri': 'gs://b/a.png'}}]
    """
    return list(map(_media_part, media))


def _media_part(media: Media) -> dict[str, Any]:
    kind = {"mimeType": media.media_type or "application/octet-stream"}
    # A data URL is not a file that Google could fetch.
    address = read_data_url(media.url)
    if data := media.data or (address and address[1]):
        return {"inlineData": {**kind, "data": to_base64(data)}}
    if address is not None or not media.url:
        return {"text": media_note(Media(media.media_type))}
    return {"fileData": {**kind, "fileUri": replace_surrogates(media.url)}}


def _model_parts(message: Message, wire_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the model's text and calls as parts. `wire_ids` has each call's id, or ''."""
    calls = [
        _call_part(call, wire_id)
        for call, wire_id in zip(message.tool_calls, wire_ids, strict=True)
    ]
    if calls:
        # Only the first of parallel calls has a signature.
        calls[0]["thoughtSignature"] = _UNSIGNED
    return [*_text_parts(replace_surrogates(message.content)), *_media_parts(message.media), *calls]


def _call_part(call: ToolCall, wire_id: str) -> dict[str, Any]:
    """Return the part for one call, without a signature.

    >>> _call_part(ToolCall("c1", "read", '{"path": "a.py"}'), "")
    {'functionCall': {'name': 'read', 'args': {'path': 'a.py'}}}
    """
    id_field = {"id": replace_surrogates(wire_id)} if wire_id else {}
    name, arguments = TOOL_NAMES.wire(call.name), arguments_as_object(call.arguments)
    return {"functionCall": {**id_field, "name": name, "args": arguments}}


def _result_part(result: ToolResult, wire_id: str, name: str) -> dict[str, Any]:
    """Return the part for one result, with the id and the name that its call was sent with.

    >>> _result_part(ToolResult("c1", "read", "text", error="gone"), "", "read")
    {'functionResponse': {'name': 'read', 'response': {'output': 'text', 'error': 'gone'}}}
    """
    id_field = {"id": replace_surrogates(wire_id)} if wire_id else {}
    said = "\n".join(text for text in (result.output, result.notice) if text)
    response = {"output": replace_surrogates(said)} if said or result.error is None else {}
    if result.error is not None:
        # An empty error would be read as none (see `_result` in `_decoding`).
        response["error"] = replace_surrogates(result.error.message) or "the tool failed"
    return {"functionResponse": {**id_field, "name": name, "response": response}}


def _instruction(system_prompt: str, messages: Sequence[Message]) -> dict[str, Any]:
    """Return the system instruction, with one part for the prompt and one for each message."""
    if len(messages) == 1 and not system_prompt:
        payload = native_payload(messages[0], NAME, _decode)
        if payload is not None and has_field(payload, "instruction"):
            return {payload["key"]: payload["instruction"]}
    texts = [system_prompt, *map(text_with_media, messages)]
    parts = [{"text": text} for text in texts if text]
    return {"systemInstruction": {"parts": parts}} if parts else {}


def _begun_by_user(messages: Sequence[Message], model: str) -> list[Any]:
    contents = _encode(messages, model)
    if not contents or (text_of(contents[0], "role") == "model" and not _came_first(messages[0])):
        contents = [_user_content([{"text": _GO_ON}]), *contents]
    if SIGNING.search(model):
        contents = list(map(_signed, contents))
    if WITHOUT_PREFILL.search(model) and text_of(contents[-1], "role") == "model":
        contents = [*contents, _user_content([{"text": _GO_ON}])]
    return contents


def _signed(content: Any) -> Any:
    """Return a model content whose first call has a signature, which earlier models did not give.

    Of parallel calls, the model signs only the first one.
    """
    parts = parts_of(content)
    place = next((place for place, part in enumerate(parts) if _is_call(part)), None)
    if place is None or text_of(parts[place], "thoughtSignature"):
        return content
    copy = {**parts[place], "thoughtSignature": _UNSIGNED}
    return {**content, "parts": [*parts[:place], copy, *parts[place + 1 :]]}


def _came_first(message: Message) -> bool:
    native = message.native
    return native is not None and native.provider == NAME and bool(field(native.payload, "first"))
