"""The messages of a request while it is assembled, and its marks for the prompt cache.

To the API, consecutive messages of one role are one turn, so they need not be joined. Rebuilt
messages are joined anyway, since all results of a turn belong in one message
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use, 2026-11).

The cache holds prefixes of a request (tools, system, messages, in this order), each up to a mark. A
request reads the longest cached prefix, which the API looks for at each of its marks and at the 20
blocks before it. So two places in the messages are marked: the newest message, to write what the
next request will read, and the end of the previous request, to find that prefix however many blocks
the turn has added. The marks on the tools and on the system prompt are for the part of the prefix
that survives a compaction.

A request may have at most four marks. Entries live for five minutes. Prefixes below a minimum of
512 to 4,096 tokens, depending on the model, are not cached:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching (read on 2026-11-22).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from agentic.providers.anthropic._decoding import blocks_of
from agentic.providers.kit import NameRule, UniqueIds, at, items_at, text_at

# https://github.com/langchain-ai/langchain/pull/37756; no maximum length is documented.
_CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128)
_RESULT = "tool_result"
_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
# Blocks of a user message that accept a mark; thinking does not.
_MARKABLE = {"text", "image", "document", "search_result", "tool_result"}


@attrs.frozen
class Turn:
    """One wire message, either as received or rebuilt."""

    message: Any
    native: bool = False
    places: tuple[int, ...] = ()
    """The original positions of its blocks, if it is a part of a message."""
    between: tuple[Any, Any] | None = None
    """The roles of the original neighbors, if its position matters."""
    is_record: bool = False
    """Whether it is the record of earlier conversation, which is a message of its own."""

    @property
    def role(self) -> Any:
        """Return the role on the wire."""
        return at(self.message, "role")

    @property
    def blocks(self) -> list[Any]:
        """Return the content as a list of blocks."""
        return blocks_of(at(self.message, "content"))


def join(turns: Iterable[Turn]) -> list[Turn]:
    """Join the parts of one message, and each rebuilt message with its neighbors."""
    # `kit.merge_consecutive` would cost a function call for each pair of untouched messages.
    joined: list[Turn] = []
    # The turns that become the next message, merged at the end: one by one would be quadratic.
    run: list[Turn] = []
    for turn in turns:
        alone = run[0] if len(run) == 1 else None
        is_native = alone is not None and alone.native
        if alone is not None and turn.places and _are_one(alone, turn):
            run = [_put_together(alone, turn)]
        # Two whole messages that came from the wire are sent as they came, even if their roles are
        # equal. A native reply must stay unchanged: its thinking is signed.
        elif (
            run
            and not (is_native and turn.native)
            and not (run[0].is_record or turn.is_record)
            and turn.role == run[0].role
            and (turn.role == "user" or not (is_native or turn.native))
        ):
            run.append(turn)
        else:
            joined += run if alone else _merged(run)
            run = [turn]
    return joined + (run if len(run) == 1 else _merged(run))


def _merged(run: list[Turn]) -> list[Turn]:
    """Merge turns of one role. Results come first, as the API requires."""
    if not run:
        return []
    blocks = [block for turn in run for block in turn.blocks]
    blocks.sort(key=lambda block: at(block, "type") != _RESULT)
    return [Turn({**run[0].message, "content": blocks})]


def _put_together(first: Turn, second: Turn) -> Turn:
    placed = zip(first.places + second.places, first.blocks + second.blocks, strict=True)
    blocks = [block for _, block in sorted(placed, key=lambda pair: pair[0])]
    return Turn({**first.message, "content": blocks}, native=True)


def _are_one(first: Turn, second: Turn) -> bool:
    """Return whether two parts form a complete message, even if of two different ones."""
    if not (first.places and second.places):
        return False
    places = first.places + second.places
    return sorted(places) == list(range(len(places)))


def name_calls(turns: Sequence[Turn], *, rename_reused: bool = False) -> list[Turn]:
    """Assign a unique id that the API accepts to each rebuilt call and to its result.

    Calls that are sent back unchanged keep their ids, even if a later turn uses an id again:
    servers that number the calls of each reply from 0 accept that. With `rename_reused`, only the
    first call with an id in a turn keeps it.
    """
    # Calls that are sent back unchanged come first: a rebuilt one can take another id, they cannot.
    theirs = {call_id for turn in turns if turn.native for call_id in _call_ids(turn)}
    ids = UniqueIds(used=theirs, stem=str)
    given: dict[str, list[str]] = {}
    kept: set[str] = set()
    named: list[Turn] = []
    for turn in turns:
        if turn.role != "assistant":
            named.append(_answered(turn, given))
            continue
        if not (named and named[-1].role == "assistant"):
            # Calls that are sent back unchanged may use ids of earlier turns again.
            given, kept = defaultdict(list), set()
        keep = turn.native and not rename_reused
        named.append(turn if keep else _renamed(turn, given, ids, kept))
    return named


def _call_ids(turn: Turn) -> list[str]:
    ids = [at(block, "id") for block in turn.blocks if at(block, "type") == "tool_use"]
    return [call_id for call_id in ids if isinstance(call_id, str)]


def _renamed(turn: Turn, given: dict[str, list[str]], ids: UniqueIds, kept: set[str]) -> Turn:
    """Name the calls of a reply; `kept` has the ids that this turn's unchanged calls keep."""
    blocks = []
    for block in turn.blocks:
        new, old = block, at(block, "id")
        if at(block, "type") == "tool_use" and isinstance(old, str):
            # An id that came from the wire was accepted, whatever its characters, but not twice in
            # a turn: https://github.com/anthropics/claude-code/issues/20901.
            if turn.native and old not in kept:
                kept.add(old)
                call_id = old
            else:
                call_id = ids.take(old if turn.native else _CALL_IDS.wire(old))
            given[old].append(call_id)
            new = block if call_id == old else {**block, "id": call_id}
        blocks.append(new)
    if blocks == turn.blocks:
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def _answered(turn: Turn, given: dict[str, list[str]]) -> Turn:
    """Rename results like their calls: an id's second result answers its second call."""
    # A copy: the turn's own list may be the payload of a message.
    blocks = list(items_at(turn.message, "content"))
    for place, block in enumerate(blocks):
        waiting = given.get(text_at(block, "tool_use_id")) if at(block, "type") == _RESULT else None
        if waiting:
            # In order, because nothing else tells two results of one id apart.
            blocks[place] = {**block, "tool_use_id": waiting.pop(0)}
    if blocks == items_at(turn.message, "content"):
        return turn
    return attrs.evolve(turn, message={**turn.message, "content": blocks})


