"""Decode input items from the wire into messages.

Consecutive items produced by the model are one assistant message, and consecutive outputs are one
tool message. Any other item is a separate message. Every message keeps its items in `native`.
"""

import mimetypes
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Media, Message, ProviderPayload, Role, ToolError, ToolResult
from agentic.providers.kit import Decoded, at, items_at, plain, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._media import from_base64, read_data_url
from agentic.providers.kit._messages import decoded_message, decoded_native, decoded_result
from agentic.providers.openai_responses._items import (
    ANSWERS,
    OUTPUTS,
    answered_id,
    call_id_of,
    has_openais_id,
    item_role,
    item_text,
    reasoning_text,
    runs_on_server,
    shell_ids,
    texts,
    tool_call,
    type_of,
)

NAME = "openai_responses"
_ID_IS_OPTIONAL = {"message", "function_call", "custom_tool_call"}
UNSEEN_CALLS = "answers_calls_on_the_server"
"""A key in the payload of a tool message whose calls the provider stores: it is not orphaned."""
# Keys in the payload of outputs that name a local shell call by its item's id: the items, and the
# call ids by item id. A payload is read alone, so it has to say which calls it means.
_ITEMS, _SHELLS = "items", "local_shell_calls"


def decode(messages: Iterable[Any], /) -> list[Message]:
    """Read a request's `input`: a list of items, or a string, which is one user message.

    >>> [said.role for said in decode([{"role": "user", "content": "Hi."}, {"type": "reasoning"}])]
    ['user', 'assistant']
    """
    return _decode(plain(messages), unseen_calls=False)


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of items with the same result as `decode` on the whole list.

    References to items that the server stores are not supported.
    """

    _shells: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The call id of each local shell item so far, by the item's id."""
    _on_server: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The ids of the calls so far that the provider itself answers."""

    def decode(self, items: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on, at which a message begins.

        Earlier calls have read the items before it. If the last message is open, it is read again
        when another item follows it.

        Raises:
            ConfigError: an item is a reference to one that the server stores.
        """
        fresh = [plain(each) for each in items[start:]]
        if reference := next((one for one in fresh if type_of(one) == "item_reference"), None):
            raise ConfigError("items", reference, "whole items", "send each item itself")
        self._shells.rewind(start)
        self._on_server.rewind(start)
        for position, item in enumerate(fresh, start):
            for call_id in _run_by_server([item]):
                self._on_server.add(position, call_id, "")
            for item_id, call_id in shell_ids([item]).items():
                self._shells.add(position, item_id, call_id)
        shells = self._shells.values
        decoded = [
            Decoded(len(run), (_message(role, run, shells),))
            for role, run in _runs(fresh, self._on_server.values)
        ]
        if decoded and decoded[-1].messages[0].role in {"assistant", "tool"}:
            # The next item may belong to the same message.
            decoded[-1] = attrs.evolve(decoded[-1], is_open=True)
        return decoded


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first.

    >>> [said.content for said in decode_request({"instructions": "Be brief.", "input": "Hi."})]
    ['Be brief.', 'Hi.']
    """
    body = plain(request)
    told = isinstance(body, Mapping) and "instructions" in body
    leading = [_instructions(body["instructions"])] if told else []
    on_server = at(body, "previous_response_id") or at(body, "conversation") or at(body, "prompt")
    return [*leading, *_decode(at(body, "input"), unseen_calls=bool(on_server))]


def message_of(payload: Any) -> Message | None:
    """Return the message that a payload belongs to; None if it is not one of this adapter."""
    if isinstance(payload, Mapping) and "instructions" in payload:
        return _instructions(payload["instructions"])
    if isinstance(payload, str):
        return decoded_message("user", payload, None)
    items = kept_items(payload)
    if not items:
        return None
    role = item_role(items[0], on_server=answered_within(items))
    if role == "tool":
        shells = at(payload, _SHELLS)
        return _tool(items, shells if isinstance(shells, Mapping) else {}, None)
    # Several items are those of a response, whatever the first is: a user's message has one.
    several = len(items) > 1 and role in {"user", "system"}
    return _MESSAGES["assistant" if several else role](items, None)


def kept_items(payload: Any) -> list[Any]:
    """Return a payload's items; an empty list if it has none."""
    return items_at(payload, UNSEEN_CALLS) or items_at(payload, _ITEMS) or items_at(payload)


