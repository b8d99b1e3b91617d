"""Assemble a streamed reply from its events.

The last event (`response.completed`, `response.incomplete`) contains the complete response. The
earlier events are assembled as well, for streams that end early and for servers whose last event is
empty: https://github.com/sipeed/picoclaw/issues/2674.
The events: https://platform.openai.com/docs/api-reference/responses-streaming. llama.cpp identifies
an item only by its id or its call id, without an index.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.providers._model import ModelStream, reported_error
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._streamed_texts import GrowingText, index_in, join_pieces
from agentic.providers.openai_responses._decoding import NAME
from agentic.providers.openai_responses._items import item_text

_LAST = {
    "response.completed",
    "response.incomplete",
    "response.cancelled",
    "response.done",  # https://openrouter.ai/docs/api-reference/responses-api/basic-usage
}

_FAILED = {"response.failed", "error", "response.error"}

_PARTS = {
    "response.output_text": ("content", "content_index", "text", "output_text"),
    "response.refusal": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_text": ("content", "content_index", "text", "reasoning_text"),
    "response.reasoning_summary_text": ("summary", "summary_index", "text", "summary_text"),
}
"""Events with a part's text: the list the part is in, its index field, text field and type."""

_FIELDS = {
    "response.function_call_arguments": "arguments",
    "response.mcp_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.code_interpreter_call_code": "code",
}
"""Events with a text that is a field of the item itself."""

_WHOLE_PARTS = {
    "response.content_part": ("content", "content_index"),
    "response.reasoning_summary_part": ("summary", "summary_index"),
}

_SPOKEN = {"response.output_text", "response.refusal"}


