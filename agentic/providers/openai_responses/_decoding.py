"""Decode input items from the wire into messages.

Consecutive items produced by the model are one assistant message, and consecutive outputs are one
tool message. Any other item is a separate message. Every message keeps its items in `native`.

Wire items: who produced one, which call it makes or answers, and how outputs and media are written.
The list of item types: https://platform.openai.com/docs/api-reference/responses/create (`input`).
Each type of call that the caller executes has an output type of its own. Calls that the provider
executes (web search, code interpreter, MCP, a shell in its own container) need no output. Reasoning
cannot be sent back if the provider has not stored it and the item does not contain it.

Media (https://platform.openai.com/docs/guides/images-vision, .../guides/pdf-files): bytes are sent
as a data URL. This API does not accept audio input (types/responses/response_input_content.py of
https://github.com/openai/openai-python), so a text says that audio was left out.
"""

import mimetypes
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._message import Role
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._json import json_text
from agentic.providers.kit._media import (
    data_url,
    from_base64,
    read_data_url,
    results_with_content,
    text_with_notes,
)
from agentic.providers.kit._messages import (
    Decoded,
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

ANSWERS: Mapping[str, str] = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "shell_call": "shell_call_output",
    "local_shell_call": "local_shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "tool_search_call": "tool_search_output",
}
"""The types of calls that the caller answers, with the types of their outputs."""

OUTPUTS = frozenset(ANSWERS.values())
_LOCAL_SHELL = "local_shell_call"

_ACTIONS = {
    # With the tool `computer_use`, the model asks for several actions at once.
    "computer_call": ("action", "actions"),
    "shell_call": ("action",),
    "local_shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
}
"""The fields that hold the arguments of calls that have no function name."""

_INPUT_ROLES = {"user": "user", "system": "system", "developer": "system"}
# These have no role, and are sent by the caller. Whatever else has none is the model's.
_USERS_ITEMS = {"compaction_trigger", "mcp_approval_response"}
_OPENAI = re.compile(r"(ft:)?(gpt-(?!oss)|o\d|codex|chatgpt)")


def type_of(item: Any) -> str:
    """Return the type of an item; one without a type that has a role is a message.

    >>> type_of({"role": "user", "content": "Hi."})
    'message'
    """
    kind = item.get("type") if type(item) is dict else text_at(item, "type")
    if isinstance(kind, str) and kind:
        return kind
    # https://platform.openai.com/docs/api-reference/responses/create: the type of an easy input
    # message may be left out, and so may that of an item reference.
    return "message" if at(item, "role") is not None else "item_reference" if at(item, "id") else ""


def call_id_of(item: Any) -> str:
    """Return the id that a call and its output share; empty if there is none.

    >>> call_id_of({"type": "local_shell_call_output", "id": "c1", "output": "a.py"})
    'c1'
    """
    if call_id := text_at(item, "call_id"):
        return call_id
    # In the SDK's type, the output of a local shell has it in its `id` field: LocalShellCallOutput
    # in https://github.com/openai/openai-python, types/responses/response_input_item.py.
    return text_at(item, "id") if type_of(item) in {_LOCAL_SHELL, ANSWERS[_LOCAL_SHELL]} else ""


def own_id(item: Any) -> str:
    """Return an item's own id; empty for a local shell's output, whose id is its call's."""
    return "" if type_of(item) == ANSWERS[_LOCAL_SHELL] else text_at(item, "id")


def shell_ids(items: Iterable[Any]) -> dict[str, str]:
    """Return local shell call ids by their items' ids: an output may name either."""
    shells = [item for item in items if type_of(item) == _LOCAL_SHELL]
    return {own_id(item): call_id_of(item) for item in shells if own_id(item)}


def answered_id(item: Any, shells: Mapping[str, str]) -> str:
    """Return the id of the call that an output answers; `shells` is the result of `shell_ids`.

    >>> answered_id({"type": "local_shell_call_output", "id": "lsh_1"}, {"lsh_1": "c1"})
    'c1'
    """
    call_id = call_id_of(item)
    return call_id if text_at(item, "call_id") else shells.get(call_id, call_id)


def item_role(item: Any, *, on_server: Collection[str] = ()) -> str:
    """Return the role of an item's message. `on_server` has the calls that the provider answers.

    >>> item_role({"type": "web_search_call"}), item_role({"type": "function_call_output"})
    ('assistant', 'tool')
    """
    kind = type_of(item)
    if kind in OUTPUTS:
        server_side = at(item, "execution") == "server" or call_id_of(item) in on_server
        return "assistant" if server_side else "tool"
    no_item = type(item) is not dict and not isinstance(item, Mapping)
    if no_item or kind in _USERS_ITEMS:
        return "user"
    return _role_of(item)


