"""Pieces of a streamed message put together: texts, calls, chunks of content, details."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from agentic.providers._plain import at, text_at

__all__ = ["Calls", "Chunks", "add_detail", "merge", "whole"]


@attrs.define(eq=False)
class Texts:
    """A text that comes in pieces; joined once, at the end. No piece of it is empty."""

    pieces: list[str] = attrs.field(factory=list)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def add(self, piece: str) -> None:
        """Append a piece."""
        if piece:
            self.pieces.append(piece)


def whole(value: Any) -> Any:
    """Give plain data: every text that came in pieces joined.

    >>> whole({"content": Texts(["a", "b"])})
    {'content': 'ab'}
    """
    if isinstance(value, Texts):
        return "".join(value.pieces)
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
            present.add(value)
        elif key == THINKING and isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            for block in value:
                add_thinking(present, block)
        elif isinstance(value, list):
            fields[key] = present = present if isinstance(present, list) else []
            present.extend(value)
        elif isinstance(value, dict):
            fields[key] = present = present if isinstance(present, dict) else {}
            merge(present, value, ())
        else:
            fields[key] = value


THINKING = "thinking_blocks"


def add_thinking(blocks: list[Any], block: Any) -> None:
    """Take a fragment of LiteLLM's `thinking_blocks`, which are Claude's blocks of thinking.

    It sends one for each event of the stream, all without an index: texts, then a signature, which
    ends the block. Some versions repeat the whole text beside the signature, others send finished
    blocks only:
    https://github.com/BerriAI/litellm/issues/29428, https://github.com/BerriAI/litellm/pull/31022,
    https://github.com/open-webui/open-webui/pull/29860 (2026-11). A block in pieces is refused by
    Anthropic when it goes back.

    >>> blocks = []
    >>> for text, signature in [("Look ", ""), ("first.", None), ("", "EqQB")]:
    ...     add_thinking(blocks, {"type": "thinking", "thinking": text, "signature": signature})
    >>> whole(blocks)
    [{'type': 'thinking', 'thinking': 'Look first.', 'signature': 'EqQB'}]
    """
    if text_at(block, "type") != "thinking" or not isinstance(at(block, "thinking"), str | None):
        blocks.append(block)
        return
    last: Any = blocks[-1] if blocks else None
    if not isinstance(at(last, "thinking"), Texts) or text_at(last, "signature"):
        blocks.append(last := {"type": "thinking", "thinking": Texts()})
    rest = {key: value for key, value in block.items() if key != "thinking"}
    text = text_at(block, "thinking")
    if not (text_at(block, "signature") and text == whole(last["thinking"])):
        last["thinking"].add(text)
    last.update({key: value for key, value in rest.items() if value or key not in last})


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
        last: dict[str, Any] = (
            self[-1] if self and self[-1].get("type") == chunk.get("type") else {}
        )
        thought, text = chunk.get("thinking"), text_at(chunk, "text")
        if isinstance(thought, list):
            inner = last.get("thinking")
            if not isinstance(inner, Chunks):
                inner = Chunks()
                self.append({**chunk, "thinking": inner})
            for each in thought:
                inner.add(each)
            return ""
        if chunk.get("type") != "text":
            self.append(dict(chunk))
            return ""
        if not isinstance(last.get("text"), Texts):
            self.append({**chunk, "text": Texts()})
        self[-1]["text"].add(text)
        return text


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

    _calls: list[dict[str, Any]] = attrs.field(factory=list)
    _by_index: dict[int | str, dict[str, Any]] = attrs.field(factory=dict)
    _by_id: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    """The latest call of each index, and of each id."""

    def add(self, piece: Any) -> None:
        """Take a piece of a call."""
        if not isinstance(piece, dict):
            return
        call = self._continued(piece)
        if call is None:
            call = {}
            self._calls.append(call)
            if piece.get("index") is not None:
                self._by_index[_key(piece["index"])] = call
        rest = {key: value for key, value in piece.items() if key not in _OWN}
        merge(call, rest, ())
        if not call.get("id"):
            call["id"] = piece.get("id")
            self._by_id[text_at(call, "id")] = call
        for key in ("function", "custom"):
            if isinstance(piece.get(key), dict):
                _add_function(call.setdefault(key, {}), piece[key])

    def whole(self) -> list[dict[str, Any]]:
        """Give the calls as a reply that is not streamed has them."""
        return [whole({"id": None, **call}) for call in self._calls]

    def _continued(self, piece: Mapping[str, Any]) -> dict[str, Any] | None:
        """Find the call that a piece belongs to; None if it begins another."""
        index, call_id = piece.get("index"), text_at(piece, "id")
        name = text_at(piece, "function", "name") or text_at(piece, "custom", "name")
        if index is not None:
            found = self._by_index.get(_key(index))
        elif call_id:
            found = self._by_id.get(call_id)
        else:
            found = self._calls[-1] if self._calls and not name else None
        return None if found is None or _another(found, call_id, name, piece) else found


def _key(index: Any) -> int | str:
    return index if isinstance(index, int | str) else repr(index)


_OWN = {"index", "id", "function", "custom"}


def _another(call: dict[str, Any], call_id: str, name: str, piece: Mapping[str, Any]) -> bool:
    """Tell whether a piece under a known index begins a call of its own."""
    if not name:
        return False
    if call_id:
        return bool(call.get("id")) and call["id"] != call_id
    begun = at(call, "function", "arguments")
    known = text_at(call, "function", "name") or text_at(call, "custom", "name")
    if known and name != known:
        # Under an id, a name that has no arguments yet may still grow.
        return bool(begun) or not call.get("id")
    arguments = text_at(piece, "function", "arguments")
    return bool(arguments.strip()) and _is_json(begun)


def _is_json(begun: Any) -> bool:
    """Return whether the arguments so far are whole; most pieces do not even look like an end."""
    if not (isinstance(begun, Texts) and begun and begun.pieces[-1].rstrip().endswith("}")):
        return False
    try:
        json.loads(whole(begun))
    except (ValueError, RecursionError):
        return False
    return True


def _add_function(function: dict[str, Any], piece: Mapping[str, Any]) -> None:
    name = text_at(piece, "name")
    rest = {key: value for key, value in piece.items() if key != "name"}
    function.setdefault("name", "")
    if name != function["name"]:
        function["name"] += name
    merge(function, rest, ("arguments", "input"))
