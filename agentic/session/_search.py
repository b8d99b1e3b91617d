"""What a model no longer sees in full, newest first, and a bounded search in it.

Each piece has a reference by which it can be read:

- `out-` and 16 hex digits: an output that the store keeps whole
- `text-` and 12 hex digits: a message that a digest quotes in part
- the id of a tool call: its result
- `m17`: the 17th message of the archive; `m17.2`: the second result in it

The search time, the number of matches and the text shown of each are limited.
"""

import marshal
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from agentic._base._lazy import asyncio
from agentic.context.digest import message_ref
from agentic.history._outputs import REF as KEPT_REF
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.session import _grep
from agentic.session._grep import LINE_CHARS

PLACE_REF = re.compile(r"m([0-9]{1,9})(?:\.([0-9]{1,9}))?")
"""The number of a message, and optionally that of a result in it. Never taken as a call's id, even
if a call has an id of this form."""
_TEXT_REF = re.compile(r"text-[0-9a-f]{12}")
_FIRST_BATCH = 1 << 18
_LARGEST_BATCH = 1 << 24
"""How many characters are searched at once: few at first, since what is wanted is mostly recent."""
_LEAST_SECONDS = 0.1
"""A process always gets this long to start, however little time is left."""
_MOST_SECONDS = 86_400.0
"""The wait for a process ends in OverflowError beyond the 24 days that poll() can count."""
_SIMPLER = "use plain text, or a simpler expression"


@attrs.frozen
class Piece:
    """A text that can be read by its reference."""

    ref: str
    label: str
    """A short description."""
    text: str
    """The text as the history contains it."""
    kept: bool = False
    """Whether the store has more of the text under this reference."""
    media: tuple[Media, ...] = ()
    """What a result has besides its text."""


def hidden_pieces(full: Sequence[Message], visible: Sequence[Message], own: str) -> Iterator[Piece]:
    """Yield what is in the archive but not entirely visible to the model, newest first.

    Calls of the tool named `own` and their results are left out: they only repeat other messages.
    """
    sight = _Sight(
        own, call_names(full), Counter(key for message in visible for key in _keys(message))
    )
    for number in range(len(full), 0, -1):
        yield from sight.hidden(full[number - 1], number)


@attrs.define(eq=False)
class _Sight:
    """What the model sees, used while the archive is read from its end."""

    own: str
    names: dict[str, str]
    visible: Counter[Any]
    """How many times each thing is visible."""
    newer: set[str] = attrs.field(factory=set)
    """References that already belong to something newer."""

    def hidden(self, message: Message, number: int) -> Iterator[Piece]:
        """Yield the parts of one message that the model does not see."""
        for position in range(len(message.tool_results), 0, -1):
            yield from self._hidden_result(message, number, position)
            self.newer.add(message.tool_results[position - 1].call_id)
        # Counted and not a set: of two equal messages, one may be out of sight.
        if message.role == "tool" or _take(self.visible, _said(message)):
            return
        text = message_text(message, self.own)
        if text:
            yield Piece(f"m{number}", message.role, text)

    def _hidden_result(self, message: Message, number: int, position: int) -> Iterator[Piece]:
        result = message.tool_results[position - 1]
        kept, name = kept_ref(result), call_name(result, self.names)
        if (_take(self.visible, _gave(result)) and not kept) or name == self.own:
            return
        if kept and kept in self.newer:  # an older copy of the same output
            return
        if kept:
            self.newer.add(kept)
        # If a newer call has the same id, the id refers to that one.
        # Some servers number calls from 0 in every reply.
        is_ambiguous = result.call_id in self.newer or PLACE_REF.fullmatch(result.call_id)
        by_id = "" if is_ambiguous else result.call_id
        alone = len(message.tool_results) == 1 and not message_text(message)
        ref = kept or by_id or (f"m{number}" if alone else f"m{number}.{position}")
        yield Piece(ref, f"{name}, m{number}", result_text(result), bool(kept))


def message_text(message: Message, own: str = "") -> str:
    r"""Return the text of a message, with its calls as the model wrote them.

    >>> message_text(Message("assistant", "I look.", tool_calls=[ToolCall("c1", "ls", "{}")]))
    'I look.\nls({})'
    """
    calls = (f"{call.name}({call.arguments})" for call in message.tool_calls if call.name != own)
    return "\n".join(part for part in (message.content, message.reasoning, *calls) if part)


def result_text(result: ToolResult) -> str:
    """Return a result without its notice, which only describes what is missing."""
    return attrs.evolve(result, notice="").text


def number_of(ref: str, full: Sequence[Message]) -> int:
    """Return the number of the newest message that a digest gave this name; 0 if there is none.

    >>> number_of("text-16b0eae8ab6a", [Message("user", "Why is the build red?")])
    1
    """
    if not _TEXT_REF.fullmatch(ref):
        return 0
    return next((n for n in range(len(full), 0, -1) if message_ref(full[n - 1]) == ref), 0)


