"""Policies by name: what makes a request from a history, and how a policy's options are written.

A policy is written as `name` or `name:option=value,option=value`. Each provides the parts of a
`View`, which decides here as it does for a Runner or a Session.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import attrs

from agentic._validate import suggest
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
from agentic.errors import ConfigError
from agentic.tokens import Counter


@attrs.frozen
class ContextLimits:
    """The limits of a context. Sizes are in tokens."""

    limits: budget.Policy
    counter: Counter

    @property
    def available(self) -> int:
        """The window less the reserve."""
        return self.limits.available_tokens


@attrs.frozen(eq=False)
class ReplayPolicy:
    """What a session is replayed under. One policy may serve many sessions."""

    name: str
    strategies: tuple[ContextStrategy, ...] = ()
    manager: budget.Manager | None = None
    description: str = ""
    """What the policy does, as a sentence."""

    def make_view(self) -> View:
        """Return the View of one session."""
        # Without a compactor, a Manager compacts nothing.
        manager = budget.Manager() if self.manager is None else self.manager
        return View.of(manager, strategies=self.strategies)


def make_policy(spec: str, context_limits: ContextLimits) -> ReplayPolicy:
    """Return the policy for a text such as `name` or `name:option=value,...`.

    >>> from agentic.tokens import CharCounter
    >>> context_limits = ContextLimits(budget.Policy(16_000), CharCounter())
    >>> policy = make_policy("keep_last:keep_recent=6", context_limits)
    >>> policy.strategies[0].keep_recent, policy.description
    (6, 'Send the newest messages, by number.')

    Raises:
        ConfigError: the name or an option is unknown, or a value is not allowed.
    """
    name, _, given = spec.partition(":")
    if name not in POLICIES:
        allowed = f"one of {', '.join(POLICIES)}"
        remedy = suggest(name, POLICIES, "options follow as :option=value")
        raise ConfigError("policy", name, allowed, remedy)
    options = _options(name, given)
    used, manager = POLICIES[name](context_limits, **options)
    return ReplayPolicy(spec, tuple(used), manager, inspect.getdoc(POLICIES[name]) or "")


def _options(name: str, given: str) -> dict[str, Any]:
    # The keyword parameters of a policy's function are its options.
    known = {
        key: parameter.annotation
        for key, parameter in inspect.signature(POLICIES[name]).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    options: dict[str, Any] = {}
    for part in filter(None, given.split(",")):
        key, _, text = (each.strip() for each in part.partition("="))
        if key not in known:
            allowed = ", ".join(known) or "none"
            message = f"{name} has no option {key!r}; its options: {allowed}"
            raise ConfigError(f"option of {name}", key, allowed, message=message)
        options[key] = _value(f"{name}:{key}", text, known[key])
    return options


def _value(name: str, text: str, annotation: Any) -> Any:
    """Return a number; an empty text is None if None is allowed.

    >>> _value("digest:max_tokens", "8_000", int | None), _value("tiers:clear_at", ".5", float)
    (8000, 0.5)
    """
    if text in {"", "none"} and type(None) in get_args(annotation):
        return None
    # The annotation says which: a share of the window is a float, a count an int.
    is_share = annotation is float
    try:
        return float(text) if is_share else int(text)
    except ValueError as problem:
        allowed, example = ("a number", "0.5") if is_share else ("a whole number", "20")
        raise ConfigError(name, text, allowed, f"write {name}={example}") from problem


_Parts = tuple[Sequence[ContextStrategy], budget.Manager | None]


def _none(_: ContextLimits) -> _Parts:
    """Send everything, as long as it is."""
    return [], None


def _keep_last(context_limits: ContextLimits, *, keep_recent: int = 20) -> _Parts:
    """Send the newest messages, by number."""
    return [KeepLast(keep_recent)], _window(context_limits)


def _trim_rounds(context_limits: ContextLimits, *, max_rounds: int = 10) -> _Parts:
    """Send the task and the newest tool rounds, by number."""
    return [TrimRounds(max_rounds)], _window(context_limits)


def _fit_window(context_limits: ContextLimits, *, low_watermark: float = 0.75) -> _Parts:
    """Send the task and the newest rounds that fit."""
    available, counter = context_limits.available, context_limits.counter
    return [FitContextWindow(available, counter, low_watermark=low_watermark)], None


def _clear_tool_outputs(
    context_limits: ContextLimits,
    *,
    keep_rounds: int = 3,
    low_watermark: float = 0.75,
    min_tokens: int | None = None,
) -> _Parts:
    """Send every message, the oldest tool outputs as one line each."""
    clearing = ClearToolOutputs(
        context_limits.available,
        context_limits.counter,
        keep_rounds=keep_rounds,
        low_watermark=low_watermark,
        min_tokens=min_tokens,
    )
    return [clearing], None


def _truncate_tool_outputs(_: ContextLimits, *, max_chars: int = 4_000) -> _Parts:
    """Send every message, long tool outputs without their middle."""
    return [TruncateToolOutputs(max_chars)], None


def _importance(
    context_limits: ContextLimits, *, keep_recent: int = 10, min_score_threshold: float = 0.3
) -> _Parts:
    """Send what scores: users, tools, failures, what is referenced later."""
    importance = Importance(keep_recent, min_score_threshold=min_score_threshold)
    return [importance], _window(context_limits)


def _digest(
    context_limits: ContextLimits,
    *,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> _Parts:
    """Compact the history into a digest when it is over the window."""
    return [], _manager(context_limits, max_tokens, keep_recent_tokens)


def _tiers(
    context_limits: ContextLimits,
    *,
    clear_at: float = 0.75,
    keep_rounds: int = 3,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> _Parts:
    """Clear old tool outputs first, compact into a digest when that is not enough."""
    # The other options are checked by the parts that they go to.
    if not 0 < clear_at <= 1:
        raise ConfigError("tiers:clear_at", clear_at, "a share of the window, above 0 and up to 1")
    trigger = max(1, int(context_limits.available * clear_at))
    # The digest is due at the whole window, so clearing has to come earlier to come first.
    clearing = ClearToolOutputs(trigger, context_limits.counter, keep_rounds=keep_rounds)
    return [clearing], _manager(context_limits, max_tokens, keep_recent_tokens)


def _window(context_limits: ContextLimits) -> budget.Manager:
    """Return a Manager that only knows the window.

    A strategy without a budget waits until an epoch begins, at the latest when a request would not
    fit.
    """
    return budget.Manager(context_limits.counter, None, context_limits.limits)


def _manager(
    context_limits: ContextLimits, max_tokens: int | None, keep_recent_tokens: int | None
) -> budget.Manager:
    limits = context_limits.limits
    if keep_recent_tokens is not None:
        limits = attrs.evolve(limits, keep_recent_tokens=keep_recent_tokens)
    # A quarter of a small window, and of a large one no more than a page or two.
    if max_tokens is None:
        max_tokens = max(50, min(2_000, context_limits.available // 4))
    digest = compactors.Digest(max_tokens=max_tokens, counter=context_limits.counter)
    return budget.Manager(context_limits.counter, digest, limits)


POLICIES: Mapping[str, Callable[..., _Parts]] = {
    # The measure of all others: what sending everything costs, and where it stops fitting.
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
"""Every policy, as a function of the limits and its options; its docstring says what it does."""
