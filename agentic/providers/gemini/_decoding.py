"""From the API's contents to messages.

One content is one message, but for a content that holds results beside other parts: its results are
a tool message and the rest is a message after it. Each carries in its native payload the whole
content, so that together they become that content again.

Of the parts, text is `content`, text marked `thought` is `reasoning`, a functionCall a tool call, a
functionResponse a tool result, inlineData and fileData of a user or a tool are media. Whatever else
a part is (code that ran, a server's own tool calls, kinds to come) and a model's images have no
typed field: they live on in the native payload.

The Gemini API names some calls and Vertex AI none; results then belong to calls by name and order
(https://ai.google.dev/api/caching#FunctionCall: "id", optional). Messages need ids, so that one is
made, `gemini-<16 hex digits>-<number>`: from the reply's own data, the same each time. It is never
sent: what came without an id goes back without one.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ProviderPayload, Role, ToolCall, ToolError, ToolResult
from agentic.providers.gemini._fields import (
    ANSWERS,
    CALLS,
    WITH_MEDIA,
    content_of,
    contents_of,
    field,
    has_field,
    is_object,
    keys_of,
    list_of,
    parts_of,
    text_of,
)
from agentic.providers.kit import Decoded, plain
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

__all__ = [
    "NAME",
    "REST",
    "RESULTS",
    "IncrementalDecoder",
    "decode",
    "decode_request",
    "is_made_up",
    "made_ids",
    "read_message",
    "read_text",
    "shared_parts",
]

NAME = "gemini"
RESULTS, REST = "results", "rest"
"""The two shares of a content that is two messages."""
_ROLES: dict[str, Role] = {"model": "assistant", "system": "system"}
_OUTCOME = {"output", "error"}
_JSON = json.JSONEncoder(ensure_ascii=False)
_MADE_UP = re.compile(r"gemini-[0-9a-f]{16}-\d+")


def decode(contents: Iterable[Any], /) -> list[Message]:
    """Read a request's `contents`; one that holds results beside other parts is two messages.

    >>> [message.role for message in decode([{"role": "model", "parts": [{"text": "Hello."}]}])]
    ['assistant']
    """
    found = IncrementalDecoder().read(contents_of(contents))
    return [message for each in found for message in each.messages]


@attrs.define
class _CallNames:
    """Ids for the calls and results of a whole conversation, content by content."""

    _waiting: list[tuple[str, str]] = attrs.field(factory=list)
    """The id and the name of each call of the latest model turn that has no result yet."""
    _seen: dict[str, int] = attrs.field(factory=dict)
    _former: list[tuple[str, list[tuple[str, str]]]] = attrs.field(factory=list)
    """For each content, what it was counted as if it needed ids, and the calls that waited before
    it."""

    def rewind(self, contents: int) -> None:
        """Forget all but the first so many contents."""
        while len(self._former) > contents:
            base, self._waiting = self._former.pop()
            if base:
                self._seen[base] -= 1

    def ids(self, content: Any, parts: list[Any]) -> list[str]:
        """Return the ids of a content's calls and results, in the order of its parts."""
        found = _calls_and_answers(parts)
        base = "" if all(came_with for _, came_with, _ in found) else _seed(content, "")
        self._former.append((base, self._waiting.copy()))
        seed = self._next_seed(content, base) if base else ""
        given: list[str] = []
        asked: list[tuple[str, str]] = []
        for is_call, came_with, name in found:
            call_id = came_with or f"gemini-{seed}-{len(given)}"
            if is_call:
                asked.append((call_id, name))
            given.append(call_id if is_call else self._answered(came_with, name) or call_id)
        if asked or text_of(content, "role") == "model":
            self._waiting = asked
        return given

    def _next_seed(self, content: Any, base: str) -> str:
        """Return what to make ids of, and note that the content is seen once more."""
        self._seen[base] = times = self._seen.get(base, 0) + 1
        return base if times == 1 else _seed(content, str(times))

    def _answered(self, told: str, name: str) -> str | None:
        """Return the id of the call that a result is for: by its id, or by name and order."""
        fitting = [call for call in self._waiting if call[0] == told]
        if not fitting:
            fitting = [call for call in self._waiting if call[1] == name]
        if not fitting:
            return None
        self._waiting.remove(fitting[0])
        return fitting[0][0]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of contents, giving what `decode` gives for the whole."""

    _names: _CallNames = attrs.field(factory=_CallNames, init=False)

    def decode(self, contents: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read what stands from `start` on; what stands before was read by earlier calls."""
        self._names.rewind(start)
        before = content_of(contents[start - 1]) if start else None
        return self.read(map(content_of, contents[start:]), before)

    def read(self, contents: Iterable[Any], before: Any = None, /) -> list[Decoded]:
        """Read plain contents; `before` is the one that stands before them."""
        decoded = []
        for content in contents:
            parts = parts_of(content)
            keys = keys_of(parts)
            ids = self._names.ids(content, [] if keys.isdisjoint(CALLS | ANSWERS) else parts)
            payload = {"content": content, **({"ids": ids} if ids else {}), **_place(before)}
            messages = []
            for share in _shares(parts, keys):
                native = _native({**payload, "share": share} if share else payload)
                messages.append(_read(content, parts, keys, native, ids=ids, share=share))
            decoded.append(Decoded(1, tuple(messages)))
            before = content
        return decoded


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, its system prompt first.

    Arguments of the SDK's call are understood too, with the instruction in `config`.
    """
    data = plain(request)
    return [*_instructions(data), *decode(field(data, "contents"))]


def _native(payload: dict[str, Any]) -> ProviderPayload | None:
    """Keep a payload; a bare text is the SDK's shorthand and no content."""
    if not is_object(payload["content"]):
        return None
    return decoded_native(NAME, payload, joins_previous=payload.get("share") == REST)


