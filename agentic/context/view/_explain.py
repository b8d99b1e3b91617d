"""What each part removed from the latest request, found by comparing its input and its output.

A part returns the messages that it leaves alone as the same objects, so messages are compared by
identity. A message that a part rewrote, for example with a shorter output, has the same role and
the same calls as the original.
"""

from collections.abc import Iterator, Sequence

import attrs

from agentic.context.view._lineage import Branch
from agentic.messages import Message, reopen_rounds
from agentic.tokens import TokenCache

_REPAIR = "repair"
_REFUSED = "a provider would refuse a result that answers no call"


@attrs.frozen(kw_only=True)
class Removal:
    """A part of the history that is missing from the latest request, or shortened in it."""

    part: str
    """What removed it: `compaction`, `repair` (for an orphaned result), a strategy's name, `summary
    share`, `window`, or `reasoning` (stale reasoning, which is left out of its reply)."""
    reason: str
    """The reason, as a sentence."""
    positions: tuple[int, ...]
    """The positions of the messages in the list that was passed to `prepare`."""
    shortened: bool = False
    """Whether the messages were sent with shorter texts, rather than left out."""
    tokens: int = 0
    """How much shorter this makes the request, in tokens by the counter."""
    where: str = ""
    """Where the whole can be read."""
    epoch: tuple[str, ...] = ()
    """Why the epoch of the request began, as in `Prepared.changes`; empty in the first epoch. What
    is missing from its first request is missing from all of them."""


@attrs.frozen(eq=False)
class Stage:
    """The input and the output of one part."""

    part: str
    reason: str
    before: list[Message]
    after: list[Message]


def explain(
    branch: Branch, repaired: list[Message], stages: Sequence[Stage], token_cache: TokenCache | None
) -> list[Removal]:
    """Return what the compaction replaced, what was repaired, and what each stage removed.

    The stages made the first request of the epoch. What came later is shown as it is.
    """
    removals = list(_compacted(branch, token_cache))
    places: list[int | None] = branch.positions
    for stage in (Stage(_REPAIR, _REFUSED, branch.history, repaired), *stages):
        if stage.after is stage.before:
            continue
        gone, shortened, places = _compare(stage, places)
        for found, is_shortened in ((gone, False), (shortened, True)):
            if found:
                removals.append(
                    Removal(
                        part=stage.part,
                        reason=stage.reason,
                        positions=tuple(at for at, _, _ in found if at is not None),
                        shortened=is_shortened,
                        tokens=_saved(found, token_cache),
                        where=_where(found),
                    )
                )
    return removals


def _compacted(branch: Branch, token_cache: TokenCache | None) -> Iterator[Removal]:
    found = branch.generation
    if found is None:
        return
    gone = sorted(set(range(found.cut)).difference(found.kept))
    count = token_cache.count_message if token_cache else lambda _: 0
    where, summary = "the list itself", 0
    # None under the strategies of a ContextConfig that only leave messages out.
    if found.summary is not None:
        where, summary = f"in the summary; the originals are in {where}", count(found.summary)
    yield Removal(
        part="compaction",
        reason=f"the {found.reason} trigger fired",
        positions=tuple(gone),
        tokens=sum(count(branch.read[at]) for at in gone) - summary,
        where=where,
    )


def _where(found: "list[_Change]") -> str:
    """Return where the whole can be found: in the list itself, and at any references."""
    refs = [
        result.ref
        for _, message, _ in found
        for result in message.tool_results
        if result.ref is not None
    ]
    return ", ".join(["the list itself", *refs])


_Change = tuple[int | None, Message, Message | None]
"""The message's position in the owner's list, the message, and what replaces it."""


def _compare(
    stage: Stage, places: Sequence[int | None]
) -> tuple[list[_Change], list[_Change], list[int | None]]:
    """Return what is gone, what was rewritten, and the original positions of what stayed."""
    kept = {id(message) for message in stage.after}
    known = {id(message) for message in stage.before}
    # What `close_open_rounds` made up replaces no message: `reopen_rounds` removes it.
    written = [m for m in stage.after if id(m) not in known and reopen_rounds([m])]
    rewritten = {key: message for message in written for key in _keys(message)}
    origin: dict[int, int | None] = {}
    gone: list[_Change] = []
    shortened: list[_Change] = []
    # Not strict: without a compaction the input is the owner's list, which may have grown since.
    for place, message in zip(places, stage.before, strict=False):
        if id(message) in kept:
            origin[id(message)] = place
            continue
        instead = next(filter(None, map(rewritten.get, _keys(message))), None)
        if instead is None:
            gone.append((place, message, None))
        else:
            origin[id(instead)] = place
            shortened.append((place, message, instead))
    return gone, shortened, [origin.get(id(message)) for message in stage.after]


def _keys(message: Message) -> Iterator[object]:
    """Yield keys that a rewritten message shares with the original: ids, or the ids of results."""
    if message.summary is not None:
        yield ("summary", message.summary.created_at)
    ids = [call.id for call in message.tool_calls]
    ids += [result.call_id for result in message.tool_results]
    if ids:
        yield (message.role, *ids)
    # Without its orphans a message has other ids, but the remaining results are the same objects.
    yield from map(id, message.tool_results)
    if message.origin is not None:  # its reasoning was left out
        yield id(message.origin.payload)
    if not ids and message.timestamp is not None:  # its media were cleared
        yield (message.role, message.timestamp)


def _saved(found: list[_Change], token_cache: TokenCache | None) -> int:
    if token_cache is None:
        return 0
    count = token_cache.count_message
    return sum(count(before) - (count(after) if after else 0) for _, before, after in found)
