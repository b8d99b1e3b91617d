"""The tool with which a model searches and reads what it no longer sees."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import attrs

from agentic._base._validate import must_be_async, seconds
from agentic.errors import ConfigError, OutputNotFound
from agentic.history import Archive
from agentic.history._outputs import REF as KEPT_REF
from agentic.messages import Message, ToolError, ToolResult
from agentic.protocols import ToolDefinition
from agentic.session._search import (
    PLACE_REF,
    InvalidRecall,
    Match,
    Piece,
    call_name,
    call_names,
    hidden_pieces,
    kept_ref,
    message_text,
    number_of,
    result_text,
    search,
)

RECALL = "recall"
"""The name of the tool."""
_SHOWN_BYTES = 12_000
_PAGE_LINES = 1_500
"""Less than the 2,000 lines that a tool's output may have, so that no page is cut."""
_NEAR = 5
_NEAR_AMONG = 1_000
"""A misspelt reference is compared with at most this many of the newest references."""
_MATCHES = (8, 30)
_CHARS = (6_000, 12_000)
"""The default and the maximum. The maximum is below the 51,200 bytes of a tool's output."""
_QUERY_CHARS = 1_000
_MOST_SKIPPED = 10_000
_DESCRIPTION = """\
Find again what was said and done in this session and is no longer in front of you: messages that \
a summary replaced, tool outputs that were cleared, the full text of outputs that were cut short.
Search with `query`: plain text, or a regular expression with regex=true; case is ignored, the \
newest comes first. Then read on with `ref`, the reference that a place, a notice or a placeholder \
names: out-... is an output kept whole, text-... a message that a summary cut, a tool call's id \
its result, m17 the 17th message, m17.2 the second result in it."""
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to search for."},
        "ref": {
            "type": "string",
            "description": "What to read. With a query, what to search in.",
        },
        "regex": {
            "type": "boolean",
            "description": "Whether the query is a regular expression (Python's).",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "How many places to skip; reading, at which character to begin.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": f"How many places to show ({_MATCHES[0]} unless given, {_MATCHES[1]} at "
            f"most); reading, how many characters ({_CHARS[0]}, {_CHARS[1]} at most).",
        },
    },
}
_TYPES: dict[str, type] = {"query": str, "ref": str, "regex": bool, "offset": int, "limit": int}