def mark_for_cache(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with cache marks added, or unchanged if the caller has set any.

    The request passed in is not modified.

    >>> marked = mark_for_cache({"messages": [{"role": "user", "content": "Why?"}]})
    >>> marked["messages"][0]["content"]
    [{'type': 'text', 'text': 'Why?', 'cache_control': {'type': 'ephemeral'}}]
    """
    # The caller decides on all marks, since the API rejects lifetimes in the wrong order.
    if "cache_control" in body or any(at(part, "cache_control") for part in _parts(body)):
        return dict(body)
    marked = {**body, "messages": _mark_messages(items_at(body, "messages"))}
    if system := blocks_of(body.get("system")):
        marked["system"] = _mark(system, len(system) - 1)
    if tools := items_at(body, "tools"):
        marked["tools"] = _mark(tools, len(tools) - 1)
    return marked


def _parts(body: Mapping[str, Any]) -> Iterator[Any]:
    """Yield everything that can have a mark, including the blocks inside results."""
    waiting = [*items_at(body, "tools"), *blocks_of(body.get("system"))]
    waiting += items_at(body, "messages")
    while waiting:
        part = waiting.pop()
        yield part
        waiting += items_at(part, "content")


def _mark_messages(messages: list[Any]) -> list[Any]:
    marked, left = list(messages), _MARKED_MESSAGES
    # The newest two: the last one writes the cache, and the one before it finds what the last
    # request wrote.
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
    # An empty text takes no mark: https://github.com/stakpak/agent/pull/511 quotes the error.
    kind = text_at(block, "type")
    return kind in _MARKABLE and (kind != "text" or bool(text_at(block, "text").strip()))


def _mark(blocks: list[Any], place: int) -> list[Any]:
    marked = {**blocks[place], "cache_control": _MARK}
    return [*blocks[:place], marked, *blocks[place + 1 :]]
