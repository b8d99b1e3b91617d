"""What a compaction keeps and what it drops."""

import math
from collections.abc import Iterable, Mapping

import attrs

from agentic.context.budget._policy import Policy, is_long
from agentic.messages import (
    Message,
    Round,
    find_task,
    holds_compaction,
    prefix_length,
    split_rounds,
)

_SUMMARY_SHARE = 4
"""A trigger's limit divided by this is reserved for the summary."""


@attrs.frozen
class Plan:
    """Positions in the conversation, ascending. No position is in two of the fields.

    An orphan is a tool result that answers no call.
    """

    leading: tuple[int, ...]
    """System messages at the start, without any former summary."""
    kept: tuple[int, ...]
    """The messages that are kept after the summary."""
    dropped: tuple[int, ...]
    """The messages that the summary replaces, without any former summary. A round with an orphan is
    always among them, unless it is pinned."""
    former: tuple[int, ...]
    """Former summaries, which are merged into the new one."""
    edited: Mapping[int, Message] = attrs.field(factory=dict)
    """Messages of pinned rounds with orphans in `kept`, by position, without the orphans."""


def plan(
    messages: list[Message],
    sizes: list[float],
    policy: Policy,
    *,
    by_window: bool,
    overhead: float = 0,
) -> Plan:
    """Return what to keep, given the sizes of the messages and of what is sent with them."""
    start = prefix_length(messages)
    split = split_rounds(messages)
    former = _positions(found for found in split if found.messages[0].summary)
    # System messages after the summary were kept by an earlier compaction, and go like all others.
    leading = tuple(i for i in range(start) if not messages[i].summary)
    apart = {*leading, *former}
    rounds = [found for found in split if found.positions[0] not in apart]
    sound = [found for found in rounds if found.sound_messages]
    # Only the latest request is kept: the summary covers the one that the work began with.
    request = set(find_task(messages)[-1:])
    # What the provider compacted is in its latest compaction only, and may be opaque to us.
    compacted = next((each for each in reversed(sound) if holds_compaction(each.messages)), None)
    always = [
        found
        for found in sound
        if found.pinned or found is compacted or request.intersection(found.positions)
    ]
    fixed = _positions(always)
    cut = _Cut(policy, sizes, overhead + sum(sizes[i] for i in leading), frozenset(fixed))
    recent = cut.recent(sound, by_window=by_window)
    kept = {*fixed, *_positions(recent)}
    dropped = tuple(i for i in _positions(rounds) if i not in kept)
    edited = {
        i: message
        for found in always
        if found.orphaned
        for i, message in zip(found.positions, found.sound_messages, strict=True)
    }
    return Plan(leading, tuple(sorted(kept)), dropped, tuple(former), edited)


@attrs.frozen
class _Cut:
    """Selects the newest rounds to keep. Applied to its own result, it keeps the same rounds."""

    policy: Policy
    sizes: list[float]
    beside: float
    """The size of what is sent before the summary: leading messages, and the overhead."""
    fixed: frozenset[int]
    """The positions of the messages that are kept regardless of age."""

    def recent(self, rounds: list[Round], *, by_window: bool) -> list[Round]:
        """Return the newest rounds to keep, newest first; at least one."""
        newest = rounds[::-1]
        # Whole rounds only, so there may be more messages than the minimum, but never fewer.
        least = _reach(map(_length, newest), self.policy.min_recent_messages)
        most = max(least, self._extended(newest)) if by_window else least
        kept = self._kept(newest[:most])
        # The sums only grow, so the number of those that fit is where the cut is. The newest round
        # stays even if it is too large, or nothing would be left to go on from.
        most = max(1, sum(tokens <= self._window_room for _, tokens in kept))
        below = sum(not self._reaches_k(count, tokens) for count, tokens in kept[:most])
        # If pinned messages alone reach K (`max_tokens`), removing more would not help. Keep what
        # a compaction triggered by K would keep.
        return newest[: below or min(least, most)]

    def _extended(self, newest: list[Round]) -> int:
        """Return how many rounds the window trigger keeps."""
        if self.policy.keeps_by_count:
            return _reach(map(_length, newest), self.policy.keep_last)
        return _reach(map(self._size, newest), self.policy.keep_recent_tokens)

    def _kept(self, newest: list[Round]) -> list[tuple[int, float]]:
        """Return the number of kept messages and their size for the first 1, 2, ... rounds."""
        count, tokens = len(self.fixed), self.beside + sum(self.sizes[i] for i in self.fixed)
        kept = []
        for found in newest:
            if found.positions[0] not in self.fixed:
                count, tokens = count + _length(found), tokens + self._size(found)
            kept.append((count, tokens))
        return kept

    @property
    def _window_room(self) -> float:
        available = self.policy.trigger_tokens
        return _beside_summary(available) if self.policy.context_window else math.inf

    def _reaches_k(self, count: int, tokens: float) -> bool:
        most = self.policy.max_tokens
        return most is not None and is_long(self.policy, count) and tokens >= _beside_summary(most)

    def _size(self, found: Round) -> float:
        return sum(self.sizes[i] for i in found.positions)


def _reach(amounts: Iterable[float], goal: float) -> int:
    """Return how many amounts it takes to reach a goal: at least one, or all of them."""
    number, reached = 0, 0.0
    for amount in amounts:
        number, reached = number + 1, reached + amount
        if reached >= goal:
            break
    return number


def _length(found: Round) -> int:
    return len(found.positions)


def _beside_summary(tokens: int) -> int:
    # The size of the summary is not known yet, so reserve a fixed share for it.
    return tokens - tokens // _SUMMARY_SHARE


def _positions(rounds: Iterable[Round]) -> list[int]:
    return sorted(position for found in rounds for position in found.positions)
