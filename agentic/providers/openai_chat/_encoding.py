"""Encode messages and tools for the wire, one by one.

OpenAI accepts any text as the arguments of a call, but vLLM and llama.cpp parse the arguments in
the history, and reject the whole conversation if one is not a JSON object:
https://github.com/vllm-project/vllm/issues/43995, https://github.com/ggml-org/llama.cpp/issues/25510.
"""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
    arguments_as_text,
    at,
    items_at,
    native_payload,
    parse_object,
    place_record,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._json import (
    has_object,
    is_blank_arguments,
    with_arguments,
    with_object_text,
)
from agentic.providers.kit._media import results_with_content, text_with_notes
from agentic.providers.kit._messages import function_tools, is_untouched, write_calls
from agentic.providers.openai_chat._decoding import (
    MESSAGES,
    NAME,
    custom_of,
    decode_message,
    legacy_of,
    media_of,
    messages_of,
    part_of,
    read_call,
    without_bound_reasoning,
)
from agentic.tools import ToolDefinition

MAX_ID_CHARS = 40
"""https://github.com/camel-ai/camel/issues/2215 quotes the error for a longer id."""
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://platform.openai.com/docs/api-reference/chat/create (2026-11)."""
_FROM_TOOLS = "The tools also gave:"
_REASONING = (
    *("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque"),
    *("reasoning_details", "thinking_blocks"),
)

_VISIBLE = ("reasoning_content", "reasoning_text")
"""Where servers have the text of the reasoning that do not have it in `reasoning`."""


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Why is the build red?")])
    [{'role': 'user', 'content': 'Why is the build red?'}]
    """
    return encode_placed(place_record(messages))


def encode_placed(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages on the wire, each in its role and at its place."""
    # Reserved ahead, so that an id made for an early call is not the own id of a later one.
    own = {call.id for message in messages for call in message.tool_calls}
    writer = _MessageWriter(UniqueIds(accept=is_call_id, stem=_id_stem, first=1, reserved=own))
    for message in messages:
        # An untouched message costs a microsecond: see `write_as_it_came`.
        if not (is_untouched(message, NAME) and writer.write_as_it_came(message)):
            writer.write(message)
    writer.write_tool_media()
    return writer.wire


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["function"]["name"]
    'now'
    """
    return function_tools(tools, TOOL_NAMES.wire)


def is_call_id(call_id: str) -> bool:
    """Return whether OpenAI accepts the id of a call."""
    return 0 < len(call_id) <= MAX_ID_CHARS and replace_surrogates(call_id) == call_id


def _id_stem(call_id: str) -> str:
    return str(replace_surrogates(call_id))[:30] or "call"


def with_objects_on_the_wire(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire message with JSON objects as the arguments of its calls.

    All other fields are unchanged.

    >>> call = {"name": "read", "arguments": "{oops"}
    >>> with_objects_on_the_wire({"role": "assistant", "function_call": call})["function_call"]
    {'name': 'read', 'arguments': '{"unparsed_arguments": "{oops"}'}
    """
    return _with_functions(wire, with_object_text)


