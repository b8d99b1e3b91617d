"""Encode messages and tools for the wire.

OpenAI accepts any text as the arguments of a call, but vLLM and llama.cpp parse the arguments in
the history, and reject the whole conversation if one is not a JSON object:
https://github.com/vllm-project/vllm/issues/43995, https://github.com/ggml-org/llama.cpp/issues/25510.
"""

import re
from collections import deque
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from agentic.messages import Media, Message, ToolCall, ToolResult, close_open_rounds
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
    arguments_as_text,
    at,
    items_at,
    native_payload,
    parse_object,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._messages import (
    is_untouched,
    join_runs,
    media_note,
    merge_replies,
    results_with_content,
)
from agentic.providers.openai_chat._decoding import NAME, decode_message, legacy_of, part_of
from agentic.tools import ToolDefinition

if TYPE_CHECKING:
    from agentic.providers.validators import Violation

__all__ = [
    "MAX_ID_CHARS",
    "TOOL_NAMES",
    "call_ids",
    "encode",
    "encode_request",
    "encode_tools",
    "has_object",
    "validate",
    "with_objects_on_the_wire",
]

MAX_ID_CHARS = 40
"""https://github.com/camel-ai/camel/issues/2215 quotes the error for a longer id."""
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://platform.openai.com/docs/api-reference/chat/create (2026-11)."""
_TEXTS = {"content", "reasoning_content", "reasoning", "refusal"}
_GO_ON = "Go on."
_FROM_TOOLS = "The tools also gave:"
_REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Why is the build red?")])
    [{'role': 'user', 'content': 'Why is the build red?'}]
    """
    writer = _MessageWriter(
        # Reserved ahead, so that an id made for an early call is not the own id of a later one.
        call_ids({call.id for message in messages for call in message.tool_calls})
    )
    for message in messages:
        # An untouched message costs a microsecond: see `write_as_it_came`.
        if not (is_untouched(message, NAME) and writer.write_as_it_came(message)):
            writer.write(message)
    writer.write_tool_media()
    return writer.wire


def encode_request(
    messages: Sequence[Message], *, system_prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. Assistant messages
    whose calls are answered together are merged.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    closed = _join_replies(close_open_rounds(list(messages)))
    wire = [each for each in encode(closed) if not _says_nothing(each)]
    # What the caller sent without a user message before may be sent so again.
    untouched = all(message.native and message.native.provider == NAME for message in messages)
    if not (wire and untouched) and not any(text_at(each, "role") == "user" for each in wire):
        # The chat templates of local models raise if there is no user message:
        # https://github.com/vllm-project/vllm/issues/36432
        wire.insert(_first_other(wire), {"role": "user", "content": _GO_ON})
    if system_prompt:
        wire.insert(0, {"role": "system", "content": system_prompt})
    request = {"messages": replace_surrogates(wire)}
    return {**request, "tools": encode_tools(tools)} if tools else request


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["function"]["name"]
    'now'
    """
    return [
        {
            "type": "function",
            "function": {
                "name": TOOL_NAMES.wire(tool.name),
                "description": replace_surrogates(tool.description),
                "parameters": replace_surrogates(dict(tool.parameters)),
            },
        }
        for tool in tools
    ]


def validate(
    request: Mapping[str, Any], /, *, dialect: Literal["openai", "mistral", "lax"] | None = None
) -> "list[Violation]":
    """Return the reasons why the provider would reject the request's structure, if any.

    If `dialect` is None, the model's name decides whose rules apply: OpenAI's (also if there is no
    name), Mistral's, or only those that all servers share (`lax`).

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']
    """
    from agentic.providers.validators import openai_chat  # noqa: PLC0415  loaded at the first call

    return openai_chat.validate(request, dialect=dialect)


def call_ids(reserved: Container[str]) -> UniqueIds:
    """Return the generator of a request's call ids, which never generates a reserved id.

    >>> ids = call_ids({"call_1"})
    >>> ids.take("call_1"), ids.take("call_1"), ids.take("")
    ('call_1', 'call_1_1', 'call_2')
    """
    return UniqueIds(accept=_is_id, stem=_id_stem, first=1, reserved=reserved)


def _is_id(call_id: str) -> bool:
    return 0 < len(call_id) <= MAX_ID_CHARS and replace_surrogates(call_id) == call_id


def _id_stem(call_id: str) -> str:
    return str(replace_surrogates(call_id))[:30] or "call"


def has_object(call: ToolCall) -> bool:
    """Return whether a call's arguments are a JSON object, or blank, which means no arguments.

    >>> has_object(ToolCall("c1", "read", "{oops")), has_object(ToolCall("c1", "read", ""))
    (False, True)
    """
    return parse_object(call.arguments) is not None


def _with_objects(message: Message) -> Message:
    """Return the message with arguments that can be sent; its payload does not change."""
    calls = [
        call
        if has_object(call)
        else attrs.evolve(call, arguments=arguments_as_text(call.arguments))
        for call in message.tool_calls
    ]
    return attrs.evolve(message, tool_calls=calls)


