"""What an error says: its status, its codes, its sizes, and the texts meant for a reader.

Only fields that speak of the error are read. What it repeats of the request (`input`,
`failed_generation`, `prompt`) and what a reply says are somebody else's words: a conversation about
context windows must not look like an overflow. Texts come in small letters, without quotes and
thousands separators, and never longer than a page, since an error may repeat a megabyte.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

__all__ = ["ErrorInfo", "read_said", "spell", "status_of"]

_DEPTH = 8
_ITEMS = 20
_FIELDS = 100
_JSON_CHARS = 100_000
_HEAD_CHARS, _TAIL_CHARS = 6_000, 2_000

_SPEAKING = {
    *("message", "messages", "msg", "detail", "details", "raw", "body", "status_msg", "response"),
    *("metadata", "$metadata", "responsemetadata", "base_resp", "data", "cause"),
}
"""Keys of what speaks, in small letters; so does each that holds `error` or `exception`."""

_CODES = {"code", "type", "__type", "status", "reason", "error_code", "errorcode", "error_type"}
_STATUSES = ("code", "status", "status_code", "httpstatuscode")
_WORD = re.compile(r"[\w.\- ]{1,60}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUOTES = str.maketrans("", "", "`'\"\\‘’“”")  # noqa: RUF001  the curly ones
_THOUSANDS = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")


@attrs.frozen
class ErrorInfo:
    """What one error says."""

    status: int | None = None
    """The HTTP status, where it is known."""
    codes: tuple[str, ...] = ()
    """Words for programs, in small letters with underscores."""
    texts: tuple[str, ...] = ()
    """Sentences, as `spell` gives them."""
    sizes: tuple[int | None, int | None] = (None, None)
    """The prompt's tokens and the window, where fields hold them (llama.cpp, ds4)."""


def read_said(error: Any) -> ErrorInfo:
    """Read an exception, a body, or a text."""
    if not isinstance(error, BaseException):
        return _error_text(error, None, ())
    structured = [_peek(error, name) for name in ("body", "details", "response")]
    structured.append(_peek(structured[-1], "text"))
    codes = (_code(type(error).__name__), _code(_peek(error, "code")))
    said = _error_text(structured, status_of(error), codes)
    # A message is the body once more, with everything in it that the request said.
    return said if said.texts else _error_text(str(error), said.status, (*codes, *said.codes))


def status_of(error: Any) -> int | None:
    """Read the HTTP status where each SDK has it; None where no answer came."""
    response = _peek(error, "response")
    if isinstance(response, Mapping):  # botocore
        metadata = response.get("ResponseMetadata")
        response = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    elif response is not None:  # httpx, requests
        response = _peek(response, "status_code")
    names = ("status_code", "code", "status", "http_status")
    found = (*(_peek(error, name) for name in names), response)
    return next((int(status) for status in found if _is_status(status)), None)


def spell(text: str) -> str:
    r"""Write a text so that one pattern finds it however it was quoted.

    >>> spell("This model\\'s  maximum is 200,000.")
    'this models maximum is 200000.'
    """
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]} {text[-_TAIL_CHARS:]}"
    text = text.replace("\\n", " ").lower().translate(_QUOTES)
    return _THOUSANDS.sub("", " ".join(text.split()))


def _error_text(item: Any, status: int | None, codes: tuple[str, ...]) -> ErrorInfo:
    fields: dict[str, Any] = {}
    texts: list[str] = []
    words: list[str] = list(codes)
    for name, value in _walk("", item, _DEPTH):
        if not name:
            texts.append(spell(value))
        elif name in _CODES:
            words.append(_code(value))
        if _is_size(value):
            fields[name] = value
    stated = [fields[name] for name in _STATUSES if _is_status(fields.get(name))]
    return ErrorInfo(
        status=status or next(iter(stated), None),
        codes=tuple(filter(None, words)),
        texts=tuple(texts[:_ITEMS]),
        sizes=(fields.get("n_prompt_tokens"), fields.get("n_ctx")),
    )


def _walk(name: str, item: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the texts that speak, under no name, and every plain value under its own."""
    if isinstance(item, bytes):
        item = item[: _JSON_CHARS + 1].decode(errors="replace")
    if isinstance(item, str):
        inner = _parsed(item)
        if inner is None and _speaks(name):
            yield "", item
        item = inner
    if not depth or not _speaks(name):
        return
    if isinstance(item, list):
        for part in item[:_ITEMS]:
            yield from _walk(name, part, depth - 1)
    elif isinstance(item, Mapping):
        yield "type", name  # a stream's {"throttlingException": {...}}
        for key, value in list(item.items())[:_FIELDS]:
            field = str(key).lower()
            if isinstance(value, str | int):
                yield field, value
            yield from _walk(field, value, depth - 1)


def _speaks(name: str) -> bool:
    return not name or name in _SPEAKING or "error" in name or "exception" in name


def _parsed(text: str) -> Any:
    """Read a text that is JSON as a whole; None for any other."""
    if len(text) <= _JSON_CHARS and text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def _code(word: Any) -> str:
    """Spell a code; an empty text for what is none."""
    if isinstance(word, bool) or not isinstance(word, str | int):
        return ""
    text = str(word)[:61]
    return _HUMP.sub("_", text).lower().translate(_SNAKE) if _WORD.fullmatch(text) else ""


_SNAKE = str.maketrans("-. ", "___")


def _peek(item: Any, name: str) -> Any:
    """Look at an attribute; a property of a foreign object may raise anything."""
    with contextlib.suppress(Exception):
        return getattr(item, name, None)
    return None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_status(value: Any) -> bool:
    return _is_size(value) and 100 <= value < 600  # noqa: PLR2004  what HTTP has
