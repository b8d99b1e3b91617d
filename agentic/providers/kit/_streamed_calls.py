"""Put together the calls of a streamed reply, whichever way a server marks what belongs together.

OpenAI sends id and name once and an `index` in every piece. What other servers send (2026-11):

- id and name in every piece (llama-cpp-python), or a new id in every piece;
- no index, or the same index for all calls, with different ids;
- an index that counts pieces, or that is 0 in the first piece of each call and right in the rest;
- an index that is a number in one piece and a text in the next;
- the arguments again, as a whole, in the last piece.

So a known id decides. An index decides next, unless the piece has the name of another call. What
has neither continues the latest call.
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from agentic.providers.kit._json import at, text_at
from agentic.providers.kit._streamed_texts import GrowingText, add_fields, index_in, join_pieces

_OWN = {"index", "id", "function", "custom"}


@attrs.define
class StreamedCalls:
    """The calls of a streamed message.

    >>> calls = StreamedCalls()
    >>> calls.add({"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}})
    >>> calls.add({"index": 1, "function": {"arguments": "{}"}})
    >>> calls.whole()
    [{'id': 'a', 'function': {'name': 'read', 'arguments': '{}'}}]
    """

    _calls: list[dict[str, Any]] = attrs.field(factory=list)
    _by_index: dict[int, dict[str, Any]] = attrs.field(factory=dict)
    """The latest call that began with each index. An index that only later pieces have is no sign:
    it may count pieces."""
    _by_id: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    """The latest call with each id."""

    def add(self, piece: Any) -> None:
        """Add a piece of a call."""
        if not isinstance(piece, dict):
            return
        call = self._continued(piece)
        if call is None:
            call = {}
            self._calls.append(call)
            if (index := index_in(piece.get("index"))) is not None:
                self._by_index[index] = call
        add_fields(call, {key: value for key, value in piece.items() if key not in _OWN})
        if not call.get("id"):
            call["id"] = piece.get("id")
            self._by_id[text_at(call, "id")] = call
        for key in ("function", "custom"):
            if isinstance(piece.get(key), dict):
                _add_function(call.setdefault(key, {}), piece[key])

    def whole(self) -> list[dict[str, Any]]:
        """Return the calls as in a non-streamed reply."""
        return [join_pieces({"id": None, **call}) for call in self._calls]

    def _continued(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the call that a piece continues; None if it begins a new one."""
        index, call_id = index_in(piece.get("index")), text_at(piece, "id")
        name = text_at(piece, "function", "name") or text_at(piece, "custom", "name")
        call = None if index is None else self._by_index.get(index)
        is_new_index = index is not None and call is None
        # By its index, if several calls have the same id.
        if call_id in self._by_id and (call is None or call.get("id") != call_id):
            call = self._by_id[call_id]
        # A call that begins has a name, or at least no arguments yet.
        if call is None and not name and (not call_id or _arguments(piece)):
            call = self._calls[-1] if self._calls else None
        # Damaged ids: the same call twice under one id is told from a repetition by its index.
        if call is not None and name and is_new_index and _repeats_whole(call, piece):
            return None
        return None if call is None or _another(call, call_id, name, piece) else call


def _another(call: dict[str, Any], call_id: str, name: str, piece: Mapping[str, Any]) -> bool:
    """Return whether a piece with a known index or id begins a new call."""
    if not name:
        return False
    if call_id and call.get("id") != call_id:
        return bool(call.get("id"))
    start = at(call, "function", "arguments")
    present = text_at(call, "function", "name") or text_at(call, "custom", "name")
    if present and name != present:
        # If the call has an id but no arguments yet, its name may still be incomplete.
        return bool(start) or not call.get("id")
    # The same name is a new call once the arguments so far are complete. If the call has an id, the
    # same arguments only repeat it.
    arguments = _arguments(piece)
    if not arguments.strip() or _object(start) is None:
        return False
    return not call.get("id") or not _repeats(start, arguments)


def _arguments(piece: Mapping[str, Any]) -> str:
    return text_at(piece, "function", "arguments") or text_at(piece, "custom", "input")


def _repeats_whole(call: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Return whether a piece holds the arguments of a call that is complete already."""
    arguments = _arguments(piece)
    return bool(arguments.strip()) and _repeats(at(call, "function", "arguments"), arguments)


def _repeats(start: Any, arguments: str) -> bool:
    """Return whether arguments that are complete already come again as a whole."""
    # In this order: hardly a piece begins an object where one has ended, and is parsed for it.
    if not arguments.lstrip().startswith("{") or _object(start) is None:
        return False
    return _object(GrowingText(arguments)) == _object(start)


def _object(text: Any) -> dict[str, Any] | None:
    """Return the JSON object in a text; None if it is not complete, which its end mostly shows."""
    if not isinstance(text, GrowingText) or not str(text).rstrip().endswith("}"):
        return None
    try:
        value = json.loads(str(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _add_function(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    name = text_at(piece, "name")
    function.setdefault("name", "")
    # llama-cpp-python repeats the whole name in every piece; others send it in parts.
    if name != function["name"]:
        function["name"] += name
    is_repeat = _repeats(function.get("arguments"), text_at(piece, "arguments"))
    left_out = {"name", "arguments"} if is_repeat else {"name"}
    add_fields(function, {key: value for key, value in piece.items() if key not in left_out})