def _role_of(item: Any) -> str:
    """Return the message role for an item; an item without a role was produced by the model.

    >>> _role_of({"role": "developer"}), _role_of({"type": "reasoning"})
    ('system', 'assistant')
    """
    return _INPUT_ROLES.get(text_at(item, "role"), "assistant")


def tool_call(item: Any) -> ToolCall | None:
    """Read a call that the caller is to answer; None for any other item.

    A call that is not to a function gets its type as its name and its action as arguments. The free
    text passed to a custom tool is stored under `input`, so that all arguments are JSON objects.

    >>> tool_call({"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1"})
    ToolCall(id='c1', name='sql', arguments='{"input": "select 1"}')
    """
    kind = type_of(item)
    if kind not in ANSWERS or runs_on_server(item):
        return None
    call_id = call_id_of(item)
    if kind == "function_call":
        name, arguments = text_at(item, "name"), text_at(item, "arguments")
        return decoded_call(call_id, name, arguments, is_async=is_async(item))
    if kind == "custom_tool_call":
        arguments = json_text({"input": text_at(item, "input")})
        return ToolCall(call_id, text_at(item, "name"), arguments, is_async=is_async(item))
    return ToolCall(call_id, kind.removesuffix("_call"), _action(item, _ACTIONS[kind]))


def is_async(item: Any) -> bool:
    """Return whether the model goes on without the output of a call.

    https://developers.openai.com/api/docs/guides/async-tool-calling (2026-11). The objects of the
    SDK, which has to call the field `async_`, are sent back under that name (openai 3.57.0).

    >>> is_async({"async": True}), is_async({"async_": True}), is_async({"async": None})
    (True, True, False)
    """
    return at(item, "async") is True or at(item, "async_") is True


def runs_on_server(item: Any) -> bool:
    """Return whether the provider executes a call: in its container, or as its tool search.

    https://platform.openai.com/docs/guides/tools-shell and .../tools-tool-search.
    """
    if at(item, "execution") == "server":
        return True
    return text_at(at(item, "environment"), "type").startswith("container")


def _action(item: Any, keys: tuple[str, ...]) -> str:
    found = next((key for key in keys if at(item, key)), keys[0])
    action = at(item, found)
    return json_text(action if isinstance(action, Mapping) else {found: action})


def texts(content: Any) -> list[str]:
    """Return the texts in content, which is a string or a list of parts.

    >>> texts("Hi."), texts([{"type": "input_text", "text": "Hi."}, {"type": "input_image"}])
    (['Hi.'], ['Hi.'])
    """
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in _parts(content) if isinstance(part.get("text"), str)]


def item_text(item: Any) -> str:
    """Return a message's text, including a refusal, joined as in the SDK's `output_text`.

    >>> item_text({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]})
    "I won't."
    """
    if type_of(item) != "message" or _role_of(item) != "assistant":
        return ""
    content = at(item, "content")
    if isinstance(content, str):
        return content
    texts = (part.get("text", part.get("refusal")) for part in _parts(content))
    return "".join(text for text in texts if isinstance(text, str))


def refusal_text(item: Any) -> str:
    """Return the text of the model's refusal; empty if it did not refuse."""
    return "".join(text_at(part, "refusal") for part in _parts(at(item, "content")))


def reasoning_text(item: Any) -> str:
    """Return the visible thinking in a reasoning item: its summary or the thinking itself.

    OpenAI sends summaries; DeepSeek, gpt-oss and llama.cpp send `reasoning_text` as content.

    >>> reasoning_text({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})
    'Hm.'
    """
    if type_of(item) != "reasoning":
        return ""
    return "\n\n".join(texts(at(item, "summary")) or texts(at(item, "content")))


def _parts(content: Any) -> list[Mapping[str, Any]]:
    return [part for part in items_at(content) if isinstance(part, Mapping)]


def is_unsealed(item: Any) -> bool:
    """Return whether this is OpenAI reasoning without content, which OpenAI looks up by its id.

    >>> is_unsealed({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None})
    True
    """
    is_stored = type_of(item) == "reasoning" and has_openais_id(item)
    return is_stored and not text_at(item, "encrypted_content")


def has_openais_id(item: Any) -> bool:
    """Return whether reasoning has an id of OpenAI's; those of other servers begin differently."""
    return text_at(item, "id").startswith("rs_")


def is_openais(model: str) -> bool:
    """Return whether a model's name is one served by OpenAI; gpt-oss is served by others."""
    return _OPENAI.match(model) is not None


