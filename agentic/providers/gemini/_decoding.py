"""Decode the API's contents into messages.

A content is one message, unless it has both results and other parts: then the results are a tool
message, and the rest is a message after it. Each message has the whole content in its native
payload, so that together they encode to that content again.

Text parts are the message's `content`, and text marked `thought` is its `reasoning`. A functionCall
is a tool call and a functionResponse a tool result. inlineData and fileData are media. All other
parts (executed code, a server's own tool calls, future kinds) have no typed field: they are kept in
the native payload.

The Gemini API gives some calls an id, and Vertex AI gives them none; then a result belongs to a
call by name and order (https://ai.google.dev/api/caching#FunctionCall: "id", optional). Messages
need ids, so one is generated, `gemini-<16 hex digits>-<number>`. It is derived from the reply's
data, and is therefore the same each time. It is never sent: a call that came without an id is sent
back without one.

Fields of Google's JSON are read in either spelling, and the SDK's encoding of bytes is undone.

The API sends camelCase and also accepts snake_case (https://protobuf.dev/programming-guides/json/).
Clients send both, even within one request.

A complete reply is decoded into its message, its token usage and why it ended.

The first candidate is the reply; others are ignored. The response to a blocked prompt has no
candidate.

Usage: `promptTokenCount` includes cached tokens. `candidatesTokenCount` excludes thoughts, and
`promptTokenCount` excludes tool-use prompts
(https://ai.google.dev/api/generate-content#UsageMetadata and the totals of 110 recorded replies of
both APIs). A gateway that counts differently is recognized by `totalTokenCount`.
"""

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from agentic.loop import Decision
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._message import Role
from agentic.providers.kit import at, plain, text_at
from agentic.providers.kit._ids import CallMatcher
from agentic.providers.kit._json import json_text
from agentic.providers.kit._media import from_base64
from agentic.providers.kit._messages import (
    Decoded,
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)
from agentic.usage import StopReason, StopWords, Usage

# The keys of parts that are calls, that are results, and that are media.
CALLS = frozenset({"functionCall", "function_call"})
ANSWERS = frozenset({"functionResponse", "function_response"})
WITH_MEDIA = frozenset({"inlineData", "inline_data", "fileData", "file_data"})
FIRST_PROMPT = "initialPromptTokenCount"
"""Not on the wire: the prompt of the first of several requests that a reply took."""
CONTINUATION = "CONTINUATION"
"""The finish reason of a request that reached its limit in the middle of a reply, which goes on
after another request with the token that came with it (`FinishReason` in google-genai 3.6.1)."""
TO_STANDARD = str.maketrans("-_", "+/")
"""Translates base64 of the URL-safe alphabet to the standard one."""


@functools.cache
def _snake(name: str) -> str:
    return re.sub("([A-Z])", r"_\1", name).lower()


def field(data: Any, name: str) -> Any:
    """Return the value under the camelCase name, or under the same name in snake_case.

    >>> field({"function_call": {"name": "read"}}, "functionCall")
    {'name': 'read'}
    """
    if type(data) is not dict and not isinstance(data, Mapping):
        return None
    value = data.get(name)
    return value if value is not None else data.get(_snake(name))


def is_object(data: Any) -> bool:
    """Return whether data has fields."""
    # Checking for dict is ten times as fast as for Mapping.
    return type(data) is dict or isinstance(data, Mapping)


def has_field(data: Any, name: str) -> bool:
    """Return whether the field is present, whatever its value.

    >>> has_field({"text": ""}, "text"), has_field({}, "text")
    (True, False)
    """
    return field(data, name) is not None


def text_of(data: Any, name: str) -> str:
    """Return the string in a field; an empty one if there is anything else."""
    if type(data) is dict and type(value := data.get(name)) is str:
        return value
    value = field(data, name)
    return value if isinstance(value, str) else ""


def list_of(data: Any, name: str) -> list[Any]:
    """Return the list in a field; an empty one if there is anything else."""
    value = field(data, name)
    return value if isinstance(value, list) else []


def keys_of(parts: list[Any]) -> set[str]:
    """Return the keys of all parts, spelled as they are."""
    return {key for part in parts if is_object(part) for key in part}


