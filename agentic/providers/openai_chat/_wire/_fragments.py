"""Pieces of a streamed message put together: texts, calls, chunks of content, details."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from agentic.providers._plain import at, text_at

__all__ = ["Calls", "Chunks", "add_detail", "merge", "whole"]


class Texts(list[str]):
    """A text that comes in pieces; joined once, at the end."""


def whole(value: Any) -> Any:
    """Give plain data: every text that came in pieces joined.

    >>> whole({"content": Texts(["a", "b"])})
    {'content': 'ab'}
    """
    if isinstance(value, Texts):
        return "".join(value)
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def merge(fields: dict[str, Any], given: Mapping[str, Any], texts: Collection[str]) -> None:
    """Take in fields: the named texts grow, lists too, of anything else the latest counts.

    >>> fields = {"role": "assistant"}
    >>> merge(fields, {"content": "a"}, {"content"}), merge(fields, {"content": "b"}, {"content"})
    (None, None)
    >>> whole(fields)
    {'role': 'assistant', 'content': 'ab'}
    """
    for key, value in given.items():
        present = fields.get(key)
        if value is None:
            fields.setdefault(key, None)
        elif key in texts and isinstance(value, str):
            if not isinstance(present, Texts):
                fields[key] = present = Texts()
            present.append(value)
        elif isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            present.extend(value)
        elif isinstance(value, dict):
            fields[key] = present = present if isinstance(present, dict) else {}
            merge(present, value, ())
        else:
            fields[key] = value


class Chunks(list[dict[str, Any]]):
    """Mistral's content: thoughts and texts, of which neighbours of one kind are one chunk.

    https://docs.mistral.ai/capabilities/reasoning/ (2026-11)
    """

    def add(self, chunk: Any) -> str:
        """Take a chunk, or a bare text; give the text that the reader sees."""
        if isinstance(chunk, str):
            chunk = {"type": "text", "text": chunk}
        if not isinstance(chunk, dict):
            return ""
        last = self[-1] if self and self[-1].get("type") == chunk.get("type") else None
        thought, text = chunk.get("thinking"), text_at(chunk, "text")
        if isinstance(thought, list):
            inner = Chunks() if last is None else last["thinking"]
            for each in thought:
                inner.add(each)
            if last is None:
                self.append({**chunk, "thinking": inner})
            return ""
        if last is None or chunk.get("type") != "text":
            self.append({**chunk, "text": Texts([text])} if "text" in chunk else dict(chunk))
        else:
            last["text"].append(text)
        return text if chunk.get("type") == "text" else ""


def add_detail(details: list[Any], detail: Any) -> None:
    """Take a piece of OpenRouter's `reasoning_details`: the texts of one index and type are one.

    https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11)
    """
    if not isinstance(detail, dict):
        details.append(detail)
        return
    last = details[-1] if details else None
    kind = (detail.get("type"), detail.get("index"))
    if not isinstance(last, dict) or (last.get("type"), last.get("index")) != kind:
        details.append(last := {})
    merge(last, detail, ("text", "summary"))


@attrs.define
class Calls:
    """The calls of a streamed message.

    OpenAI sends id and name once and an `index` in every piece. llama-cpp-python repeats both in
    every piece, others leave the index out, or give all calls the index 0 and ids of their own.
    """

    _calls: list[tuple[Any, dict[str, Any]]] = attrs.field(factory=list)
    """The index that a call came with, and its fields."""

    def add(self, piece: Any) -> None:
        """Take a piece of a call."""
        if not isinstance(piece, dict):
            return
        call = self._continued(piece)
        if call is None:
            call = {}
            self._calls.append((piece.get("index"), call))
        rest = {key: value for key, value in piece.items() if key not in _OWN}
        merge(call, rest, ())
        if not call.get("id"):
            call["id"] = piece.get("id")
        for key in ("function", "custom"):
            if isinstance(piece.get(key), dict):
                _add_function(call.setdefault(key, {}), piece[key])

    def whole(self) -> list[dict[str, Any]]:
        """Give the calls as a reply that is not streamed has them."""
        return [whole({"id": None, **call}) for _, call in self._calls]

    def _continued(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Find the call that a piece belongs to; None if it begins another."""
        index, call_id = piece.get("index"), text_at(piece, "id")
        name = text_at(piece, "function", "name") or text_at(piece, "custom", "name")
        if index is not None:
            found = [call for at_index, call in self._calls if at_index == index][-1:]
        elif call_id:
            found = [call for _, call in self._calls if call.get("id") == call_id][-1:]
        else:
            found = [] if name else [call for _, call in self._calls][-1:]
        return found[0] if found and not _another(found[0], call_id, name, piece) else None


_OWN = {"index", "id", "function", "custom"}


def _another(call: dict[str, Any], call_id: str, name: str, piece: Mapping[str, Any]) -> bool:
    """Tell whether a piece under a known index begins a call of its own."""
    if not name:
        return False
    if call_id:
        return bool(call.get("id")) and call["id"] != call_id
    begun = whole(at(call, "function", "arguments"))
    known = text_at(call, "function", "name") or text_at(call, "custom", "name")
    if known and name != known:
        # Under an id, a name that has no arguments yet may still grow.
        return bool(begun) or not call.get("id")
    arguments = text_at(piece, "function", "arguments")
    return bool(arguments.strip()) and _is_json(begun)


def _is_json(text: Any) -> bool:
    try:
        json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _add_function(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    name = text_at(piece, "name")
    rest = {key: value for key, value in piece.items() if key != "name"}
    function.setdefault("name", "")
    if name != function["name"]:
        function["name"] += name
    merge(function, rest, ("arguments", "input"))
