"""The messages of a request while it is put together, and where it is marked for the prompt cache.

Consecutive messages of one role are one turn to the API, so they need not be joined; what is
written anew is joined all the same, since all results of a turn belong into one message
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use, 2026-11).

The cache holds prefixes of a request (tools, system, messages, in this order), each up to a mark. A
request reads the longest prefix that is there, and looks for one at its marks and at the 20 blocks
before each of them. So the newest message is marked, which writes what the next request will read,
and so is the end of the request before this one, which finds it however many blocks a turn has
added. The marks on the tools and on the system prompt are what a compaction leaves of the prefix.

At most four marks, five minutes of life, no effect below 512 to 4,096 tokens, depending on the
model: https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read on 2026-11-22).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.providers.anthropic._decoding import blocks_of
from agentic.providers.kit import NameRule, UniqueIds, at, items_at, text_at

__all__ = ["Turn", "join", "mark_for_cache", "name_calls"]

_CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
"""https://github.com/langchain-ai/langchain/pull/37756; no length is stated for an id."""
_RESULT = "tool_result"
_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
_MARKABLE = {"text", "image", "document", "search_result", "tool_result"}
"""Blocks of a user's message that take a mark; thinking takes none."""


@attrs.frozen
class Turn:
    """One message of the wire, as it came from there or written anew."""

    message: Any
    native: bool = False
    places: tuple[int, ...] = ()
    """Where its blocks stood, if it is a part of a message."""
    between: tuple[Any, Any] | None = None
    """The roles that stood beside it, if its place matters."""

    @property
    def role(self) -> Any:
        """Return the wire's role."""
        return at(self.message, "role")

    @property
    def blocks(self) -> list[Any]:
        """Return the content as a list of blocks."""
        return blocks_of(at(self.message, "content"))


def join(turns: Iterable[Turn]) -> list[Turn]:
    """Join the parts of one message, and what is written anew with what it stands beside."""
    # Not by `kit.merge_consecutive`: that would cost a call for each pair of untouched messages.
    joined: list[Turn] = []
    last: Turn | None = None
    for turn in turns:
        together = None
        if last is not None and not (last.native and turn.native and not turn.places):
            together = _together(last, turn)
        if together is not None:
            joined.pop()
        last = turn if together is None else together
        joined.append(last)
    return joined


def _together(first: Turn, second: Turn) -> Turn | None:
    """Return two neighbours as one message, if they are to be one."""
    if _are_one(first, second):
        return _put_together(first, second)
    return _merge(first, second) if _belong_together(first, second) else None


def _are_one(first: Turn, second: Turn) -> bool:
    """Return whether two parts make a whole message: those of one, or of two that fit as well."""
    if not (first.places and second.places):
        return False
    places = first.places + second.places
    return sorted(places) == list(range(len(places)))


def _put_together(first: Turn, second: Turn) -> Turn:
    placed = zip(first.places + second.places, first.blocks + second.blocks, strict=True)
    blocks = [block for _, block in sorted(placed, key=lambda pair: pair[0])]
    return Turn({**first.message, "content": blocks}, native=True)


def _belong_together(first: Turn, second: Turn) -> bool:
    if (first.native and second.native) or first.role != second.role:
        return False
    # A reply goes back as it is: its thinking is signed.
    return first.role == "user" or not (first.native or second.native)


def _merge(first: Turn, second: Turn) -> Turn:
    """Put two messages of one role into one. The results come first, as the API wants them."""
    blocks = sorted([*first.blocks, *second.blocks], key=lambda block: _kind(block) != _RESULT)
    return Turn({**first.message, "content": blocks})


def _kind(block: Any) -> Any:
    return at(block, "type")


def name_calls(turns: Sequence[Turn], *, rename_reused: bool = False) -> list[Turn]:
    """Return calls that were written anew ids that the API takes, each its own; results alike.

    Calls that go back as they came keep theirs, also where a later turn uses an id again: servers
    that number the calls of each reply from 0 take them back. With `rename_reused` only the first
    call of an id in one turn does: there the API refuses an id that names two calls
    (https://github.com/anthropics/claude-code/issues/20901).
    """
    theirs = {call_id for turn in turns if turn.native for call_id in _call_ids(turn)}
    ids = _Ids(UniqueIds(used=theirs, stem=str))
    given: dict[str, list[str]] = {}
    named: list[Turn] = []
    for turn in turns:
        if turn.role != "assistant":
            named.append(_answered(turn, given))
            continue
        if not (named and named[-1].role == "assistant"):
            given = defaultdict(list)
            ids.begin_turn()
        keep = turn.native and not rename_reused
        named.append(turn if keep else _renamed(turn, given, ids))
    return named