def without_reasoning(payload: Any) -> Any:
    """Return a payload without OpenAI's reasoning items; other servers ask for theirs.

    What was made after them loses its id: by its id, a call is refused without its reasoning
    (https://github.com/cline/cline/issues/12242, 2026-07-12).
    """
    items = kept_items(payload)
    if not any(map(has_openais_id, items)):
        return payload
    return [_without_id(item) for item in items if not has_openais_id(item)]


def _without_id(item: Any) -> Any:
    if type_of(item) not in _ID_IS_OPTIONAL:
        return item
    return {key: value for key, value in item.items() if key != "id"}


def reply(items: list[Any], native: ProviderPayload | None = None) -> Message:
    """Read the items of one response. A call that is answered within it is left out."""
    answered = answered_within(items)
    calls = [call for call in map(tool_call, items) if call and call.id not in answered]
    thinking = [text for text in map(reasoning_text, items) if text]
    return decoded_message(
        "assistant",
        "".join(map(item_text, items)),
        native,
        reasoning="\n\n".join(thinking),
        tool_calls=calls,
        media=[image for image in map(_generated_image, items) if image is not None],
    )


def _generated_image(item: Any) -> Media | None:
    """Return the image in the output of the image generation tool, which is base64.

    https://platform.openai.com/docs/guides/tools-image-generation (2026-11)
    """
    if type_of(item) != "image_generation_call" or not text_at(item, "result"):
        return None
    kind = text_at(item, "output_format") or "png"
    return Media(f"image/{kind}", from_base64(text_at(item, "result")) or b"")


def answered_within(items: list[Any]) -> set[str]:
    """Return the ids of the calls of a reply whose outputs are in it: a server has run them."""
    outputs = [item for item in items if type_of(item) in OUTPUTS]
    if not outputs:
        return set()
    asked = {call_id_of(item) for item in items if type_of(item) in ANSWERS}
    return {call_id_of(item) for item in outputs} & asked - {""}


def _decode(items: Any, *, unseen_calls: bool) -> list[Message]:
    if isinstance(items, str):
        return [decoded_message("user", items, decoded_native(NAME, items))]
    given = items if isinstance(items, list) else []
    referring = any(type_of(item) == "item_reference" for item in given)
    shells = shell_ids(given)
    seen: set[str] = set()
    decoded = []
    for role, run in _runs(given, _run_by_server(given)):
        # With a history on the server, an output may answer a call that is not here.
        elsewhere = unseen_calls or referring
        unseen = elsewhere and any(answered_id(item, shells) not in seen for item in run)
        message = _message(role, run, shells, unseen=unseen)
        seen.update(call.id for call in message.tool_calls)
        decoded.append(message)
    return decoded


def _message(
    role: str, run: list[Any], shells: Mapping[str, str], *, unseen: bool = False
) -> Message:
    if role != "tool":
        thinks = any(map(has_openais_id, run))
        return _MESSAGES[role](run, decoded_native(NAME, run, holds_reasoning=thinks))
    payload = _answers_payload(run, shells, unseen=unseen)
    return _tool(run, shells, decoded_native(NAME, payload))


def _answers_payload(run: list[Any], shells: Mapping[str, str], *, unseen: bool) -> Any:
    named = {call_id_of(item): answered_id(item, shells) for item in run}
    renamed = {item: call for item, call in named.items() if item != call}
    if not renamed and not unseen:
        return run
    return {UNSEEN_CALLS if unseen else _ITEMS: run, **({_SHELLS: renamed} if renamed else {})}


