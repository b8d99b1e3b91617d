"""The messages of a request while it is put together: which share one, and under which ids.

Consecutive messages of one role are one turn to the API, so they need not be joined; what is
written anew is joined all the same, since all results of a turn belong into one message
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use, 2026-11).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from agentic.providers.anthropic._decoding import blocks_of
from agentic.providers.kit import NameRule, UniqueIds, at, items_at, text_at

__all__ = ["Turn", "join", "name_calls"]

_CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
"""https://github.com/langchain-ai/langchain/pull/37756; no length is stated for an id."""
_RESULT = "tool_result"


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