def parts_of(content: Any) -> list[Any]:
    """Return a content's parts; a string or an object without `parts` is itself the only part.

    >>> parts_of("Hello."), parts_of({"text": "Hello."}), parts_of({"role": "model"})
    ([{'text': 'Hello.'}], [{'text': 'Hello.'}], [])
    """
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, list):
        return [part for item in _flat(content) for part in parts_of(item)]
    parts = field(content, "parts")
    if parts is not None:
        return parts if isinstance(parts, list) else []
    bare = is_object(content) and bool(content) and "role" not in content
    return [content] if bare else []


def _flat(items: list[Any]) -> Iterator[Any]:
    """Yield the items of nested lists, at any depth."""
    waiting = [iter(items)]
    while waiting:
        # The stack itself marks the end of an iterator: no item can be that object.
        item = next(waiting[-1], waiting)
        if item is waiting:
            waiting.pop()
        elif isinstance(item, list):
            waiting.append(iter(item))
        else:
            yield item


def response_of(response: Any) -> dict[str, Any]:
    """Return a response as plain data: from JSON, an SDK object, or the raw body inside one.

    The SDK drops fields that it does not know, unless `should_return_http_response` is set; then
    its object has the text of the body.
    """
    data = plain(response)
    body = text_at(data, "sdkHttpResponse", "body")
    if body and not has_field(data, "candidates"):
        data = _json(body)
    # JSON data is already spelled as the API sent it.
    elif not isinstance(response, Mapping):
        for candidate in list_of(data, "candidates"):
            _restore_bytes(field(candidate, "content"))
        _keep_first_prompt(response, data)
    return data if isinstance(data, dict) else {}


def _keep_first_prompt(response: Any, data: Any) -> None:
    """Write the size of the first prompt, which the SDK keeps outside the data, next to their sum.

    If a reply takes several requests, the SDK adds up their counts
    (`merge_continuation_responses` in google/genai/_extra_utils.py, 3.6.1).
    """
    counts = field(data, "usageMetadata")
    first = getattr(getattr(response, "usage_metadata", None), "initial_prompt_token_count", None)
    if isinstance(counts, dict) and isinstance(first, int):
        counts[FIRST_PROMPT] = first


def contents_of(contents: Any) -> list[Any]:
    """Return contents as a plain list; the SDK also accepts a single one without a list.

    >>> contents_of("Hello."), contents_of(None)
    (['Hello.'], [])
    """
    if isinstance(contents, str | Mapping) or hasattr(contents, "model_dump"):
        return [content_of(contents)]
    return [content_of(item) for item in contents] if isinstance(contents, Iterable) else []


def content_of(content: Any) -> Any:
    """Return a content, which may be JSON data or an SDK object, as plain data."""
    data = plain(content)
    if not (is_object(content) or isinstance(content, str)):
        _restore_bytes(data)
    return data


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _restore_bytes(content: Any) -> None:
    """Convert bytes to standard base64, as the API sends them: the SDK dumps the URL-safe form."""
    # https://github.com/googleapis/python-genai sets `ser_json_bytes="base64"`, for which pydantic
    # uses - and _ (https://pydantic.dev/docs/validation/latest/api/pydantic/config/).
    for part in list_of(content, "parts"):
        for holder, name in ((part, "thoughtSignature"), (field(part, "inlineData"), "data")):
            if text := text_of(holder, name):
                # In place: the data has just been dumped from an SDK object, so nobody else has it.
                holder[name] = text.translate(TO_STANDARD)


NAME = "gemini"
RESULTS, REST = "results", "rest"
"""The parts of a content that becomes two messages are split into these two shares."""
_ROLES: dict[str, Role] = {"model": "assistant", "system": "system"}
_OUTCOME = {"output", "error"}
_MADE_UP = re.compile(r"gemini-[0-9a-f]{16}-\d+")