@attrs.define
class OpenCalls:
    """The open calls of the latest run of assistant messages: from our id to the wire item."""

    _waiting: dict[str, deque[Mapping[str, Any]]] = attrs.field(
        factory=lambda: defaultdict(deque), init=False
    )

    def add(self, call_id: str, item: Mapping[str, Any]) -> None:
        """Record that a call was written as this item."""
        self._waiting[call_id].append(item)

    def take(self, call_id: str) -> Mapping[str, Any]:
        """Remove a call and return its item; an unknown call is taken for a function call."""
        waiting = self._waiting.get(call_id)
        return waiting.popleft() if waiting else {"type": "function_call", "call_id": call_id}

    def is_waiting(self, call_id: str) -> bool:
        """Return whether a call with this id was written and not answered yet."""
        return bool(self._waiting.get(call_id))

    def awaits(self, call_id: str, output: Any) -> bool:
        """Return whether an output may answer a call: as written, or an unknown one."""
        waiting = self._waiting.get(call_id)
        if not waiting:
            return True
        call = waiting[0]
        # A function's output is also accepted for other calls (recorded for `tool_search_call`).
        forms = (ANSWERS.get(type_of(call)), "function_call_output")
        answers = answered_id(output, shell_ids([call])) == call_id_of(call)
        return answers and type_of(output) in forms


def can_answer(items: list[Any], answers: list[Message]) -> bool:
    """Return whether rebuilt answers can have the form that the calls require."""
    # Only a screenshot answers a computer call, and it has no text:
    # https://platform.openai.com/docs/guides/tools-computer-use
    asking = {call_id_of(item) for item in items if type_of(item) == "computer_call"}
    return all(
        not result.text and _is_screenshot(result.media)
        for message in answers
        for result in results_with_content(message)
        if result.call_id in asking
    )


def answer(message: Message, calls: OpenCalls) -> Iterator[dict[str, Any]]:
    """Yield the outputs for a tool message's results."""
    for result in results_with_content(message):
        call = calls.take(result.call_id)
        yield _WRITERS.get(type_of(call), _function)(call, result)