def _run_by_server(items: list[Any]) -> set[str]:
    """Return the ids of the calls that the provider itself executes and answers."""
    # Not one that the caller's own call has, too: its output would not be the caller's any more.
    calls = [item for item in items if type_of(item) in ANSWERS]
    theirs = [item for item in calls if runs_on_server(item)]
    if not theirs:
        return set()
    ours = {call_id_of(item) for item in calls if not runs_on_server(item)}
    return {call_id_of(item) for item in theirs} - ours - {""}


def _runs(items: list[Any], on_server: Collection[str]) -> Iterator[tuple[str, list[Any]]]:
    """Split the items into those of each message; yield the message's role and its items."""
    roles = [item_role(item, on_server=on_server) for item in items]
    starts = [0] + [
        place
        for place, (before, role) in enumerate(pairwise(roles), 1)
        if role != before
        or role in {"user", "system"}
        or _is_written(items[place], items[place - 1])
    ]
    for start, end in pairwise([*starts, len(items)]):
        if start < end:
            yield roles[start], items[start:end]


def _is_written(item: Any, before: Any) -> bool:
    """Return whether an item is an assistant text that the caller wrote after another one."""
    # The model's own messages have an id and a list of parts, and are one reply together.
    bare = isinstance(at(item, "content"), str) and at(item, "id") is None
    return bare and type_of(before) == "message"


def _said(role: Role, items: list[Any], native: ProviderPayload | None) -> Message:
    item = items[0]
    if isinstance(item, str):
        return decoded_message(role, item, native)
    content = at(item, "content")
    return decoded_message(role, "\n".join(texts(content)), native, media=_media_in(content))


def _tool(items: list[Any], shells: Mapping[str, str], native: ProviderPayload | None) -> Message:
    return decoded_message(
        "tool", "", native, tool_results=[_result(item, shells) for item in items]
    )


_MESSAGES: Mapping[str, Callable[[list[Any], ProviderPayload | None], Message]] = {
    "user": partial(_said, "user"),
    "system": partial(_said, "system"),
    "assistant": reply,
}


def _result(item: Any, shells: Mapping[str, str]) -> ToolResult:
    call_id, output, kind = answered_id(item, shells), at(item, "output"), type_of(item)
    said = texts(output)
    if kind == "shell_call_output":
        said = [text_at(part, key) for part in items_at(output) for key in ("stdout", "stderr")]
    text = "\n".join(filter(None, said))
    if kind == "apply_patch_call_output" and at(item, "status") == "failed":
        return decoded_result(call_id, "", "", ToolError(text))
    # Either a list of parts, or one part: a screenshot.
    media = [] if isinstance(output, str) else _media_in(output) + _media_in([output])
    return decoded_result(call_id, "", text, None, media)


def _instructions(given: Any) -> Message:
    said = "\n\n".join(text for item in items_at(given) for text in texts(at(item, "content")))
    text = given if isinstance(given, str) else said
    return decoded_message("system", text, decoded_native(NAME, {"instructions": given}))


def _media_in(content: Any) -> list[Media]:
    """Read the images and files in content, without those that only have a `file_id`.

    >>> _media_in([{"type": "input_image", "image_url": "data:image/png;base64,aGk="}])
    [Media(media_type='image/png', url='')]
    """
    found = (_medium(part) for part in items_at(content))
    return [medium for medium in found if medium is not None]


def _medium(part: Any) -> Media | None:
    image = text_at(part, "image_url")
    if image:
        return _at_address(image, "image/*")
    address = text_at(part, "file_data") or text_at(part, "file_url")
    if not address:
        return None
    return _at_address(address, _guess(text_at(part, "filename")) or "application/octet-stream")


def _at_address(address: str, fallback: str) -> Media:
    found = read_data_url(address)
    if found is None:
        return Media(_guess(address.partition("?")[0]) or fallback, url=address)
    media_type, data = found
    return Media(media_type or fallback, data or b"", address if data is None else "")


def _guess(name: str) -> str | None:
    return mimetypes.guess_type(name)[0]
