"""What a compaction keeps and what it drops."""

from collections.abc import Iterable

import attrs

from agentic.context.budget._policy import Policy
from agentic.messages import Message, Round, find_task, leading_system_count, split_rounds

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


def plan(messages: list[Message], sizes: list[float], policy: Policy, *, by_window: bool) -> Plan:
    """Say what stays of a conversation whose messages have these sizes."""
    start = leading_system_count(messages)
    former = tuple(i for i, message in enumerate(messages) if message.summary)
    leading = tuple(i for i in range(start) if i not in former)
    rounds = [found for found in split_rounds(messages, start) if found.positions[0] not in former]
    sound = [found for found in rounds if not found.orphaned]
    request = find_task(messages)[-1:]
    always = [found for found in sound if found.pinned or found.positions[0] in request]
    recent = _recent(sound, sizes, policy, by_window=by_window)
    fixed = sum(sizes[i] for i in {*leading, *_positions(always)})
    kept = {*_positions(always), *_positions(_within(recent, always, sizes, policy, fixed))}
    dropped = tuple(i for i in _positions(rounds) if i not in kept)
    return Plan(leading, tuple(sorted(kept)), dropped, former)


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


def _within(
    recent: list[Round], always: list[Round], sizes: list[float], policy: Policy, fixed: float
) -> list[Round]:
    """Leave out the oldest of what is recent until a summary has room beside it."""
    if not policy.context_window:
        return recent
    share = policy.available_tokens - policy.available_tokens // _SUMMARY_SHARE
    room = max(policy.keep_recent_tokens, share) - fixed
    fitting: list[Round] = []
    for found in recent:
        room -= 0 if found in always else _size(found, sizes)
        if fitting and room < 0:
            break
        fitting.append(found)
    return fitting


def _size(found: Round, sizes: list[float]) -> float:
    return sum(sizes[i] for i in found.positions)


def _positions(rounds: Iterable[Round]) -> list[int]:
    return sorted(position for found in rounds for position in found.positions)