def _place(before: Any) -> dict[str, bool]:
    """Note what a model's content may not follow, and did: what was sent so may be sent again."""
    if before is None:
        return {"first": True}
    return {"after_model": True} if text_of(before, "role") == "model" else {}


def _shares(parts: list[Any], keys: set[str]) -> list[str | None]:
    """Return the messages of which a content consists."""
    if keys.isdisjoint(ANSWERS):
        return [None]
    answers = [has_field(part, "functionResponse") for part in parts]
    if any(answers) and not all(answers):
        return [RESULTS, REST]
    return [None]


def read_message(payload: Any, native: ProviderPayload | None = None) -> Message:
    """Read the native payload of one message, as the message that it is the payload of."""
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
    """Read a share of a content, of which all parts are given, their keys, and their ids."""
    parts = _shared(every, share)
    results = [] if keys.isdisjoint(ANSWERS) else _read_results(every, iter(ids))
    media = [] if keys.isdisjoint(WITH_MEDIA) else _read_media(parts)
    if results and share != REST:
        return decoded_message("tool", "", native, tool_results=results, media=media)
    role = _ROLES.get(text_of(content, "role"), "user")
    model = role == "assistant"
    return decoded_message(
        role,
        read_text(parts, between="" if model else "\n"),
        native,
        reasoning=read_text(parts, thought=True) if "thought" in keys else "",
        tool_calls=_read_calls(every, iter(ids)) if model and not keys.isdisjoint(CALLS) else (),
        media=() if model else media,
    )


def shared_parts(payload: Any) -> list[Any]:
    """Return the parts of a payload's content that belong to its message."""
    return _shared(parts_of(field(payload, "content")), field(payload, "share"))


def _shared(parts: list[Any], share: Any) -> list[Any]:
    if share is None:
        return parts
    return [part for part in parts if has_field(part, "functionResponse") is (share == RESULTS)]


def _instructions(request: Any) -> list[Message]:
    """Read the system instruction, which is one message that leads the others."""
    for holder in (request, field(request, "config")):
        for key in ("systemInstruction", "system_instruction"):
            found = holder.get(key) if isinstance(holder, Mapping) else None
            if found is not None:
                native = ProviderPayload(NAME, {"instruction": found, "key": key})
                text = read_text(parts_of(found), between="\n")
                return [decoded_message("system", text, native)]
    return []