@attrs.frozen(eq=False)
class RecallTool:
    """Searches a session's archive and reads from it. Put it into a `tools.Registry`.

    It searches everything that the model does not see in full, except for its own outputs. A search
    reads the archive, then kept outputs from the newest to the oldest until it has found enough.

    >>> import asyncio
    >>> from agentic.history import MemoryStore
    >>> async def recall() -> str:
    ...     store = MemoryStore()
    ...     await store.append(Message("user", "The port is 8417."))
    ...     await store.replace([Message("system", "They spoke of ports.")])
    ...     return (await RecallTool(store).run({"query": "port"})).output
    >>> print(asyncio.run(recall()))
    [m1] user, line 1 of 1
    > The port is 8417.

    Raises:
        ConfigError: the store is not an Archive.
    """

    name: ClassVar[str] = RECALL
    definition: ClassVar[ToolDefinition] = ToolDefinition(
        RECALL, _DESCRIPTION, _PARAMETERS, annotations={"readOnlyHint": True}
    )

    store: Archive = attrs.field()
    seen: Callable[[], Awaitable[list[Message]]] | None = None
    """Returns what the model sees; by default the history in the store."""
    regex_seconds: float = attrs.field(default=5.0, kw_only=True)
    """The time limit for the regular expression of one search. It is tried in a process of its own,
    which is then killed: nothing else stops an expression that backtracks forever."""

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        for method in ("load", "full"):
            must_be_async("store", value, method, f"async {method}()", "pass an Archive")

    @regex_seconds.validator
    def _check_seconds(self, attribute: Any, value: object) -> None:
        if value is None:
            raise ConfigError(
                "regex_seconds", value, "a number of seconds above 0", "leave it at 5"
            )
        seconds(self, attribute, value)

    async def run(self, arguments: Mapping[str, Any], /) -> ToolResult | ToolError:
        """Search or read, as the model's arguments ask."""
        try:
            request = _check_arguments(arguments)
            full = await self.store.full()
            if request.query:
                return await self._search(request, full)
            return await self._read(request, full)
        except InvalidRecall as misfit:
            return ToolError(str(misfit), "bad_arguments")

    async def _search(self, request: "RecallArguments", full: list[Message]) -> ToolResult:
        if request.ref:
            pieces = iter([await self._find(request.ref, full)])
        else:
            visible = await (self.seen or self.store.load)()
            pieces = hidden_pieces(full, visible, self.name)
        # One more than is shown, to know whether to say that there are others.
        most = request.offset + request.within(_MATCHES) + 1
        limit = self.regex_seconds if request.regex else None
        matches = await search(pieces, self._whole, request.query, regex_seconds=limit, most=most)
        return _show(request, matches)

    async def _read(self, request: "RecallArguments", full: list[Message]) -> ToolResult:
        piece = await self._find(request.ref, full)
        text = await self._whole(piece)
        # An empty output has one page, too.
        if request.offset >= max(1, len(text)):
            raise InvalidRecall(
                f"{piece.ref} has {len(text):,} characters: pass an offset below that, or none"
            )
        page = _page(text, request.offset, request.within(_CHARS))
        end = request.offset + len(page)
        heading = (
            f"{piece.ref} ({piece.label}), characters {request.offset:,}-{end:,} of {len(text):,}"
        )
        rest = "" if end == len(text) else f': go on with recall(ref="{piece.ref}", offset={end})'
        return ToolResult(
            output=page,
            notice=f"[{heading}{rest}{_also(request.ref, full)}]",
            ref=piece.ref if piece.kept else None,
            # With the first page only: every copy costs tokens.
            media=() if request.offset else piece.media,
        )

    async def _find(self, ref: str, full: list[Message]) -> Piece:
        """Return the piece that a reference stands for."""
        names = call_names(full)
        # Before the ids of calls, which may look like a place: see `_also`.
        if place := _at_place(ref, full, names):
            return place
        if number := number_of(ref, full):
            message = full[number - 1]
            return Piece(ref, f"{message.role}, m{number}", _whole_message(message))
        results = [each for message in full for each in message.tool_results]
        # The newest first, because an id may occur again in a later reply.
        for result in reversed(results):
            # An output of this tool carries the reference of what it quotes, but is a page of it.
            kept = kept_ref(result) if result.name != self.name else ""
            if ref and ref in {result.call_id, kept}:
                label = call_name(result, names)
                return Piece(kept or ref, label, result_text(result), bool(kept), result.media)
        # The store may have an output that no message names any more.
        kept_alone = Piece(ref, "an output", "", kept=True)
        if KEPT_REF.fullmatch(ref) and await self._whole(kept_alone):
            return kept_alone
        raise InvalidRecall(_unknown(ref, full, results))

    async def _whole(self, piece: Piece) -> str:
        """Return the text of a piece, from the store if the store has more of it."""
        get = getattr(self.store, "get", None)
        if not piece.kept or get is None:
            return piece.text
        try:
            text: str = await get(piece.ref)
        except OutputNotFound:
            return piece.text
        return text


def _at_place(ref: str, full: list[Message], names: dict[str, str]) -> Piece | None:
    """Return the message that a reference numbers, or the result in that message."""
    numbers = PLACE_REF.fullmatch(ref)
    number = int(numbers[1]) if numbers else 0
    if not numbers or not 0 < number <= len(full):
        return None
    message = full[number - 1]
    if numbers[2] is None:
        return Piece(ref, message.role, _whole_message(message))
    position = int(numbers[2])
    if not 0 < position <= len(message.tool_results):
        return None
    result = message.tool_results[position - 1]
    return Piece(ref, call_name(result, names), result_text(result), media=result.media)


def _also(ref: str, full: list[Message]) -> str:
    """Return a hint if the reference is also the id of a call: where that call's result is."""
    numbers = PLACE_REF.fullmatch(ref)
    if not numbers or int(numbers[1]) > len(full):
        return ""
    for number in range(len(full), 0, -1):
        for position, result in enumerate(full[number - 1].tool_results, 1):
            if result.call_id == ref:
                return f'; of the call "{ref}": recall(ref="m{number}.{position}")'
    return ""


def _show(request: "RecallArguments", matches: list[Match]) -> ToolResult:
    """Render the places that were asked for, as many as there is room for."""
    page = matches[request.offset : request.offset + request.within(_MATCHES)]
    lines: list[str] = []
    bytes_left = _SHOWN_BYTES
    for match in page:
        text = _render(match)
        bytes_left -= len(text.encode("utf-8", "surrogatepass"))
        # One place is always shown, however long its lines are.
        if lines and bytes_left < 0:
            break
        lines.append(text)
    if not lines:
        return ToolResult(output=_nothing(request, len(matches)))
    after = request.offset + len(lines)
    first = page[0]
    at = f", offset={first.offset}" if first.offset else ""
    notice = f'Read on with recall(ref="{first.piece.ref}"{at})'
    if after < len(matches):
        notice = f"{notice}; see more places with offset={after}"
    return ToolResult(output="\n\n".join(lines), notice=f"[{notice}]")


