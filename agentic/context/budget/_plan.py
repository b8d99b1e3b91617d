"""What a compaction keeps and what it drops."""

import math
from collections.abc import Iterable

import attrs

from agentic.context.budget._policy import Policy
from agentic.messages import (
    Message,
    Round,
    find_task,
    prefix_length,
    split_rounds,
)

__all__ = ["Plan", "plan"]

_SUMMARY_SHARE = 4
"""One part in this many of the available tokens is left to the summary, unless the policy itself
keeps more."""


@attrs.frozen
class Plan:
    """Positions in the conversation, ascending. Nothing stands in two of them."""

    leading: tuple[int, ...]
    """System messages at the start, a former summary left out."""
    kept: tuple[int, ...]
    """What stays after the summary."""
    dropped: tuple[int, ...]
    """What the summary replaces, a former summary left out. An orphan is always among it."""
    former: tuple[int, ...]
    """Former summaries, to be folded into the new one."""


def plan(
    messages: list[Message],
    sizes: list[float],
    policy: Policy,
    *,
    by_window: bool,
    overhead: float = 0,
) -> Plan:
    """Say what stays, given the sizes of the messages and of what is sent beside them."""
    start = prefix_length(messages)
    split = split_rounds(messages)
    former = _positions(found for found in split if found.messages[0].summary)
    leading = tuple(i for i in range(start) if not messages[i].summary)
    apart = {*leading, *former}
    rounds = [found for found in split if found.positions[0] not in apart]
    sound = [found for found in rounds if not found.orphaned]
    request = find_task(messages)[-1:]
    always = [found for found in sound if found.pinned or found.positions[0] in request]
    fixed = {*leading, *_positions(always)}
    room = _room(policy) - overhead - sum(sizes[i] for i in fixed)
    recent = _within(room, _recent(sound, sizes, policy, by_window=by_window), fixed, sizes)
    kept = {*_positions(always), *_positions(recent)}
    dropped = tuple(i for i in _positions(rounds) if i not in kept)
    return Plan(leading, tuple(sorted(kept)), dropped, tuple(former))


def _recent(
    rounds: list[Round], sizes: list[float], policy: Policy, *, by_window: bool
) -> list[Round]:
    """Give the newest rounds that the policy keeps, newest first; at least one."""
    recent: list[Round] = []
    count, tokens = 0, 0.0
    for found in reversed(rounds):
        if by_window and not policy.keep_last:
            enough = tokens >= policy.keep_recent_tokens
        else:
            enough = count >= (policy.keep_last if by_window else policy.min_recent_messages)
        if recent and enough:
            break
        recent.append(found)
        count += len(found.positions)
        tokens += _size(found, sizes)
    return recent


def _room(policy: Policy) -> float:
    """Give what a context may take beside a summary."""
    if not policy.context_window:
        return math.inf
    share = policy.available_tokens - policy.available_tokens // _SUMMARY_SHARE
    return max(policy.keep_recent_tokens, share)


def _within(room: float, recent: list[Round], fixed: set[int], sizes: list[float]) -> list[Round]:
    """Leave out the oldest of what is recent until the rest fits beside what is fixed."""
    fitting: list[Round] = []
    for found in recent:
        room -= 0 if found.positions[0] in fixed else _size(found, sizes)
        if fitting and room < 0:
            break
        fitting.append(found)
    return fitting


def _size(found: Round, sizes: list[float]) -> float:
    return sum(sizes[i] for i in found.positions)


def _positions(rounds: Iterable[Round]) -> list[int]:
    return sorted(position for found in rounds for position in found.positions)
