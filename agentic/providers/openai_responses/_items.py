"""Read wire items: who produced one, which call it makes or answers. Write outputs and media.

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers.kit import at, items_at, text_at
from agentic.providers.kit._json import json_text
from agentic.providers.kit._media import data_url, results_with_content, text_with_notes
from agentic.providers.kit._messages import decoded_call

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
    named = item.get("type") if type(item) is dict else text_at(item, "type")
    if isinstance(named, str) and named:
        return named
    # https://platform.openai.com/docs/api-reference/responses/create: the type of an easy input
    # message may be left out, and so may that of an item reference.
    return "message" if at(item, "role") is not None else "item_reference" if at(item, "id") else ""


def call_id_of(item: Any) -> str:
    """Return the id that a call and its output share; empty if there is none.

    >>> call_id_of({"type": "local_shell_call_output", "id": "c1", "output": "a.py"})
    'c1'
    """
    if named := text_at(item, "call_id"):
        return named
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
    named = call_id_of(item)
    return named if text_at(item, "call_id") else shells.get(named, named)


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
    said = (part.get("text", part.get("refusal")) for part in _parts(content))
    return "".join(text for text in said if isinstance(text, str))


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
    stored = type_of(item) == "reasoning" and has_openais_id(item)
    return stored and not text_at(item, "encrypted_content")


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
    said = [{"type": "input_text", "text": result.text}] if result.text else []
    # A program of the model's that called the tool is named again in the output:
    # https://platform.openai.com/docs/guides/tools-programmatic-tool-calling
    caller = {"caller": call["caller"]} if at(call, "caller", "type") == "program" else {}
    return {
        **_head(call),
        "output": [*said, *parts_of(result.media)] if result.media else result.text,
        **caller,
    }


def _shell(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    # A result knows that it failed, not with which code.
    outcome = {"type": "exit", "exit_code": 1 if result.error else 0}
    said = {"stdout": _text(result), "stderr": "", "outcome": outcome}
    return {**_head(call), "output": [said]}


def _local_shell(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    # `id` as well: in the SDK's type, the output of a local shell has no call id.
    return {**_head(call), "id": call_id_of(call), "output": _text(result)}


def _patch(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    status = "failed" if result.error else "completed"
    return {**_head(call), "status": status, "output": _text(result)}


def _computer(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    images = (text_at(part, "image_url") for part in parts_of(result.media))
    shown = next((address for address in images if address), "")
    return {**_head(call), "output": {"type": "computer_screenshot", "image_url": shown}}


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