def _head(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": ANSWERS[type_of(call)], "call_id": call_id_of(call)}


def _text(result: ToolResult) -> str:
    # For the outputs that have no place for media.
    return text_with_notes(result.text, result.media)


def _function(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    content = [{"type": "input_text", "text": result.text}] if result.text else []
    # A program of the model's that called the tool is named again in the output:
    # https://platform.openai.com/docs/guides/tools-programmatic-tool-calling
    caller = {"caller": call["caller"]} if at(call, "caller", "type") == "program" else {}
    return {
        **_head(call),
        "output": [*content, *parts_of(result.media)] if result.media else result.text,
        **caller,
    }


def _shell(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    # A result knows that it failed, not with which code.
    outcome = {"type": "exit", "exit_code": 1 if result.error else 0}
    outcome_fields = {"stdout": _text(result), "stderr": "", "outcome": outcome}
    return {**_head(call), "output": [outcome_fields]}


def _local_shell(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    # `id` as well: in the SDK's type, the output of a local shell has no call id.
    return {**_head(call), "id": call_id_of(call), "output": _text(result)}


def _patch(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    status = "failed" if result.error else "completed"
    return {**_head(call), "status": status, "output": _text(result)}


def _computer(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    images = (text_at(part, "image_url") for part in parts_of(result.media))
    image = next((address for address in images if address), "")
    return {**_head(call), "output": {"type": "computer_screenshot", "image_url": image}}


def _tool_search(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    # `tool_search_output` has no text, and a function's output is accepted instead (recorded).
    if result.text or result.media:
        return _function({**call, "type": "function_call"}, result)
    return {**_head(call), "execution": "client", "status": "completed", "tools": []}


_WRITERS = {
    "shell_call": _shell,
    "local_shell_call": _local_shell,
    "apply_patch_call": _patch,
    "computer_call": _computer,
    "tool_search_call": _tool_search,
}


def _is_screenshot(media: Sequence[Media]) -> bool:
    return len(media) == 1 and bool(text_at(parts_of(media)[0], "image_url"))


def written_calls(items: list[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the ids and items of the open calls among items."""
    calls = ((tool_call(item), item) for item in items)
    return [(call.id, item) for call, item in calls if call]


def parts_of(media: Iterable[Media]) -> list[dict[str, Any]]:
    """Return content parts for images and files.

    >>> parts_of([Media("image/png", url="https://example.com/a.png")])[0]["image_url"]
    'https://example.com/a.png'
    """
    return [_part(medium) for medium in media]


def _part(medium: Media) -> dict[str, Any]:
    kind = medium.media_type
    address = medium.url or data_url(medium)
    if not address or kind.startswith(("audio/", "video/")):
        where = f" at {medium.url}" if medium.url else ""
        return {"type": "input_text", "text": f"[{kind}{where} was left out]"}
    if kind.startswith("image/"):
        # The API requires a detail (types/responses/response_input_image_param.py).
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    if not address.startswith("data:"):
        return {"type": "input_file", "file_url": address}
    name = "file" + (mimetypes.guess_extension(kind) or "")
    return {"type": "input_file", "filename": name, "file_data": address}


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
        result = [
            Decoded(len(run), (_message(role, run, shells),))
            for role, run in _runs(fresh, self._on_server.values)
        ]
        if result and result[-1].messages[0].role in {"assistant", "tool"}:
            # The next item may belong to the same message.
            result[-1] = attrs.evolve(result[-1], is_open=True)
        return result


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first.

    >>> [said.content for said in decode_request({"instructions": "Be brief.", "input": "Hi."})]
    ['Be brief.', 'Hi.']
    """
    body = plain(request)
    has_instructions = isinstance(body, Mapping) and "instructions" in body
    leading = [_instructions(body["instructions"])] if has_instructions else []
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
    ids = answered_within(items)
    calls = [call for call in map(tool_call, items) if call and call.id not in ids]
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
    ids = {call_id_of(item) for item in items if type_of(item) in ANSWERS}
    return {call_id_of(item) for item in outputs} & ids - {""}


def _decode(items: Any, *, unseen_calls: bool) -> list[Message]:
    if isinstance(items, str):
        return [decoded_message("user", items, decoded_native(NAME, items))]
    items_list = items if isinstance(items, list) else []
    referring = any(type_of(item) == "item_reference" for item in items_list)
    shells = shell_ids(items_list)
    ids: set[str] = set()
    result = []
    for role, run in _runs(items_list, _run_by_server(items_list)):
        # With a history on the server, an output may answer a call that is not here.
        elsewhere = unseen_calls or referring
        unseen = elsewhere and any(answered_id(item, shells) not in ids for item in run)
        message = _message(role, run, shells, unseen=unseen)
        ids.update(call.id for call in message.tool_calls)
        result.append(message)
    return result


def _message(
    role: str, run: list[Any], shells: Mapping[str, str], *, unseen: bool = False
) -> Message:
    if role != "tool":
        thinks = any(map(has_openais_id, run))
        return _MESSAGES[role](run, decoded_native(NAME, run, holds_reasoning=thinks))
    payload = _answers_payload(run, shells, unseen=unseen)
    return _tool(run, shells, decoded_native(NAME, payload))


def _answers_payload(run: list[Any], shells: Mapping[str, str], *, unseen: bool) -> Any:
    ids = {call_id_of(item): answered_id(item, shells) for item in run}
    others = {item: call for item, call in ids.items() if item != call}
    if not others and not unseen:
        return run
    return {UNSEEN_CALLS if unseen else _ITEMS: run, **({_SHELLS: others} if others else {})}


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
    parts = texts(output)
    if kind == "shell_call_output":
        parts = [text_at(part, key) for part in items_at(output) for key in ("stdout", "stderr")]
    text = "\n".join(filter(None, parts))
    if kind == "apply_patch_call_output" and at(item, "status") == "failed":
        return decoded_result(call_id, "", "", ToolError(text))
    # Either a list of parts, or one part: a screenshot.
    media = [] if isinstance(output, str) else _media_in(output) + _media_in([output])
    return decoded_result(call_id, "", text, None, media)


def _instructions(value: Any) -> Message:
    said = "\n\n".join(text for item in items_at(value) for text in texts(at(item, "content")))
    text = value if isinstance(value, str) else said
    return decoded_message("system", text, decoded_native(NAME, {"instructions": value}))


def _media_in(content: Any) -> list[Media]:
    """Read the images and files in content, without those that only have a `file_id`.

    >>> _media_in([{"type": "input_image", "image_url": "data:image/png;base64,aGk="}])
    [Media(media_type='image/png', url='')]
    """
    media = (_medium(part) for part in items_at(content))
    return [medium for medium in media if medium is not None]


def _medium(part: Any) -> Media | None:
    image = text_at(part, "image_url")
    if image:
        return _at_address(image, "image/*")
    address = text_at(part, "file_data") or text_at(part, "file_url")
    if not address:
        return None
    return _at_address(address, _guess(text_at(part, "filename")) or "application/octet-stream")


def _at_address(address: str, fallback: str) -> Media:
    octets = read_data_url(address)
    if octets is None:
        return Media(_guess(address.partition("?")[0]) or fallback, url=address)
    media_type, data = octets
    return Media(media_type or fallback, data or b"", address if data is None else "")


def _guess(name: str) -> str | None:
    return mimetypes.guess_type(name)[0]