def with_objects_on_the_wire(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire message with JSON objects as the arguments of its calls.

    All other fields are unchanged.

    >>> call = {"name": "read", "arguments": "{oops"}
    >>> with_objects_on_the_wire({"role": "assistant", "function_call": call})["function_call"]
    {'name': 'read', 'arguments': '{"unparsed_arguments": "{oops"}'}
    """
    changed: dict[str, Any] = dict(wire)
    if legacy := legacy_of(wire):
        changed["function_call"] = _with_object(legacy)
    if calls := items_at(wire, "tool_calls"):
        changed["tool_calls"] = [
            {**call, "function": _with_object(call["function"])}
            if isinstance(at(call, "function"), dict)
            else call
            for call in calls
        ]
    return changed


def _with_object(function: Mapping[str, Any]) -> dict[str, Any]:
    given = function.get("arguments")
    if not isinstance(given, str) or parse_object(given) is not None:
        return dict(function)
    return {**function, "arguments": arguments_as_text(given)}


def _sendable_payload(message: Message) -> Any:
    """Return the payload if it may be sent, as it came or as `decode_response` fixed it."""
    whole = native_payload(message, NAME, decode_message, TOOL_NAMES.wire)
    # `decode_response` rewrote the arguments in the payload only, so the message has to be compared
    # with what it would say with them.
    if whole is None and message.tool_calls and not all(map(has_object, message.tool_calls)):
        return native_payload(_with_objects(message), NAME, decode_message, TOOL_NAMES.wire)
    return whole


def _join_replies(messages: list[Message]) -> list[Message]:
    """Return a closed conversation with one assistant message per round.

    Results have to follow the message that made the calls (see `validate`), so the calls of two
    messages cannot both be answered after the second one.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> calls = [Message("assistant", tool_calls=[ToolCall(name, "run")]) for name in ("a", "b")]
    >>> results = Message("tool", tool_results=[ToolResult("a", "run"), ToolResult("b", "run")])
    >>> [len(message.tool_calls) for message in _join_replies([*calls, results])]
    [2, 0]
    """
    return join_runs(messages, _join)


def _join(replies: Sequence[Message]) -> list[Message]:
    payloads = [_sendable_payload(reply) for reply in replies]
    calls = [call for reply in replies for call in reply.tool_calls]
    if all(map(_has_separate_calls, payloads)) and len({call.id for call in calls}) == len(calls):
        return [decode_message(_join_payloads(payloads))]
    return [merge_replies(replies)]


def _has_separate_calls(payload: Any) -> bool:
    return isinstance(payload, dict) and legacy_of(payload) is None


def _join_payloads(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join payloads: texts and lists are joined; of any other field the first value is kept."""
    joined: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            before = joined.get(key)
            # The first value that says something: of an id, a time or a model there is only one.
            if not before:
                joined[key] = value
            # A text beside a list of parts becomes a part.
            elif isinstance(before, list) or isinstance(value, list):
                joined[key] = [*_parts(before), *_parts(value)]
            elif key in _TEXTS and value:
                joined[key] = f"{before}\n\n{value}"
    return joined


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [{"type": "text", "text": value}]
    return items_at({"": value}, "")


def _says_nothing(wire: Any) -> bool:
    """Return whether a reply is empty: null content without calls is rejected in a request."""
    empty = isinstance(wire, dict) and not any(
        value for key, value in wire.items() if key != "role"
    )
    return empty and wire.get("role") == "assistant" and wire.get("content") is None


def _first_other(wire: list[dict[str, Any]]) -> int:
    others = (i for i, each in enumerate(wire) if text_at(each, "role") != "system")
    return next(others, len(wire))


@attrs.define
class _MessageWriter:
    """Writes wire messages, and tracks the ids of the last assistant message's calls in them."""

    ids: UniqueIds
    wire: list[dict[str, Any]] = attrs.field(factory=list)
    asked: dict[str, deque[str]] = attrs.field(factory=dict)
    """The unanswered calls of the last assistant message: from our id to the wire ids, in order."""
    legacy: bool = False
    """Whether the last call was written in the legacy format of 2023, which its answer then
    uses."""
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
                # Audio is sent back by its id alone, and a legacy call decides how its answer is
                # written.
                if "audio" in payload or "function_call" in payload:
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
        self.asked, self.legacy = {}, False
        for call in message.tool_calls:
            self.ids.used.add(call.id)
            self.asked.setdefault(call.id, deque()).append(call.id)

    def write(self, message: Message) -> None:
        self._catch_up()
        payload = _sendable_payload(message)
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
            self.legacy = legacy_of(payload) is not None
            self.wire.append(_with_audio_by_id(payload))
            return
        self.asked, self.legacy = {}, False
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
            return {"role": "function", "name": TOOL_NAMES.wire(result.name), "content": text}
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def _answered(self, call_id: str) -> str:
        waiting = self.asked.get(call_id)
        return waiting.popleft() if waiting else str(replace_surrogates(call_id))


def _own_reasoning(message: Message) -> dict[str, Any]:
    """Return the reasoning fields of the original payload for a message that is rebuilt.

    In thinking mode, Kimi and DeepSeek reject a conversation whose calls have lost their reasoning:
    https://github.com/cloudwego/eino-ext/issues/700, https://github.com/mastra-ai/mastra/issues/12592,
    https://github.com/MoonshotAI/kimi-agent-sdk/issues/169,
    https://github.com/QwenLM/qwen-code/issues/3724. If the reasoning was edited, the edited text is
    returned.
    """
    payload = message.native.payload if message.native and message.native.provider == NAME else None
    if not isinstance(payload, dict):
        return {}
    kept = {key: payload[key] for key in _REASONING if payload.get(key) is not None}
    if not kept or decode_message(payload).reasoning == message.reasoning:
        return kept
    field = "reasoning_content" if "reasoning_content" in kept else "reasoning"
    return {field: message.reasoning} if message.reasoning else {}


def _content(text: str, media: Sequence[Media], role: str) -> Any:
    """Return the text, or a list of parts if there are media that the role may send."""
    parts = [part_of(each) if role == "user" else None for each in media]
    notes = [media_note(each) for each, part in zip(media, parts, strict=True) if part is None]
    text = replace_surrogates("\n".join([text] * bool(text) + notes))
    sent = [part for part in parts if part is not None]
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