def decode(contents: Iterable[Any], /) -> list[Message]:
    """Read a request's `contents`. A content with results and other parts becomes two messages.

    >>> [message.role for message in decode([{"role": "model", "parts": [{"text": "Hello."}]}])]
    ['assistant']
    """
    groups = IncrementalDecoder().read(contents_of(contents))
    return [message for each in groups for message in each.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of contents with the same result as `decode` on the whole list."""

    _calls: CallMatcher = attrs.field(factory=CallMatcher, init=False)

    def decode(self, contents: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        self._calls.rewind(start)
        before = content_of(contents[start - 1]) if start else None
        return self.read(map(content_of, contents[start:]), before)

    def read(self, contents: Iterable[Any], before: Any = None, /) -> list[Decoded]:
        """Read plain contents; `before` is the content that precedes them."""
        result = []
        role_before = None if before is None else text_of(before, "role")
        for content in contents:
            parts = parts_of(content)
            keys = keys_of(parts)
            role = text_of(content, "role")
            ids = self._ids(content, parts, keys, is_reply=role == "model")
            place = _place(role_before)
            payload = {"content": content, **({"ids": ids} if ids else {}), **place}
            messages = []
            for share in _shares(parts, keys):
                native = _native({**payload, "share": share} if share else payload)
                messages.append(_read(content, parts, keys, native, ids=ids, share=share))
            result.append(Decoded(1, tuple(messages)))
            role_before = role
        return result

    def _ids(
        self, content: Any, parts: list[Any], keys: AbstractSet[str], *, is_reply: bool
    ) -> list[str]:
        """Return the ids of a content's calls and results, in the order of its parts."""
        pairs = _calls_and_answers([] if keys.isdisjoint(CALLS | ANSWERS) else parts)
        # With ids of their own nothing has to be derived, and nothing is hashed.
        seed = "" if all(came_with for _, came_with, _ in pairs) else _seed(content, "")
        results = [name for is_call, _, name in pairs if not is_call]
        times = self._calls.begin(
            seed,
            is_reply=is_reply,
            has_calls=len(results) < len(pairs),
            has_only_results=0 < len(results) == len(parts),
        )
        # An agent may call the same tool in the same words twice.
        seed = _seed(content, str(times)) if seed and times > 1 else seed
        ids: list[str] = []
        calls: list[tuple[str, str]] = []
        for is_call, came_with, name in pairs:
            call_id = came_with or f"gemini-{seed}-{len(ids)}"
            if is_call:
                calls.append((call_id, name))
            ids.append(call_id if is_call else self._answered(came_with, name) or call_id)
        self._calls.waiting += calls
        return ids

    def _answered(self, wire_id: str, name: str) -> str:
        """Return the id of the call that a result answers: by id, or else by name and order."""
        by_id = self._calls.take(lambda call_id, _: call_id == wire_id)
        # Not where both have an id of their own: such a result has lost its call, and would take
        # the place of the one that this call has.
        return by_id or self._calls.take(
            lambda call_id, call_name: call_name == name and (not wire_id or is_made_up(call_id))
        )


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first.

    It may also be the arguments of the SDK's method, with the instruction in `config`.
    """
    data = plain(request)
    return [*_instructions(data), *decode(field(data, "contents"))]


def _native(payload: dict[str, Any]) -> ProviderPayload | None:
    # A plain string is the SDK's shorthand, which the REST body does not have.
    if not is_object(payload["content"]):
        return None
    return decoded_native(
        NAME, payload, joins_previous=payload.get("share") == REST, holds_reasoning=False
    )


def _place(role_before: str | None) -> dict[str, bool]:
    # Where a model content is not expected, the API accepted this one, and will do so again.
    if role_before is None:
        return {"first": True}
    return {"after_model": True} if role_before == "model" else {}


def _shares(parts: list[Any], keys: set[str]) -> list[str | None]:
    """Return the shares of a content, one for each of its messages."""
    if keys.isdisjoint(ANSWERS):
        return [None]
    # Results and the user's words next to them are two messages here, with two roles.
    answers = {has_field(part, "functionResponse") for part in parts}
    return [RESULTS, REST] if len(answers) > 1 else [None]


def read_message(payload: Any, native: ProviderPayload | None = None) -> Message:
    """Return the message that a native payload belongs to."""
    content, ids = field(payload, "content"), field(payload, "ids") or ()
    parts = parts_of(content)
    share = field(payload, "share")
    return _read(content, parts, keys_of(parts), native, ids=ids, share=share)


def _read(
    content: Any,
    every: list[Any],
    keys: set[str],
    native: ProviderPayload | None,
    *,
    ids: Iterable[str],
    share: str | None,
) -> Message:
    """Read a share of a content, given all the content's parts, their keys and their ids."""
    parts = _shared(every, share)
    results = [] if keys.isdisjoint(ANSWERS) else _read_results(every, iter(ids))
    media = [] if keys.isdisjoint(WITH_MEDIA) else _read_media(parts)
    if results and share != REST:
        return decoded_message("tool", "", native, tool_results=results, media=media)
    role = _ROLES.get(text_of(content, "role"), "user")
    model = role == "assistant"
    return decoded_message(
        role,
        # The model's parts are pieces of one text; a user's are texts of their own.
        read_text(parts, between="" if model else "\n"),
        native,
        reasoning=read_text(parts, thought=True) if "thought" in keys else "",
        tool_calls=_read_calls(every, iter(ids)) if model and not keys.isdisjoint(CALLS) else (),
        media=media,
    )


def shared_parts(payload: Any) -> list[Any]:
    """Return those parts of a payload's content that belong to the payload's message."""
    return _shared(parts_of(field(payload, "content")), field(payload, "share"))


def _shared(parts: list[Any], share: Any) -> list[Any]:
    if share is None:
        return parts
    return [part for part in parts if has_field(part, "functionResponse") is (share == RESULTS)]


def _instructions(request: Any) -> list[Message]:
    """Read the system instruction, which becomes a single leading message."""
    for holder in (request, field(request, "config")):
        for key in ("systemInstruction", "system_instruction"):
            value = holder.get(key) if isinstance(holder, Mapping) else None
            if value is not None:
                native = ProviderPayload(NAME, {"instruction": value, "key": key})
                text = read_text(parts_of(value), between="\n")
                return [decoded_message("system", text, native)]
    return []


def read_text(parts: list[Any], *, thought: bool = False, between: str = "") -> str:
    """Join the texts of the parts, either those that are thoughts or those that are not.

    >>> read_text([{"text": "Hm.", "thought": True}, {"text": "Yes."}])
    'Yes.'
    """
    matching = [part for part in parts if (field(part, "thought") is True) is thought]
    return between.join(text for part in matching if (text := text_of(part, "text")))


# Two loops: one shared with `_read_results` makes a decoded message cost a seventh more calls.
def _read_calls(parts: list[Any], ids: Iterator[str]) -> list[ToolCall]:
    """Read the calls among the parts. `ids` yields an id for each call and each result."""
    calls = []
    for part in parts:
        call = field(part, "functionCall")
        if call is not None:
            arguments = json_text(field(call, "args"))
            calls.append(decoded_call(next(ids, ""), text_of(call, "name"), arguments))
        elif has_field(part, "functionResponse"):
            next(ids, "")
    return calls


def _read_results(parts: list[Any], ids: Iterator[str]) -> list[ToolResult]:
    """Read the results among the parts. `ids` yields an id for each call and each result."""
    results = []
    for part in parts:
        answer = field(part, "functionResponse")
        if answer is not None:
            results.append(_result(next(ids, ""), answer))
        elif has_field(part, "functionCall"):
            next(ids, "")
    return results


def _result(call_id: str, answer: Any) -> ToolResult:
    response, name = field(answer, "response"), text_of(answer, "name")
    media = _read_media(list_of(answer, "parts"))
    # "output" has the output and "error" the error. An object with other keys is as a whole the
    # output: https://ai.google.dev/api/caching#FunctionResponse (2026-11).
    if not is_object(response) or not response or not set(response) <= _OUTCOME:
        return decoded_result(call_id, name, json_text(response) if response else "", None, media)
    output, problem = response.get("output"), response.get("error")
    return decoded_result(
        call_id,
        name,
        "" if output is None else json_text(output),
        None if problem in (None, "") else ToolError(json_text(problem)),
        media,
    )


def _read_media(parts: list[Any]) -> list[Media]:
    """Read images, audio and documents among the parts.

    >>> _read_media([{"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}])
    [Media(media_type='image/png', url='gs://b/a.png')]
    """
    media = []
    for part in parts:
        blob, file = field(part, "inlineData"), field(part, "fileData")
        if isinstance(blob, Mapping):
            media.append(Media(text_of(blob, "mimeType"), _bytes(text_of(blob, "data"))))
        elif isinstance(file, Mapping):
            media.append(Media(text_of(file, "mimeType"), url=text_of(file, "fileUri")))
    return media


def _bytes(text: str) -> bytes:
    # In either alphabet. Redacted data is invalid, and decodes to no bytes.
    return from_base64(text.translate(TO_STANDARD)) or b""


def is_made_up(call_id: str) -> bool:
    """Return whether an id was generated by this module.

    >>> is_made_up("gemini-0123456789abcdef-0"), is_made_up("call_1")
    (True, False)
    """
    return _MADE_UP.fullmatch(call_id) is not None


def made_ids(content: Any, salt: str) -> list[str]:
    """Return an id for each call of a reply: the provider's, or one derived from the reply."""
    seed = _seed(content, salt)
    pairs = _calls_and_answers(parts_of(content))
    return [own_id or f"gemini-{seed}-{number}" for number, (_, own_id, _) in enumerate(pairs)]


def _seed(content: Any, salt: str) -> str:
    text = json.dumps([salt, content], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _calls_and_answers(parts: list[Any]) -> list[tuple[bool, str, str]]:
    """Return for each call and result: whether it is a call, its original id, and its name."""
    pairs = []
    for part in parts:
        call = field(part, "functionCall")
        answer = field(part, "functionResponse") if call is None else call
        if answer is not None:
            pairs.append((call is not None, text_of(answer, "id"), text_of(answer, "name")))
    return pairs


def system_of(request: Mapping[str, Any]) -> Any:
    """Return the system instruction: a text, or a content as JSON data."""
    holder, key = _system_place(request)
    value = holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
    if isinstance(value, str) or value is None:
        return value
    data = plain(value)
    if isinstance(data, list):
        return {"parts": [{"text": part} if isinstance(part, str) else part for part in data]}
    return data if isinstance(data, Mapping) and "parts" in data else {"parts": [data]}


def _system_place(request: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the object that holds the system instruction, and its name there.

    `config` and `model` are arguments of the SDK's call; a body of the REST API has neither.
    """
    config = request.get("config")
    if config is not None or "model" in request:
        is_rest_spelled = isinstance(config, Mapping) and "systemInstruction" in config
        return config or {}, "systemInstruction" if is_rest_spelled else "system_instruction"
    snake = "system_instruction"
    return request, snake if snake in request else "systemInstruction"


def tools_of(request: Mapping[str, Any]) -> Any:
    config = request.get("config")
    tools = config.get("tools") if isinstance(config, Mapping) else getattr(config, "tools", None)
    return request.get("tools") or tools


# https://ai.google.dev/api/generate-content#FinishReason and
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse
# and the enum of google-genai 3.4, which has both (2026-11).
#
# Clients that request `enum-encoding=int` get numbers. From 6 on, the numbers of AI Studio and
# Vertex AI differ, since 6 is LANGUAGE in AI Studio (Candidate.FinishReason in
# https://github.com/googleapis/googleapis/blob/master/google/ai/generativelanguage/v1beta/generative_service.proto
# and google/cloud/aiplatform/v1beta1/content.proto, 2026-11). A number with two meanings is OTHER.
# 9: MALFORMED_FUNCTION_CALL or SPII; 10: MODEL_ARMOR or MALFORMED_FUNCTION_CALL;
# 12: IMAGE_PROHIBITED_CONTENT or UNEXPECTED_TOOL_CALL.
_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
    *("ESCALATION", "PUP_LIMITED_DISABLED"),
    *("3", "4", "6", "7", "8", "11"),
    # promptFeedback.blockReason (https://ai.google.dev/api/generate-content#BlockReason) has some
    # of the words above, and an OTHER that also means a block; see `stop_reason`.
    *("BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "JAILBREAK"),
)
_FAILED = (
    *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"),
    *("TOO_MANY_TOOL_CALLS", "NO_IMAGE"),
)
_OTHER = (
    *("FINISH_REASON_UNSPECIFIED", "OTHER", "IMAGE_OTHER"),
    # A call to an undeclared tool, not an error: the loop reports it to the model.
    "UNEXPECTED_TOOL_CALL",
    *("0", "5", "9", "10", "12"),
)
STOP_WORDS = StopWords(
    NAME,
    {
        **dict.fromkeys(("STOP", "1"), StopReason.STOP),
        # CONTINUATION is the limit of one request; a token would continue the reply.
        **dict.fromkeys(("MAX_TOKENS", "CONTINUATION", "2"), StopReason.MAX_TOKENS),
        **dict.fromkeys(_FILTERED, StopReason.CONTENT_FILTER),
        **dict.fromkeys(_FAILED, StopReason.ERROR),
        **dict.fromkeys(_OTHER, StopReason.OTHER),
    },
)


def decode_response(response: Any, /) -> Decision:
    """Read a reply; if there are several candidates, the first one.

    >>> parts = [{"text": "Hello."}]
    >>> decode_response({"candidates": [{"content": {"parts": parts}}]}).reply
    'Hello.'
    """
    data = response_of(response)
    payload = _payload(data)
    message = read_message(payload)
    tokens = usage(data) if field(data, "usageMetadata") else None
    return Decision(
        message.content,
        message.tool_calls,
        tokens,
        stop_reason(data),
        ProviderPayload(NAME, payload) if _says_something(payload) else None,
        stop_word=_stop_word(data),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        response_model=text_of(data, "modelVersion"),
        response_id=text_of(data, "responseId"),
        last_request=_last_request(data, tokens) if tokens and tokens.summed else None,
    )


def _payload(response: Any) -> dict[str, Any]:
    """Return the native payload of a reply: its content unchanged, and ids for its calls."""
    content = at(_first_candidate(response), "content")
    # A copy: the response is the caller's.
    content = dict(content) if isinstance(content, Mapping) else {}
    # Omitted in some streams; without it, or with another role, this would be read as the user's.
    content["role"] = "model"
    # With the response's id, since another reply may hold the very same call.
    ids = made_ids(content, text_of(response, "responseId"))
    return {"content": content, **({"ids": ids} if ids else {})}


def _says_something(payload: Any) -> bool:
    # A content with only empty parts is rejected in a request.
    return any(part not in ({}, {"text": ""}) for part in parts_of(field(payload, "content")))


def _first_candidate(response: Any) -> Any:
    return next(iter(list_of(response, "candidates")), None)


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended. A blocked prompt is CONTENT_FILTER, whatever the reason.

    >>> stop_reason({"promptFeedback": {"blockReason": "OTHER"}})
    <StopReason.CONTENT_FILTER: 'content_filter'>
    """
    data = response_of(response)
    if _first_candidate(data) is None and _block_word(data):
        STOP_WORDS.reason(_block_word(data))  # reports an unknown word
        return StopReason.CONTENT_FILTER
    parts = parts_of(field(_first_candidate(data), "content"))
    calls = any(has_field(part, "functionCall") for part in parts)
    return STOP_WORDS.reason(_stop_word(data) or None, has_tool_calls=calls)


def _stop_word(response: Any) -> str:
    candidate = _first_candidate(response)
    return _block_word(response) if candidate is None else _word(field(candidate, "finishReason"))


def _block_word(response: Any) -> str:
    return _word(field(field(response, "promptFeedback"), "blockReason"))


def _word(value: Any) -> str:
    # Some clients get a number instead of a word.
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def usage(response: Any, /) -> Usage:
    """Return a reply's token usage; a count that is missing, null or not a number is 0.

    >>> usage({"usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 5}})
    Usage(input=9, output=5, total=0, cache_read=0, cache_write=0, reasoning=5)
    """
    counts = field(response_of(response), "usageMetadata")
    prompt, tool_use = _count(counts, "promptTokenCount"), _count(counts, "toolUsePromptTokenCount")
    output, thoughts = _count(counts, "candidatesTokenCount"), _count(counts, "thoughtsTokenCount")
    total = _count(counts, "totalTokenCount")
    # By how much the parts exceed the total: a gateway may count one of them in another, too.
    twice = prompt + tool_use + output + thoughts - total if total else 0
    if thoughts and twice in {thoughts, thoughts + tool_use}:
        output, twice = max(0, output - thoughts), twice - thoughts
    if tool_use and twice == tool_use:
        prompt = max(0, prompt - tool_use)
    if not has_field(counts, "candidatesTokenCount"):
        output = max(0, total - prompt - tool_use - thoughts)
    return Usage(
        input=prompt + tool_use,
        output=output + thoughts,
        total=total,
        cache_read=_count(counts, "cachedContentTokenCount"),
        reasoning=thoughts,
        # What the server's tools returned was sent to the model again, and is not sent by anybody
        # afterwards.
        summed=bool(tool_use) or 0 < _count(counts, FIRST_PROMPT) < prompt,
    )


def _last_request(data: Any, total: Usage) -> Usage:
    """Return how large the conversation is after a reply that took several requests.

    Each request after the first sends what the reply says so far, so the first prompt and the
    whole reply are as large as the last request with its part of the reply.
    """
    counts = field(data, "usageMetadata")
    first = _count(counts, FIRST_PROMPT) or _count(counts, "promptTokenCount")
    tool_use = _count(counts, "toolUsePromptTokenCount")
    # A gateway may count the tools' results in the prompt, too; `usage` found that out.
    prompt = min(first, total.input - tool_use) if total.input > tool_use else first
    return Usage(input=prompt, output=total.output, reasoning=total.reasoning)


def _count(counts: Any, name: str) -> int:
    # JSON made from protocol buffers may write a count as a string, which `Usage` can read.
    return Usage(input=field(counts, name)).input
