"""Policies by name: what makes a request of a history, with the options that each takes.

Each policy is the parts of a `View`, which decides here as it does for a Runner or a Session.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs

from agentic.context import budget, compactors
from agentic.context.strategies import (
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.context.view import View
from agentic.tokens import Counter

__all__ = ["POLICIES", "Parts", "Policy", "Room"]


@attrs.frozen
class Room:
    """What a context may take. Sizes in tokens."""

    limits: budget.Policy
    counter: Counter

    @property
    def available(self) -> int:
        """The window less the reserve."""
        return self.limits.available_tokens


@attrs.frozen(eq=False)
class Policy:
    """What a session is replayed under. It may serve many sessions."""

    name: str
    strategies: tuple[ContextStrategy, ...] = ()
    manager: budget.Manager | None = None

    def make_view(self) -> View:
        """Return the View of one session."""
        manager = budget.Manager() if self.manager is None else self.manager
        return View.of(manager, strategies=self.strategies)


Parts = tuple[Sequence[ContextStrategy], budget.Manager | None]


def _none(_: Room) -> Parts:
    """Send everything, as long as it is."""
    return [], None


def _keep_last(_: Room, *, keep_recent: int = 20) -> Parts:
    """Send the newest messages, by number."""
    return [KeepLast(keep_recent)], None


def _trim_rounds(_: Room, *, max_rounds: int = 10) -> Parts:
    """Send the task and the newest tool rounds, by number."""
    return [TrimRounds(max_rounds)], None


def _fit_window(room: Room, *, low_water: float = 0.75) -> Parts:
    """Send the task and the newest rounds that fit."""
    fit = FitContextWindow(room.available, room.counter, low_water=low_water)
    return [fit], None


def _clear_tool_outputs(
    room: Room, *, keep_rounds: int = 3, low_water: float = 0.75, min_tokens: int | None = None
) -> Parts:
    """Send every message, the oldest tool outputs as one line each."""
    return [_clearing(room, room.available, keep_rounds, low_water, min_tokens)], None


def _truncate_tool_outputs(_: Room, *, max_chars: int = 4_000) -> Parts:
    """Send every message, long tool outputs without their middle."""
    return [TruncateToolOutputs(max_chars)], None


def _importance(_: Room, *, keep_recent: int = 10, min_score_threshold: float = 0.3) -> Parts:
    """Send what scores: users, tools, failures, what is referenced later."""
    scored = Importance(keep_recent, min_score_threshold=min_score_threshold)
    return [scored], None


def _digest(
    room: Room, *, max_tokens: int | None = None, keep_recent_tokens: int | None = None
) -> Parts:
    """Compact the history into a digest when it is over the window."""
    return [], _manager(room, max_tokens, keep_recent_tokens)


def _tiers(
    room: Room,
    *,
    clear_at: float = 0.75,
    keep_rounds: int = 3,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> Parts:
    """Clear old tool outputs first, compact into a digest when that is not enough."""
    clearing = _clearing(room, max(1, int(room.available * clear_at)), keep_rounds, 0.75, None)
    return [clearing], _manager(room, max_tokens, keep_recent_tokens)


def _clearing(
    room: Room, tokens: int, keep_rounds: int, low_water: float, min_tokens: int | None
) -> ClearToolOutputs:
    return ClearToolOutputs(
        tokens, room.counter, keep_rounds=keep_rounds, low_water=low_water, min_tokens=min_tokens
    )


def _manager(room: Room, max_tokens: int | None, keep_recent_tokens: int | None) -> budget.Manager:
    limits = room.limits
    if keep_recent_tokens is not None:
        limits = attrs.evolve(limits, keep_recent_tokens=keep_recent_tokens)
    size = max_tokens or max(50, min(2_000, room.available // 4))
    digest = compactors.Digest(max_tokens=size, counter=room.counter)
    return budget.Manager(room.counter, digest, limits)


POLICIES: Mapping[str, Callable[..., Parts]] = {
    "none": _none,
    "keep_last": _keep_last,
    "trim_rounds": _trim_rounds,
    "fit_window": _fit_window,
    "clear_tool_outputs": _clear_tool_outputs,
    "truncate_tool_outputs": _truncate_tool_outputs,
    "importance": _importance,
    "digest": _digest,
    "tiers": _tiers,
}
"""Every policy, as a function of the room and its options; its docstring says what it does."""
