"""Searching what a model no longer sees, within bounds: of time, of places, of what is shown."""

import marshal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import attrs

from agentic._lazy import asyncio
from agentic.session import _grep
from agentic.session._grep import LINE_CHARS
from agentic.session._recall_index import Piece

__all__ = ["Place", "Unsearchable", "search"]

_FIRST_BATCH = 1 << 18
_LARGEST_BATCH = 1 << 24
"""Characters searched at once: few at first, since what is wanted is most often new."""
_LEAST_SECONDS = 0.1
"""What a process is given to start, whatever is left of the time."""
_SIMPLER = "use plain text, or a simpler expression"


class Unsearchable(Exception):
    """A regular expression that is none, or did not come to its end; the text says what to do."""


@attrs.frozen
class Place:
    """Where something was found."""

    piece: Piece
    line: int
    """Counted from 1."""
    lines: int
    """How many the piece has."""
    offset: int
    """Of the first line shown, in characters."""
    shown: str
    """The line before, the line itself after a mark, the line after; long ones in part."""


async def search(
    pieces: Iterable[Piece],
    read: Callable[[Piece], Awaitable[str]],
    query: str,
    *,
    regex_seconds: float | None,
    most: int,
) -> list[Place]:
    """Find up to `most` places, in the order of the pieces. Reads no further than it must.

    `regex_seconds` is what the query may take as a regular expression; without, it is plain text.

    Raises:
        Unsearchable: a regular expression is none, takes too long, or cannot be tried here.
    """
    left = regex_seconds
    places: list[Place] = []
    batch: list[tuple[Piece, str]] = []
    async for batch in _batches(pieces, read):
        texts = [text for _, text in batch]
        started = time.monotonic()
        found = await asyncio.to_thread(_find, query, texts, most - len(places), left)
        left = left and max(_LEAST_SECONDS, left - (time.monotonic() - started))
        places += [_place(*batch[at], start) for at, start in found]
        if len(places) >= most:
            break
    if not batch:  # a pattern is told to be none even where there is nothing to search
        await asyncio.to_thread(_find, query, [], most, left)
    return places


async def _batches(
    pieces: Iterable[Piece], read: Callable[[Piece], Awaitable[str]]
) -> AsyncIterator[list[tuple[Piece, str]]]:
    """Yield pieces with their texts, in ever larger batches."""
    batch: list[tuple[Piece, str]] = []
    size, enough = 0, _FIRST_BATCH
    for piece in pieces:
        text = await read(piece)
        batch.append((piece, text))
        size += len(text)
        if size >= enough:
            yield batch
            batch, size, enough = [], 0, min(4 * enough, _LARGEST_BATCH)
    if batch:
        yield batch


def _find(query: str, texts: list[str], most: int, seconds: float | None) -> list[tuple[int, int]]:
    """Find a text here, or a pattern in a process that is killed after so many seconds."""
    if seconds is None:
        return _grep.find_text(query, texts, most)
    import subprocess  # noqa: PLC0415  most sessions never search by a pattern

    try:
        done = subprocess.run(  # noqa: S603  our own file, run by this very interpreter
            [sys.executable, "-I", "-S", _grep.__file__],
            input=marshal.dumps((query, texts, most)),
            capture_output=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired as late:
        raise Unsearchable(f"the regular expression takes too long: {_SIMPLER}") from late
    except (OSError, TypeError, subprocess.CalledProcessError) as problem:
        raise Unsearchable(f"regular expressions cannot be tried here: {_SIMPLER}") from problem
    found: list[tuple[int, int]] | str = marshal.loads(done.stdout)  # noqa: S302  from ourselves
    if isinstance(found, str):
        raise Unsearchable(
            f"{query!r} is no regular expression ({found}): correct it, or search plain text with "
            "regex=false"
        )
    return found


def _place(piece: Piece, text: str, start: int) -> Place:
    first = text.rfind("\n", 0, start) + 1
    before = text.rfind("\n", 0, max(0, first - 1)) + 1
    last = _line_end(text, start)
    lines = [f"> {_around(text[first:last], start - first)}"]
    if before < first:
        lines.insert(0, f"  {_around(text[before : first - 1], 0)}")
    if last + 1 < len(text):
        lines.append(f"  {_around(text[last + 1 : _line_end(text, last + 1)], 0)}")
    total = text.count("\n") + (not text.endswith("\n"))
    offset = before if start - before <= LINE_CHARS else max(first, start - LINE_CHARS // 2)
    return Place(piece, text.count("\n", 0, start) + 1, total, offset, "\n".join(lines))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _around(line: str, at: int) -> str:
    r"""Return a line whole, or the part of a long one around a place.

    >>> _around("short", 2)
    'short'
    >>> len(_around("x" * 10_000, 5_000))
    302
    """
    start = min(_grep.shown_from(at), max(0, len(line) - LINE_CHARS))
    part = line[start : start + LINE_CHARS]
    return f"{'…' * (start > 0)}{part}{'…' * (start + len(part) < len(line))}"
