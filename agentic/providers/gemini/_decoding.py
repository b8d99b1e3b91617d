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
"""

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
    TO_STANDARD,
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
from agentic.providers.kit._ids import CallMatcher
from agentic.providers.kit._json import json_text
from agentic.providers.kit._media import from_base64
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

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
    found = IncrementalDecoder().read(contents_of(contents))
    return [message for each in found for message in each.messages]


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
        decoded = []
        for content in contents:
            parts = parts_of(content)
            keys = keys_of(parts)
            ids = self._ids(content, [] if keys.isdisjoint(CALLS | ANSWERS) else parts)
            payload = {"content": content, **({"ids": ids} if ids else {}), **_place(before)}
            messages = []
            for share in _shares(parts, keys):
                native = _native({**payload, "share": share} if share else payload)
                messages.append(_read(content, parts, keys, native, ids=ids, share=share))
            decoded.append(Decoded(1, tuple(messages)))
            before = content
        return decoded

    def _ids(self, content: Any, parts: list[Any]) -> list[str]:
        """Return the ids of a content's calls and results, in the order of its parts."""
        found = _calls_and_answers(parts)
        # With ids of their own nothing has to be derived, and nothing is hashed.
        seed = "" if all(came_with for _, came_with, _ in found) else _seed(content, "")
        times = self._calls.begin(seed, is_reply=text_of(content, "role") == "model")
        # An agent may call the same tool in the same words twice.
        seed = _seed(content, str(times)) if seed and times > 1 else seed
        given: list[str] = []
        asked: list[tuple[str, str]] = []
        for is_call, came_with, name in found:
            call_id = came_with or f"gemini-{seed}-{len(given)}"
            if is_call:
                asked.append((call_id, name))
            given.append(call_id if is_call else self._answered(came_with, name) or call_id)
        self._calls.waiting += asked
        return given

    def _answered(self, told: str, name: str) -> str:
        """Return the id of the call that a result answers: by id, or else by name and order."""
        by_id = self._calls.take(lambda call_id, _: call_id == told)
        # Not where both have an id of their own: such a result has lost its call, and would take
        # the place of the one that this call has.
        return by_id or self._calls.take(
            lambda call_id, called: called == name and (not told or is_made_up(call_id))
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


def _place(before: Any) -> dict[str, bool]:
    # Where a model content is not expected, the API accepted this one, and will do so again.
    if before is None:
        return {"first": True}
    return {"after_model": True} if text_of(before, "role") == "model" else {}


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
            found = holder.get(key) if isinstance(holder, Mapping) else None
            if found is not None:
                native = ProviderPayload(NAME, {"instruction": found, "key": key})
                text = read_text(parts_of(found), between="\n")
                return [decoded_message("system", text, native)]
    return []


def read_text(parts: list[Any], *, thought: bool = False, between: str = "") -> str:
    """Join the texts of the parts, either those that are thoughts or those that are not.

    >>> read_text([{"text": "Hm.", "thought": True}, {"text": "Yes."}])
    'Yes.'
    """
    wanted = [part for part in parts if (field(part, "thought") is True) is thought]
    return between.join(text for part in wanted if (text := text_of(part, "text")))


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
    found = []
    for part in parts:
        blob, file = field(part, "inlineData"), field(part, "fileData")
        if isinstance(blob, Mapping):
            found.append(Media(text_of(blob, "mimeType"), _bytes(text_of(blob, "data"))))
        elif isinstance(file, Mapping):
            found.append(Media(text_of(file, "mimeType"), url=text_of(file, "fileUri")))
    return found


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
    found = _calls_and_answers(parts_of(content))
    return [given or f"gemini-{seed}-{number}" for number, (_, given, _) in enumerate(found)]


def _seed(content: Any, salt: str) -> str:
    text = json.dumps([salt, content], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _calls_and_answers(parts: list[Any]) -> list[tuple[bool, str, str]]:
    """Return for each call and result: whether it is a call, its original id, and its name."""
    found = []
    for part in parts:
        call = field(part, "functionCall")
        asked = field(part, "functionResponse") if call is None else call
        if asked is not None:
            found.append((call is not None, text_of(asked, "id"), text_of(asked, "name")))
    return found
