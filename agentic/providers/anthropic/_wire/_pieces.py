"""A content block while it is streamed: its texts come in pieces, and are joined when it is read.

Pieces are kept in lists, so that a long reply costs no more for each of them than a short one.
"""

from typing import Any

import attrs

from agentic.providers._plain import at, items_at, text_at
from agentic.providers._sendable import parse_object
from agentic.providers.anthropic._wire._calls import INVALID_JSON

__all__ = ["StreamedBlock"]

_SETTLED = {
    "signature_delta": ("signature",),
    "compaction_delta": ("content", "encrypted_content"),
}
"""What comes whole, in one delta."""
_GROWING = {"text_delta": "text", "thinking_delta": "thinking"}
"""What comes in fragments."""
_KINDS = {"thinking_delta": "thinking", "input_json_delta": "tool_use"}
"""Which block a delta is for; any other is for a text."""


@attrs.define
class StreamedBlock:
    """One block so far."""

    _fields: dict[str, Any]
    _pieces: dict[str, list[str]] = attrs.field(factory=dict, init=False)
    """The fragments of the texts that grow, by field."""
    _citations: list[Any] = attrs.field(factory=list, init=False)
    """Those that came in deltas."""
    _input: list[str] | None = attrs.field(default=None, init=False)
    """The fragments of a call's JSON text, until the block ends."""

    @classmethod
    def begin(cls, block: Any) -> "StreamedBlock":
        """Take the block as its start gives it."""
        return cls(dict(block) if isinstance(block, dict) else {"type": "text"})

    @classmethod
    def of_delta(cls, delta: Any) -> "StreamedBlock":
        """Make the block of a delta whose start was left out."""
        return cls({"type": _KINDS.get(text_at(delta, "type"), "text")})

    @property
    def is_open(self) -> bool:
        """Whether a call's input is still to come."""
        return self._input is not None

    def add(self, delta: Any) -> str:
        """Take the next delta; give the text that it adds to the reply."""
        kind = text_at(delta, "type")
        if kind in _GROWING:
            piece = text_at(delta, _GROWING[kind])
            self._grow(_GROWING[kind], piece)
            return piece if kind == "text_delta" else ""
        if kind == "input_json_delta":
            self._input = [] if self._input is None else self._input
            self._input.append(text_at(delta, "partial_json"))
        elif kind == "citations_delta":
            self._citations.append(at(delta, "citation"))
        for field in _SETTLED.get(kind, ()):
            if at(delta, field) is not None:
                self._fields[field] = at(delta, field)
        return ""

    def _grow(self, field: str, piece: str) -> None:
        if field not in self._pieces:
            self._pieces[field] = [text_at(self._fields, field)]
            self._fields[field] = ""  # so that it keeps its place among the fields
        self._pieces[field].append(piece)

    def close(self) -> None:
        """End a call's input."""
        text, self._input = "".join(self._input or ()), None
        if text.strip():
            self._fields["input"] = _parsed(text)

    def whole(self) -> dict[str, Any]:
        """Give the block as a response that was not streamed holds it."""
        joined: dict[str, Any] = {key: "".join(pieces) for key, pieces in self._pieces.items()}
        if self._citations:
            joined["citations"] = [*items_at(self._fields, "citations"), *self._citations]
        return {**self._fields, **joined}


def _parsed(text: str) -> dict[str, Any]:
    """Read a call's input; what is no object is kept as its text."""
    found = parse_object(text)
    return {INVALID_JSON: text} if found is None else found