def read_text(parts: list[Any], *, thought: bool = False, between: str = "") -> str:
    """Join the texts of the parts: those that are thoughts, or those that are not.

    >>> read_text([{"text": "Hm.", "thought": True}, {"text": "Yes."}])
    'Yes.'
    """
    wanted = [part for part in parts if (field(part, "thought") is True) is thought]
    return between.join(text for part in wanted if (text := text_of(part, "text")))


def _read_calls(parts: list[Any], ids: Iterator[str]) -> list[ToolCall]:
    """Read the calls among the parts. `ids` gives an id for each call and each result."""
    calls = []
    for part in parts:
        call = field(part, "functionCall")
        if call is not None:
            calls.append(decoded_call(next(ids, ""), text_of(call, "name"), _arguments(call)))
        elif has_field(part, "functionResponse"):
            next(ids, "")
    return calls


def _arguments(call: Any) -> str:
    arguments = field(call, "args")
    return "{}" if arguments is None else _said(arguments)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else _JSON.encode(value)


def _read_results(parts: list[Any], ids: Iterator[str]) -> list[ToolResult]:
    """Read the results among the parts. `ids` gives an id for each call and each result."""
    results = []
    for part in parts:
        answer = field(part, "functionResponse")
        if answer is not None:
            results.append(_result(next(ids, ""), answer))
        elif has_field(part, "functionCall"):
            next(ids, "")
    return results


def _result(call_id: str, answer: Any) -> ToolResult:
    """Read one result.

    Under "output" is the output and under "error" what went wrong; an object with other keys is the
    output as a whole: https://ai.google.dev/api/caching#FunctionResponse (2026-11).
    """
    response, name = field(answer, "response"), text_of(answer, "name")
    if not is_object(response) or not response:
        return decoded_result(call_id, name, _said(response) if response else "")
    if not set(response) <= _OUTCOME:
        return decoded_result(call_id, name, _said(response))
    output, problem = response.get("output"), response.get("error")
    return decoded_result(
        call_id,
        name,
        "" if output is None else _said(output),
        None if problem in (None, "") else ToolError(_said(problem)),
    )


def _read_media(parts: list[Any]) -> list[Media]:
    """Read images, sounds and documents: among the parts, and inside of function responses.

    >>> _read_media([{"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}])
    [Media(media_type='image/png', url='gs://b/a.png')]
    """
    found = []
    for part in parts:
        blob, file = field(part, "inlineData"), field(part, "fileData")
        if isinstance(blob, Mapping):
            found.append(Media(text_of(blob, "mimeType"), _bytes(text_of(blob, "data"))))
        elif isinstance(file, Mapping):
            found.append(Media(text_of(file, "mimeType"), url=text_of(file, "fileUri")))
        found += _read_media(list_of(field(part, "functionResponse"), "parts"))
    return found


def _bytes(text: str) -> bytes:
    """Decode base64 in either alphabet; what is none, such as a redacted recording, is no bytes."""
    try:
        return base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, ValueError):
        return b""


def is_made_up(call_id: str) -> bool:
    """Return whether an id was made here.

    >>> is_made_up("gemini-0123456789abcdef-0"), is_made_up("call_1")
    (True, False)
    """
    return _MADE_UP.fullmatch(call_id) is not None


def made_ids(content: Any, salt: str) -> list[str]:
    """Return an id for each call of a reply: the provider's, or one made from the reply's data."""
    seed = _seed(content, salt)
    calls = [field(part, "functionCall") for part in parts_of(content)]
    return [
        text_of(call, "id") or f"gemini-{seed}-{number}"
        for number, call in enumerate(call for call in calls if call is not None)
    ]


def _seed(content: Any, salt: str) -> str:
    text = json.dumps([salt, content], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _calls_and_answers(parts: list[Any]) -> list[tuple[bool, str, str]]:
    """Return whether each is a call, the id that it came with, and its name."""
    found = []
    for part in parts:
        call = field(part, "functionCall")
        asked = field(part, "functionResponse") if call is None else call
        if asked is not None:
            found.append((call is not None, text_of(asked, "id"), text_of(asked, "name")))
    return found