def _with_functions(wire: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the wire message with `change` applied to the `function` of each of its calls."""
    changed: dict[str, Any] = dict(wire)
    if messages := messages_of(wire):
        changed[MESSAGES] = [_with_functions(each, change) for each in messages]
    if legacy := legacy_of(wire):
        changed["function_call"] = change(legacy)
    if calls := items_at(wire, "tool_calls"):
        changed["tool_calls"] = [
            {**call, "function": change(call["function"])}
            if isinstance(at(call, "function"), dict) and custom_of(call) is None
            else call
            for call in calls
        ]
    return changed


def sendable_payload(message: Message) -> Any:
    """Return the payload if it may be sent, as it came or as `decode_response` fixed it."""
    if not all(map(has_object, message.tool_calls)):
        whole = _native(message)
        if whole is not None:
            return whole
        # `decode_response` rewrote the arguments in the payload only, so the message has to be
        # compared with what it would say with them. Evolved, not replaced: that would drop the
        # payload.
        calls = [
            call
            if has_object(call)
            else attrs.evolve(call, arguments=arguments_as_text(call.arguments))
            for call in message.tool_calls
        ]
        message = attrs.evolve(message, tool_calls=calls)
    return _native(message)


def _native(message: Message) -> Any:
    return native_payload(
        message, NAME, decode_message, TOOL_NAMES.wire, without_bound_reasoning, edit=_edit
    )


def _edit(payload: Any, message: Message) -> Any | None:
    """Return a copy of a reply with the message's calls, and without media that were removed."""
    calls = write_calls(items_at(payload, "tool_calls"), message.tool_calls, _edit_call)
    if calls is None or legacy_of(payload) is not None:
        return None
    edited = {**payload, "tool_calls": calls} if calls else payload
    content = at(payload, "content")
    has_media = "images" in payload or (isinstance(content, list) and media_of(content))
    if message.media or not has_media:
        return edited
    # Mistral has the thinking among the parts.
    thoughts = [part for part in items_at(content) if at(part, "thinking")]
    text = [{"type": "text", "text": message.content}] if thoughts else message.content
    rest = {key: value for key, value in edited.items() if key != "images"}
    return {**rest, "content": [*thoughts, *text] if thoughts else text}


def _edit_call(wire: dict[str, Any], call: ToolCall) -> Any:
    edited = wire if text_at(wire, "id") == call.id else {**wire, "id": call.id}
    if read_call(wire).arguments == call.arguments:
        return edited
    custom = custom_of(wire)
    if custom is None:
        return {**edited, "function": {**wire["function"], "arguments": call.arguments}}
    text = text_at(parse_object(call.arguments), "input")
    return {**edited, "custom": {**custom, "input": text}}


@attrs.define
class _MessageWriter:
    """Writes wire messages, and tracks the ids of the last assistant message's calls in them."""

    ids: UniqueIds
    wire: list[dict[str, Any]] = attrs.field(factory=list)
    asked: dict[str, deque[str]] = attrs.field(factory=dict)
    """The unanswered calls of the last assistant message: from our id to the wire ids, in order."""
    legacy: str = ""
    """The name of the last call if it was written in the legacy format of 2023, which its answer
    then uses."""
    media: list[Media] = attrs.field(factory=list)
    keeps_ids: bool = True
    """Whether the calls of the last assistant message were written under their own ids."""
    as_they_came: list[Message] = attrs.field(factory=list)
    """Messages written whose calls and answers are not recorded in `asked` and `ids` yet."""

    def write_as_it_came(self, message: Message) -> bool:
        """Write an untouched message; return False if earlier messages may require changes in it.

        Calls and answers are recorded later, and only if a message follows that needs them: a
        conversation that is untouched as a whole costs one microsecond per message.
        """
        payload: Any = message.native.payload if message.native else None
        role = message.role
        if role == "tool":
            is_answer = self.keeps_ids and payload["role"] == "tool"
            # Any other id may hold half a character, which `write` replaces.
            if not (is_answer and message.tool_results[0].call_id.isascii()):
                return False
        elif payload is None:
            return False
        else:
            if role == "assistant":
                # Audio is sent back by its id alone, a legacy call decides how its answer is
                # written, and a reply may be several messages. Blank arguments are filled in.
                if "audio" in payload or "function_call" in payload or MESSAGES in payload:
                    return False
                for call in message.tool_calls:
                    if not call.arguments.strip():
                        return False
                self.keeps_ids = True
            if self.media:
                self.write_tool_media()
        self.wire.append(payload)
        self.as_they_came.append(message)
        return True

    def _catch_up(self) -> None:
        for message in self.as_they_came:
            if message.role == "assistant":
                self._note_calls(message)
            for result in message.tool_results:
                self._answered(result.call_id)
        self.as_they_came = []

    def _note_calls(self, message: Message) -> None:
        self.asked, self.legacy = {}, ""
        for call in message.tool_calls:
            self.ids.used.add(call.id)
            self.asked.setdefault(call.id, deque()).append(call.id)

    def write(self, message: Message) -> None:
        self._catch_up()
        payload = sendable_payload(message)
        if message.role == "tool":
            self._write_results(message, payload)
            return
        self.write_tool_media()
        if message.role == "assistant":
            self._write_assistant(message, payload)
        elif payload is not None:
            self.wire.append(payload)
        elif message.content or message.media:
            content = _content(message.content, message.media, message.role)
            self.wire.append({"role": message.role, "content": content})

    def write_tool_media(self) -> None:
        """Write media from tools as a user message after the round: tools send only text."""
        if self.media:
            content = _content(_FROM_TOOLS, self.media, "user")
            self.wire.append({"role": "user", "content": content})
        self.media = []

    def _write_assistant(self, message: Message, payload: Any) -> None:
        self.keeps_ids = False
        if payload is not None:
            self._note_calls(message)
            self.legacy = text_at(legacy_of(payload), "name")
            if _has_blank_call(message):
                payload = _with_functions(payload, with_arguments)
            self.wire += messages_of(payload) or [_with_audio_by_id(payload)]
            return
        self.asked, self.legacy = {}, ""
        # All servers accept ""; Ollama and LM Studio, among others, reject null:
        # https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261
        wire = {"role": "assistant", "content": _content(message.content, message.media, "")}
        wire |= _own_reasoning(message)
        if message.tool_calls:
            wire["tool_calls"] = [self._call(call) for call in message.tool_calls]
        if wire["content"] or message.tool_calls:
            self.wire.append(wire)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        fresh = self.ids.take(call.id)
        self.asked.setdefault(call.id, deque()).append(fresh)
        function = {
            "name": TOOL_NAMES.wire(call.name),
            "arguments": arguments_as_text(call.arguments),
        }
        return {"id": fresh, "type": "function", "function": function}

    def _write_results(self, message: Message, payload: Any) -> None:
        is_legacy = text_at(payload, "role") == "function"
        if is_legacy and (self.legacy or not self.asked.get(message.tool_results[0].call_id)):
            self.wire.append(payload)
            return
        if payload is None or is_legacy:
            self.media += message.all_media
            self.wire += [self._result(result) for result in results_with_content(message)]
            return
        given = message.tool_results[0].call_id
        fresh = self._answered(given)
        self.wire.append(payload if fresh == given else {**payload, "tool_call_id": fresh})

    def _result(self, result: ToolResult) -> dict[str, Any]:
        text, call_id = replace_surrogates(result.text), self._answered(result.call_id)
        if self.legacy:
            return {"role": "function", "name": self.legacy, "content": text}
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def _answered(self, call_id: str) -> str:
        waiting = self.asked.get(call_id)
        return waiting.popleft() if waiting else str(replace_surrogates(call_id))


def _has_blank_call(message: Message) -> bool:
    return any(is_blank_arguments(call.arguments) for call in message.tool_calls)


def _own_reasoning(message: Message) -> dict[str, Any]:
    """Return the reasoning fields of the original payload for a message that is rebuilt.

    In thinking mode, Kimi and DeepSeek reject a conversation whose calls have lost their reasoning:
    https://github.com/cloudwego/eino-ext/issues/700, https://github.com/mastra-ai/mastra/issues/12592,
    https://github.com/MoonshotAI/kimi-agent-sdk/issues/169,
    https://github.com/QwenLM/qwen-code/issues/3724. If the reasoning was edited, the edited text is
    returned.
    """
    origin = message.origin
    payload = origin.payload if origin and origin.provider == NAME else None
    if origin and origin.without_reasoning:
        payload = without_bound_reasoning(payload)
    if not isinstance(payload, dict):
        return {}
    kept = {key: payload[key] for key in _REASONING if payload.get(key) is not None}
    if not kept or decode_message(payload).reasoning == message.reasoning:
        return kept
    field = next((name for name in kept if name in _VISIBLE), "reasoning")
    return {field: message.reasoning} if message.reasoning else {}


def _content(text: str, media: Sequence[Media], role: str) -> Any:
    """Return the text, or a list of parts if there are media that the role may send."""
    parts = [(each, part_of(each) if role == "user" else None) for each in media]
    notes = text_with_notes(text, [each for each, part in parts if part is None])
    text = replace_surrogates(notes)
    sent = [part for _, part in parts if part is not None]
    if not sent:
        return text
    return [{"type": "text", "text": text}, *sent] if text else sent


def _with_audio_by_id(payload: Any) -> Any:
    """Replace the model's audio by its id, as the API expects; the sound itself is not sent.

    https://platform.openai.com/docs/guides/audio (multi-turn conversations, 2026-11)
    """
    audio = payload.get("audio")
    if not isinstance(audio, dict) or not audio.get("id") or len(audio) == 1:
        return payload
    return {**payload, "audio": {"id": audio["id"]}}