@attrs.define
class StreamedResponse(ModelStream):
    """Assembles one streamed reply from its events.

    >>> streamed = StreamedResponse()
    >>> streamed.feed({"type": "response.output_text.delta", "delta": "Hi."})
    'Hi.'
    """

    _response: dict[str, Any] = attrs.field(factory=dict, init=False)
    _items: dict[int, dict[str, Any]] = attrs.field(factory=dict, init=False)
    _places: dict[str, int] = attrs.field(factory=dict, init=False)
    """Where the item with an id, or the call with one, is in `_items`."""
    _ended: bool = attrs.field(default=False, init=False)

    def _process(self, event: Any) -> str:
        data = plain(event)
        kind = text_at(data, "type") or ("error" if at(data, "error") else "")
        if kind in _FAILED:
            raise_failure(data, self._model())
        if isinstance(at(data, "response"), Mapping):
            if kind in _LAST and at(data, "response", "status") == "failed":
                raise_failure(data, self._model())
            self._response = dict(data["response"])
            if kind in _LAST:
                return self._end(data)
        name, _, step = kind.rpartition(".")
        if name == "response.output_item":
            self._take_item(data, done=step == "done")
        return self._take_piece(name, step, data)

    def _built(self) -> dict[str, Any] | None:
        return self._response if self._ended else None

    def _model(self) -> str:
        return self.model or text_at(self._response, "model")

    def _end(self, data: Any) -> str:
        """Keep the complete response; return the text in it that had not arrived before."""
        self._ended = True
        if not items_at(self._response, "output"):
            self._response["output"] = [
                join_pieces(item) for _, item in sorted(self._items.items())
            ]
        # llama.cpp's counts are next to the response, not in it.
        if not at(self._response, "usage") and at(data, "timings"):
            self._response["timings"] = data["timings"]
        said = "".join(map(item_text, items_at(self._response, "output")))
        told = self.text
        # A server that streams no pieces has its whole text here.
        return said[len(told) :] if said.startswith(told) else ""

    def _take_item(self, data: Any, *, done: bool) -> None:
        item = at(data, "item")
        if not isinstance(item, Mapping):
            return
        known = self._find(data, item)
        place = known if done and known is not None else self._place(data)
        self._items[place] = _copy(item)
        self._places |= {item_id: place for k in ("id", "call_id") if (item_id := text_at(item, k))}

    def _place(self, data: Any) -> int:
        """Return the place of a new item: the index in the event, or else the end."""
        index = index_in(at(data, "output_index"))
        return max(self._items, default=-1) + 1 if index is None else index

    def _take_piece(self, name: str, step: str, data: Any) -> str:
        if step not in {"added", "delta", "done"}:
            return ""
        if name in _WHOLE_PARTS:
            where, index = _WHOLE_PARTS[name]
            part = at(data, "part")
            if isinstance(part, Mapping):
                self._part(data, where, index).update(_copy(part))
        elif name in _FIELDS:
            # Arguments under an index that no call began with continue the latest call.
            _put(self._item(data, of_call=True), _FIELDS[name], step, data)
        elif name in _PARTS:
            where, index, field, part_type = _PARTS[name]
            part = self._part(data, where, index, part_type)
            added = _put(part, field, step, data)
            return added if name in _SPOKEN else ""
        return ""

    def _part(
        self, data: Any, where: str, index: str, part_type: str = "output_text"
    ) -> dict[str, Any]:
        """Return the part that an event refers to; create it if necessary."""
        item, number = self._item(data), at(data, index)
        parts = item[where] = items_at(item, where)
        wanted = number if isinstance(number, int) else max(len(parts) - 1, 0)
        if not 0 <= wanted < len(parts) or not isinstance(parts[wanted], dict):
            wanted = len(parts)
            parts.append({"type": part_type})
        part: dict[str, Any] = parts[wanted]
        return part

    def _item(self, data: Any, *, of_call: bool = False) -> dict[str, Any]:
        """Return the item that an event refers to; create it if necessary."""
        place = self._find(data, data)
        if place is None and of_call:
            place = self._latest_call()
        if place is None:
            place = self._place(data)
            self._items[place] = {"type": "message", "role": "assistant", "content": []}
        return self._items[place]

    def _find(self, data: Any, about: Any) -> int | None:
        item_id = text_at(about, "item_id") or text_at(about, "id") or text_at(about, "call_id")
        # A known id decides, and only then an index. GitHub Copilot's ids are never known, since
        # they change with each event (https://github.com/lidge-jun/opencodex/issues/995, 2026-08).
        if item_id in self._places:
            return self._places[item_id]
        index = index_in(at(data, "output_index"))
        if index is not None:
            return index if index in self._items else None
        # A piece that names no item continues the latest one.
        return max(self._items, default=None) if not item_id else None

    def _latest_call(self) -> int | None:
        calls = (n for n, item in self._items.items() if text_at(item, "type").endswith("call"))
        return max(calls, default=None)


def raise_failure(data: Any, model: str) -> None:
    """Raise the error in a failed response or in an error event.

    Raises:
        ContextOverflow: the request does not fit the model's window.
        RequestFailed: anything else.
    """
    error = at(data, "response", "error") or at(data, "error") or data
    found = at(error, "status") or at(data, "status")
    told = error if isinstance(error, str) else text_at(error, "message")
    words = (text_at(error, "code"), told)
    problem = ": ".join(word for word in words if word) or "the response failed, without a reason"
    status = found if isinstance(found, int) else None
    raise reported_error(error, NAME, model, status, problem)


def _put(target: dict[str, Any], field: str, step: str, data: Any) -> str:
    """Append a piece of text or set the whole text; return what is new."""
    if step == "delta":
        if not isinstance(target.get(field), GrowingText):
            target[field] = GrowingText(text_at(target, field))
        piece: str = target[field].add(text_at(data, "delta"))
        return piece
    before = text_at(join_pieces(target), field)
    whole = target[field] = text_at(data, field) or before
    return whole[len(before) :] if whole.startswith(before) else ""


def _copy(item: Mapping[str, Any]) -> dict[str, Any]:
    """Copy an item, with its parts, so that the copy can be modified."""
    copied = dict(item)
    for where in ("content", "summary"):
        if isinstance(copied.get(where), list):
            copied[where] = [dict(p) if isinstance(p, Mapping) else p for p in copied[where]]
    return copied
