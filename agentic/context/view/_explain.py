"""What each part removed from the latest request, found by comparing its input and its output.

A part returns the messages that it leaves alone as the same objects, so messages are compared by
identity. A message that a part rewrote, for example with a shorter output, has the same role and
the same calls as the original.
"""

import operator
import reprlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from agentic.context.view._lineage import Branch
from agentic.messages import Message
from agentic.messages._rounds import reopen_rounds
from agentic.tokens._count import TokenCache

if TYPE_CHECKING:
    from agentic.context.digest._explained import NoteLine

_REPAIR = "repair"
_REFUSED = "a provider would refuse a result that answers no call"


def _clipped(values: tuple[object, ...]) -> str:
    return reprlib.repr(values)


@attrs.frozen(kw_only=True)
class Removal:
    """A part of the history that is missing from the latest request, or shortened in it."""

    part: str
    """What removed it: `compaction`, `repair` (for an orphaned result), a strategy's name, `summary
    share`, `window`, or `reasoning` (stale reasoning, which is left out of its reply)."""
    reason: str
    """The reason, as a sentence."""
    positions: tuple[int, ...] = attrs.field(repr=_clipped)
    """The positions of the messages in the list that was passed to `prepare`."""
    shortened: bool = False
    """Whether the messages were sent with shorter texts, rather than left out."""
    tokens: int = 0
    """How much shorter this makes the request, in tokens by the counter."""
    where: str = ""
    """Where the whole can be read."""
    note: "tuple[NoteLine, ...]" = attrs.field(default=(), repr=_clipped)
    """The lines of the summary that stands for them, if a Digest wrote it: where each comes from,
    by the same positions, and why it is there."""
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

    def changes_from(self, start: int) -> bool:
        """Return whether it changed messages of its input from a position on."""
        if self.after is self.before:
            return False
        return any(map(operator.is_not, self.after[start:], self.before[start:]))

    def with_list(self, messages: list[Message], former: list[Message]) -> "Stage":
        """Return the stage with a list in place of an equal one; itself if it has not that one."""
        if self.before is not former and self.after is not former:
            return self
        before, after = (messages if each is former else each for each in (self.before, self.after))
        return Stage(self.part, self.reason, before, after)


def explain(
    branch: Branch, history: list[Message], stages: Sequence[Stage], token_cache: TokenCache | None
) -> list[Removal]:
    """Return what the compaction replaced, what was repaired, and what each stage removed.

    The stages made the first request of the epoch. What came later is shown as it is.
    """
    removals = list(_compacted(branch, token_cache))
    places: list[int | None] = branch.positions
    for stage in (Stage(_REPAIR, _REFUSED, branch.history, history), *stages):
        if stage.after is stage.before:
            continue
        missing, changes_in_place, places = _compare(stage, places)
        for changes, is_shortened in ((missing, False), (changes_in_place, True)):
            if changes:
                removals.append(
                    Removal(
                        part=stage.part,
                        reason=stage.reason,
                        positions=tuple(at for at, _, _ in changes if at is not None),
                        shortened=is_shortened,
                        tokens=_saved(changes, token_cache),
                        where=_where(changes),
                    )
                )
    return removals


def _compacted(branch: Branch, token_cache: TokenCache | None) -> Iterator[Removal]:
    compaction = branch.generation
    if compaction is None:
        return
    missing = sorted(set(range(compaction.cut)).difference(compaction.kept))
    count = token_cache.count_message if token_cache else lambda _: 0
    where, summary = "the list itself", 0
    note: list[NoteLine] = []
    # None under the strategies of a ContextConfig that only leave messages out.
    if compaction.summary is not None:
        where, summary = f"in the summary; the originals are in {where}", count(compaction.summary)
        # Here, so that a session without a digest does not load it.
        from agentic.context.digest._explained import explain_note  # noqa: PLC0415

        note = explain_note(compaction.summary.content, branch.read[: compaction.cut])
    yield Removal(
        part="compaction",
        reason=f"the {compaction.reason} trigger fired",
        positions=tuple(missing),
        tokens=sum(count(branch.read[at]) for at in missing) - summary,
        where=where,
        note=tuple(note),
    )


def _where(changes: "list[_Change]") -> str:
    """Return where the whole can be found: in the list itself, and at any references."""
    refs = [
        result.ref
        for _, message, _ in changes
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
    after = {id(message) for message in stage.after}
    before = {id(message) for message in stage.before}
    # What `close_open_rounds` made up replaces no message: `reopen_rounds` removes it.
    replacements = [m for m in stage.after if id(m) not in before and reopen_rounds([m])]
    by_key = {key: message for message in replacements for key in _keys(message)}
    origin: dict[int, int | None] = {}
    missing: list[_Change] = []
    changes_in_place: list[_Change] = []
    # Not strict: the history has grown since the epoch began.
    for place, message in zip(places, stage.before, strict=False):
        if id(message) in after:
            origin[id(message)] = place
            continue
        instead = next(filter(None, map(by_key.get, _keys(message))), None)
        if instead is None:
            missing.append((place, message, None))
        else:
            origin[id(instead)] = place
            changes_in_place.append((place, message, instead))
    return missing, changes_in_place, [origin.get(id(message)) for message in stage.after]


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


def _saved(changes: list[_Change], token_cache: TokenCache | None) -> int:
    if token_cache is None:
        return 0
    count = token_cache.count_message
    return sum(count(before) - (count(after) if after else 0) for _, before, after in changes)
