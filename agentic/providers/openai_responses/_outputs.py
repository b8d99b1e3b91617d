"""Encode tool outputs, each in the form that its call requires, and media as parts.

https://platform.openai.com/docs/guides/images-vision and .../guides/pdf-files: bytes are sent as a
data URL. This API does not accept audio input (types/responses/response_input_content.py of
https://github.com/openai/openai-python), so a text says that audio was left out.
"""

import mimetypes
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolResult
from agentic.providers.kit import at, text_at
from agentic.providers.kit._media import data_url, results_with_content, text_with_notes
from agentic.providers.openai_responses._items import (
    ANSWERS,
    answered_id,
    call_id_of,
    shell_ids,
    tool_call,
    type_of,
)

__all__ = ["OpenCalls", "answer", "can_answer", "parts_of", "written_calls"]


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
        """Return whether an output may answer a call: as written, or an unknown one.

        A function's output is also accepted for other calls (recorded for `tool_search_call`).
        """
        waiting = self._waiting.get(call_id)
        if not waiting:
            return True
        call = waiting[0]
        forms = (ANSWERS.get(type_of(call)), "function_call_output")
        answers = answered_id(output, shell_ids([call])) == call_id_of(call)
        return answers and type_of(output) in forms


def can_answer(items: list[Any], answers: list[Message]) -> bool:
    """Return whether rebuilt answers can have the form that the calls require.

    Only a screenshot answers a computer call, and it has no text:
    https://platform.openai.com/docs/guides/tools-computer-use
    """
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
    """Return the text for an output that has no place for media, which it names."""
    return text_with_notes(result.text, result.media)


def _function(call: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """Return the output of a function or custom tool, with the program that called it, if any.

    https://platform.openai.com/docs/guides/tools-programmatic-tool-calling
    """
    said = [{"type": "input_text", "text": result.text}] if result.text else []
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
    """Return the output of a tool search. A text is sent as a function's output (recorded)."""
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
