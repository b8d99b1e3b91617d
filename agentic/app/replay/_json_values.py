"""The JSON values in a file, one per line or one for the whole file, with their line numbers.

An incomplete last line is skipped and noted: its writer was interrupted. A line that has its end is
not incomplete, whatever else is wrong with it. Lone surrogates are read from the three bytes that
our own stores write for them.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import attrs

from agentic.providers.kit import items_at

_MAGIC = {
    b"SQLite format 3\x00": "a SQLite database, which is read from a file only",
    b"\x1f\x8b": "a file that gzip compressed; unpack it first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe": "UTF-16 text; convert it to UTF-8 first",
    b"\xfe\xff": "UTF-16 text; convert it to UTF-8 first",
}
_SHOWN = 60


@attrs.define
class Damage(Exception):
    """What is wrong at one place of a file; the caller adds the file's name."""

    line: int | None
    found: str


@attrs.frozen
class Value:
    """A JSON object, and the line on which it begins."""

    line: int
    data: dict[str, Any]


@attrs.define
class Values:
    """The contents of a file."""

    values: list[Value] = attrs.field(factory=list)
    """For a single JSON array: its items, all on line 1."""
    notes: list[str] = attrs.field(factory=list)
    damages: list[tuple[Damage, Any]] = attrs.field(factory=list)
    """What is wrong with lines and items that are left out, and what they hold."""


def read_values(file: BinaryIO) -> Values:
    r"""Read a file of JSON lines line by line, and a file with a single value as a whole.

    >>> import io
    >>> [value.line for value in read_values(io.BytesIO(b'{"a":1}\n\n{"b":2}\n')).values]
    [1, 3]
    >>> read_values(io.BytesIO(b'{"a":1}\n{"b":')).notes
    ['line 2 breaks off and is left out']

    Lines and items that are not a JSON object are left out if most others are.

    Raises:
        Damage: the file is not JSON, or most of its values are not objects.
    """
    lines = _numbered(file)
    number, first = next(lines, (0, b""))
    # First, because no error of a JSON parser would say what the file is.
    _refuse_binary(first)
    try:
        opening = _parse(first, number)
    except Damage as problem:
        every = [(number, first), *lines]
        return _read_lines(iter(every)) if _is_lines(every) else _read_whole(every, problem)
    if isinstance(opening, list):
        return _read_array(opening, number)
    return _read_lines(itertools.chain([(number, first)], lines))


def objects_at(data: Any, *path: str | int) -> list[dict[str, Any]]:
    """Return the objects in the list at a path, without anything else that is in it.

    >>> objects_at({"content": [{"type": "text"}, None]}, "content"), objects_at({}, "content")
    ([{'type': 'text'}], [])
    """
    return [each for each in items_at(data, *path) if isinstance(each, dict)]


def note(number: int, one: str, many: str) -> list[str]:
    """Return the note about a number of things; none for 0.

    >>> note(2, "call is open", "calls are open"), note(0, "call is open", "calls are open")
    (['2 calls are open'], [])
    """
    return [f"{number} {one if number == 1 else many}"] if number > 0 else []


def _numbered(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, without a byte order mark in the first."""
    for number, line in enumerate(file, 1):
        # Some editors on Windows write one before UTF-8.
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def _refuse_binary(first: bytes) -> None:
    for magic, kind in _MAGIC.items():
        if first.startswith(magic):
            raise Damage(None, f"found {kind}")
    if not first:
        raise Damage(None, "the file is empty")


def _parse(line: bytes, number: int) -> Any:
    try:
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as problem:
        reason = f"byte {line[problem.start]:#04x} is not UTF-8 text"
        raise Damage(number, reason) from problem
    except RecursionError as problem:
        raise Damage(number, "the JSON is nested too deeply") from problem
    except ValueError as problem:
        raise Damage(number, f"{_shown(line)} is not JSON ({problem})") from problem


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _read_whole(lines: list[tuple[int, bytes]], problem: Damage) -> Values:
    """Read a value that spans many lines; `problem` is what the first line alone has."""
    text = b"".join(line for _, line in lines)
    if not text.lstrip().startswith((b"[", b"{")):
        raise problem
    try:
        # From bytes, json itself reads the surrogates that our stores write.
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _locate(error, lines) or problem from None
    if isinstance(whole, list):
        return _read_array(whole, 1)
    return Values([_object(whole, 1)])


def _locate(error: Exception, lines: list[tuple[int, bytes]]) -> Damage | None:
    """Return what is wrong inside a value of many lines; None if its lines are values."""
    if not isinstance(error, json.JSONDecodeError) or error.pos >= len(error.doc.rstrip()):
        return None
    # If the second line is a value by itself, these are JSON lines, and the first is damaged.
    with contextlib.suppress(Damage, IndexError):
        _parse(lines[1][1], 2)
        return None
    number, line = lines[error.lineno - 1]
    return Damage(number, f"{_shown(line)} is not JSON ({error.msg}, column {error.colno})")


def _is_lines(lines: list[tuple[int, bytes]]) -> bool:
    """Return whether the line after a damaged first one is an object by itself."""
    try:
        return len(lines) > 1 and isinstance(_parse(lines[1][1], 2), dict)
    except Damage:
        return False


def _read_array(items: list[Any], number: int) -> Values:
    contents = Values()
    for item in items:
        try:
            contents.values.append(_object(item, number))
        except Damage as problem:
            contents.damages.append((problem, item))
    return _mostly_read(contents)


def _read_lines(lines: Iterator[tuple[int, bytes]]) -> Values:
    contents = Values()
    line = b""
    last: Damage | None = None
    for number, line in lines:
        try:
            contents.values.append(_object(_parse(line, number), number))
        except Damage as problem:
            contents.damages.append((problem, line.decode("utf-8", "replace")))
            last = problem
            continue
        last = None
    # If no line follows, it may only be incomplete.
    if contents.values and last is not None and _breaks_off(line):
        contents.damages.pop()
        contents.notes.append(f"line {last.line} breaks off and is left out")
    return _mostly_read(contents)


def _mostly_read(contents: Values) -> Values:
    """Return what was read, unless as much is damaged."""
    if contents.damages and len(contents.damages) >= len(contents.values):
        raise contents.damages[0][0]
    return contents


def _breaks_off(line: bytes) -> bool:
    r"""Return whether an unreadable line is incomplete: no newline, and no complete value.

    >>> _breaks_off(b'{"a": "\xc3'), _breaks_off(b'{"a": "\xe9"}'), _breaks_off(b'{"a": \n')
    (True, False, False)
    """
    if line.endswith(b"\n"):
        return False
    try:
        json.loads(line.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as problem:
        # The decoder rejects two bytes of a surrogate, instead of waiting for the third.
        rest = line[problem.start :]
        half = len(rest) == len(b"\xed\xa0") and rest[:1] == b"\xed"
        return half or problem.reason == "unexpected end of data"
    except (ValueError, RecursionError):
        return True
    return False


def _object(data: Any, number: int) -> Value:
    if not isinstance(data, dict):
        raise Damage(number, f"found a JSON {type(data).__name__}, not an object")
    return Value(number, data)
