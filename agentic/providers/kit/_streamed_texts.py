"""Put together what a stream sends in pieces.

A text arrives in pieces. So does a text in a field that no adapter knows: a server that adds one,
as Copilot adds `reasoning_text`, streams it as it streams the reply. Only the fields in `WHOLE`
arrive whole in each event that has them.
"""

from collections.abc import Callable, Mapping
from typing import Any

WHOLE = frozenset(
    {
        *("role", "id", "type", "name", "format", "object", "model", "status", "phase"),
        # GitHub Copilot (https://github.com/BerriAI/litellm/issues/35021, 2026-07), Mistral,
        # Anthropic and Gemini send a signature once, at the end of what it signs.
        *("signature", "thought_signature", "reasoning_opaque", "encrypted_content"),
        *("tool_call_id", "call_id", "item_id"),
    }
)
"""Fields of text that state something, such as what the others are: the latest value counts."""


class GrowingText:
    """A text that arrives in pieces, and may be read after each of them.

    A reading joins the new pieces and appends them to the former reading, which CPython extends in
    place if nobody else holds it. So all readings together copy each piece once. Whoever keeps a
    reading, or runs under a tracer, gets a copy of the whole text at the next one, as a string
    cannot be shared with a longer one. Without a new piece the same string is returned.

    >>> text = GrowingText("It is ")
    >>> text.add("green."), str(text)
    ('green.', 'It is green.')
    """

    __slots__ = ("_new", "_text")

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._new: list[str] = []

    def add(self, piece: str) -> str:
        """Append a piece, and return it."""
        if piece:
            self._new.append(piece)
        return piece

    def __bool__(self) -> bool:
        return bool(self._text or self._new)

    def __str__(self) -> str:
        if self._new:
            # A local variable with the only reference, without which CPython extends no text in
            # place.
            text, self._text = self._text, ""
            text += "".join(self._new)
            self._text, self._new = text, []
        return self._text


def add_fields(
    fields: dict[str, Any],
    piece: Mapping[str, Any],
    is_text: Callable[[str], bool] = lambda name: name not in WHOLE,
) -> None:
    """Add the fields of a piece: append to lists and to texts, replace other values.

    `is_text` returns whether a field with this name is a text that arrives in pieces.

    >>> fields = {}
    >>> for piece in ({"role": "assistant", "reasoning_text": "Look "}, {"reasoning_text": "up."}):
    ...     add_fields(fields, piece)
    >>> join_pieces(fields)
    {'role': 'assistant', 'reasoning_text': 'Look up.'}
    """
    for name, value in piece.items():
        present = fields.get(name)
        # A null means that this piece adds nothing to what has arrived.
        if value is None:
            fields.setdefault(name, None)
        elif isinstance(value, str) and is_text(name):
            if not isinstance(present, GrowingText):
                fields[name] = present = GrowingText()
            present.add(value)
        elif isinstance(value, list):
            fields[name] = present = present if isinstance(present, list) else []
            present.extend(value)
        elif isinstance(value, dict):
            fields[name] = present = present if isinstance(present, dict) else {}
            add_fields(present, value, is_text)
        else:
            fields[name] = value


def join_pieces(data: Any) -> Any:
    """Return JSON data with a string for each `GrowingText` in it.

    >>> join_pieces({"content": [GrowingText("It is green.")]})
    {'content': ['It is green.']}
    """
    if isinstance(data, GrowingText):
        return str(data)
    if isinstance(data, dict):
        return {key: join_pieces(value) for key, value in data.items()}
    return [join_pieces(value) for value in data] if isinstance(data, list) else data


def index_in(value: Any) -> int | None:
    """Return an index, which some servers send as a text or as a float; None if it is none.

    >>> index_in(1), index_in("1"), index_in(1.0), index_in(None), index_in("x")
    (1, 1, 1, None, None)
    """
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < _DIGITS else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


_DIGITS = 10
"""No reply has that many blocks, and Python refuses to read numbers of thousands of digits."""