def _call_ids(turn: Turn) -> list[str]:
    ids = [at(block, "id") for block in turn.blocks if _kind(block) == "tool_use"]
    return [call_id for call_id in ids if isinstance(call_id, str)]


@attrs.define
class _Ids:
    """The ids of the calls of a request, each for one call of a turn."""

    _fresh: UniqueIds
    _kept: set[str] = attrs.field(factory=set)
    """Those of this turn's calls that go back as they came."""

    def begin_turn(self) -> None:
        """Let calls that go back as they came use the ids of earlier turns."""
        self._kept = set()

    def give(self, call_id: str, *, native: bool) -> str:
        """Return the id itself, or the next one of its name that is free."""
        if native and call_id not in self._kept:
            self._kept.add(call_id)
            return call_id
        return self._fresh.take(call_id)


def _renamed(turn: Turn, given: dict[str, list[str]], ids: _Ids) -> Turn:
    blocks = []
    for block in turn.blocks:
        new, old = block, at(block, "id")
        if _kind(block) == "tool_use" and isinstance(old, str):
            wanted = old if turn.native else _CALL_IDS.wire(old)
            call_id = ids.give(wanted, native=turn.native)
            given[old].append(call_id)
            new = block if call_id == old else {**block, "id": call_id}
        blocks.append(new)
    if blocks == turn.blocks:
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def _answered(turn: Turn, given: dict[str, list[str]]) -> Turn:
    """Let the results follow their calls: the second result of an id answers its second call."""
    blocks = list(items_at(turn.message, "content"))
    for place, block in enumerate(blocks):
        waiting = given.get(text_at(block, "tool_use_id")) if _kind(block) == _RESULT else None
        if waiting:
            blocks[place] = {**block, "tool_use_id": waiting.pop(0)}
    if blocks == items_at(turn.message, "content"):
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def mark_for_cache(body: Mapping[str, Any], *, summaries: int = 0) -> dict[str, Any]:
    """Return the request with marks for the cache; with the caller's own only if it has any.

    Nothing of the given request is changed. `summaries` is how many blocks at the end of `system`
    will be others after the next compaction.

    >>> marked = mark_for_cache({"messages": [{"role": "user", "content": "Why?"}]})
    >>> marked["messages"][0]["content"]
    [{'type': 'text', 'text': 'Why?', 'cache_control': {'type': 'ephemeral'}}]
    """
    if "cache_control" in body or any(at(part, "cache_control") for part in _parts(body)):
        return dict(body)
    marked = {**body, "messages": _mark_messages(items_at(body, "messages"))}
    if system := blocks_of(body.get("system")):
        marked["system"] = _mark(system, max(len(system) - 1 - summaries, 0))
    if tools := items_at(body, "tools"):
        marked["tools"] = _mark(tools, len(tools) - 1)
    return marked


def _parts(body: Mapping[str, Any]) -> Iterator[Any]:
    """Yield all that may be marked, results' own blocks included."""
    waiting = [*items_at(body, "tools"), *blocks_of(body.get("system"))]
    waiting += items_at(body, "messages")
    while waiting:
        part = waiting.pop()
        yield part
        waiting += items_at(part, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    marked, left = list(messages), _MARKED_MESSAGES
    for place in reversed(range(len(marked))):
        blocks = blocks_of(at(marked[place], "content"))
        ends = [end for end, block in enumerate(blocks) if _takes_mark(block)]
        if at(marked[place], "role") == "user" and ends:
            marked[place] = {**marked[place], "content": _mark(blocks, ends[-1])}
            left -= 1
        if not left:
            break
    return marked


def _takes_mark(block: Any) -> bool:
    kind = text_at(block, "type")
    return kind in _MARKABLE and (kind != "text" or bool(text_at(block, "text").strip()))


def _mark(blocks: list[Any], place: int) -> list[Any]:
    marked = {**blocks[place], "cache_control": _MARK}
    return [*blocks[:place], marked, *blocks[place + 1 :]]