def _render(match: Match) -> str:
    where = f", offset {match.offset}" if match.offset else ""
    piece = match.piece
    return (
        f"[{piece.ref}] {piece.label}, line {match.line:,} of {match.lines:,}{where}\n{match.shown}"
    )


def _nothing(request: "RecallArguments", total: int) -> str:
    if total:
        are = "is only 1 place" if total == 1 else f"are only {total:,} places"
        return f"There {are}: pass a smaller offset."
    where = f"in {request.ref}" if request.ref else "among what you no longer see"
    return f"Nothing {where} holds {request.query!r:.200}. Try fewer or other words."


def _page(text: str, offset: int, limit: int) -> str:
    """Return a page of a text; it ends after a whole line if that leaves at least half of it."""
    page = text[offset : offset + limit]
    *lines, rest = page.split("\n", _PAGE_LINES)
    if len(lines) == _PAGE_LINES:
        return page[: len(page) - len(rest)]
    line_end = page.rfind("\n") + 1
    inside = offset + limit < len(text) and line_end >= max(1, limit // 2)
    return page[:line_end] if inside else page


def _whole_message(message: Message) -> str:
    parts = [message_text(message), *map(result_text, message.tool_results)]
    return "\n".join(part for part in parts if part)


def _unknown(ref: str, full: list[Message], results: list[ToolResult]) -> str:
    """Return which references exist, and which ones are similar to this one."""
    elsewhere = next((each for each in reversed(results) if each.ref == ref), None)
    if elsewhere is not None:
        return (
            f"{ref!r:.200} is a place outside of this session: read it as you read files. What the "
            f'session holds of it: recall(ref="{elsewhere.call_id}")'
        )
    newest = results[-_NEAR_AMONG:]
    refs = {each.call_id for each in newest} | {each.ref for each in newest if each.ref}
    import difflib  # noqa: PLC0415  only needed for a wrong reference

    near = difflib.get_close_matches(ref[:200], sorted(refs), _NEAR)
    like = f" Similar ones: {', '.join(near)}." if near else ""
    return (
        f"there is nothing under {ref!r:.200}.{like} A reference is out- and 16 hex digits, text- "
        f"and 12, the id of a tool call, m1 to m{len(full)} for a message, or m2.1 for the first "
        "result in the second one; search with a query to find one"
    )


@attrs.frozen(kw_only=True)
class RecallArguments:
    """The validated arguments of a call."""

    query: str = ""
    ref: str = ""
    regex: bool = False
    offset: int = 0
    limit: int | None = None

    def within(self, bounds: tuple[int, int]) -> int:
        """Return how much to show: the default, or what was asked for, up to the maximum."""
        usual, most = bounds
        return usual if self.limit is None else min(self.limit, most)


def _check_arguments(arguments: Mapping[str, Any]) -> RecallArguments:
    """Validate the arguments of a call; null means that an argument is absent.

    >>> _check_arguments({"query": "port", "limit": None}).within(_MATCHES)
    8

    Raises:
        InvalidRecall: an argument is invalid.
    """
    # Models send null for what they leave out.
    values = {name: value for name, value in arguments.items() if value is not None}
    for name, value in values.items():
        kind = _TYPES.get(name)
        if kind is None:
            raise InvalidRecall(f"there is no argument {name!r:.80}: pass {', '.join(_TYPES)}")
        # In Python True is an int; in JSON it is none.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InvalidRecall(
                f"{name} is {value!r:.80}: pass a JSON {_PARAMETERS['properties'][name]['type']}"
            )
    if values.get("offset", 0) < 0 or values.get("limit", 1) < 1:
        raise InvalidRecall("pass an offset from 0 and a limit from 1, or leave them out")
    if not values.get("query") and not values.get("ref"):
        raise InvalidRecall("pass a query to search for, or a ref to read")
    if len(values.get("query", "")) > _QUERY_CHARS:
        raise InvalidRecall(
            f"the query is longer than {_QUERY_CHARS:,} characters: pass a part of it"
        )
    if values.get("query") and values.get("offset", 0) > _MOST_SKIPPED:
        raise InvalidRecall(
            f"a search skips {_MOST_SKIPPED:,} places at most: search for something less frequent"
        )
    return RecallArguments(**values)