def call_names(messages: Sequence[Message]) -> dict[str, str]:
    """Return the tools' names by call id."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


def call_name(result: ToolResult, names: dict[str, str]) -> str:
    """Return the name of the tool; an imported history may have it only in the call."""
    return result.name or names.get(result.call_id, "a tool")


def kept_ref(result: ToolResult) -> str:
    """Return the reference under which a store keeps the whole output, or an empty string."""
    return result.ref if result.ref and KEPT_REF.fullmatch(result.ref) else ""


def _keys(message: Message) -> Iterator[Any]:
    if message.role != "tool":
        yield _said(message)
    for result in message.tool_results:
        yield _gave(result)


def _said(message: Message) -> Any:
    calls: tuple[ToolCall, ...] = message.tool_calls
    return (message.role, message.content, *((call.id, call.arguments) for call in calls))


def _gave(result: ToolResult) -> Any:
    return (result.call_id, result.output, result.error and result.error.message)


def _take(visible: Counter[Any], key: Any) -> bool:
    if visible[key] <= 0:
        return False
    visible[key] -= 1
    return True


class InvalidRecall(Exception):
    """A request of the model that cannot be carried out; the text says why and what to do."""


@attrs.frozen
class Match:
    """A place where something was found."""

    piece: Piece
    line: int
    """The line number, counted from 1."""
    lines: int
    """The number of lines in the piece."""
    offset: int
    """The offset of the first line shown, in characters."""
    shown: str
    """The line before, the line itself with a mark, and the line after; long lines are
    shortened."""


async def search(
    pieces: Iterable[Piece],
    read: Callable[[Piece], Awaitable[str]],
    query: str,
    *,
    regex_seconds: float | None,
    most: int,
) -> list[Match]:
    """Return up to `most` matches, in the order of the pieces. Reads no further than necessary.

    If `regex_seconds` is given, the query is a regular expression and may take this long. Otherwise
    it is plain text.

    Raises:
        InvalidRecall: the regular expression is invalid, takes too long, or cannot be tried here.
    """
    seconds = regex_seconds
    matches: list[Match] = []
    batch: list[tuple[Piece, str]] = []
    async for batch in _batches(pieces, read):
        texts = [text for _, text in batch]
        started = time.monotonic()
        places = await asyncio.to_thread(_find, query, texts, most - len(matches), seconds)
        # What earlier batches took counts: the limit is for the whole search, not for each process.
        seconds = seconds and max(_LEAST_SECONDS, seconds - (time.monotonic() - started))
        matches += [_make_match(*batch[at], start) for at, start in places]
        if len(matches) >= most:
            break
    if not batch:  # an invalid pattern is reported even if there is nothing to search
        await asyncio.to_thread(_find, query, [], most, seconds)
    return matches


async def _batches(
    pieces: Iterable[Piece], read: Callable[[Piece], Awaitable[str]]
) -> AsyncIterator[list[tuple[Piece, str]]]:
    """Yield pieces with their texts, in batches of increasing size."""
    batch: list[tuple[Piece, str]] = []
    size, enough = 0, _FIRST_BATCH
    for piece in pieces:
        text = await read(piece)
        batch.append((piece, text))
        size += len(text)
        if size >= enough:
            yield batch
            # Small at first, since the newest often has it; then larger, as each costs a thread,
            # and for a pattern a process.
            batch, size, enough = [], 0, min(4 * enough, _LARGEST_BATCH)
    if batch:
        yield batch


def _find(query: str, texts: list[str], most: int, seconds: float | None) -> list[tuple[int, int]]:
    """Search a text here, or a pattern in a process that is killed after the time limit."""
    if seconds is None:
        return _grep.find_text(query, texts, most)
    import subprocess  # noqa: PLC0415  most sessions never search with a pattern

    try:
        # A process, because a thread that backtracks cannot be stopped, and it holds the GIL.
        process = subprocess.run(  # noqa: S603  this package's own file, run by this interpreter
            # Nothing but the standard library is needed, and without `site` Python starts faster.
            [sys.executable, "-I", "-S", _grep.__file__],
            input=marshal.dumps((query, texts, most)),
            capture_output=True,
            timeout=min(seconds, _MOST_SECONDS),
            check=True,
        )
    except subprocess.TimeoutExpired as late:
        raise InvalidRecall(f"the regular expression takes too long: {_SIMPLER}") from late
    # Where Python is embedded, sys.executable may be None, which is a TypeError.
    except (OSError, TypeError, subprocess.CalledProcessError) as problem:
        raise InvalidRecall(f"regular expressions cannot be tried here: {_SIMPLER}") from problem
    places: list[tuple[int, int]] | str = marshal.loads(process.stdout)  # noqa: S302  from our own file
    if isinstance(places, str):
        raise InvalidRecall(
            f"{query!r} is not a valid regular expression ({places}): correct it, or search "
            "plain text with regex=false"
        )
    return places


def _make_match(piece: Piece, text: str, start: int) -> Match:
    first = text.rfind("\n", 0, start) + 1
    before = text.rfind("\n", 0, max(0, first - 1)) + 1
    last = _line_end(text, start)
    lines = [f"> {_around(text[first:last], start - first)}"]
    if before < first:
        lines.insert(0, f"  {_around(text[before : first - 1], 0)}")
    if last + 1 < len(text):
        lines.append(f"  {_around(text[last + 1 : _line_end(text, last + 1)], 0)}")
    total = text.count("\n") + (not text.endswith("\n"))
    # Reading on from here shows the place, even in a line of megabytes.
    offset = before if start - before <= LINE_CHARS else max(first, start - LINE_CHARS // 2)
    return Match(piece, text.count("\n", 0, start) + 1, total, offset, "\n".join(lines))


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _around(line: str, at: int) -> str:
    r"""Return a short line whole, or the part of a long line around a match.

    >>> _around("short", 2)
    'short'
    >>> len(_around("x" * 10_000, 5_000))
    302
    """
    start = min(_grep.shown_from(at), max(0, len(line) - LINE_CHARS))
    part = line[start : start + LINE_CHARS]
    return f"{'…' * (start > 0)}{part}{'…' * (start + len(part) < len(line))}"
