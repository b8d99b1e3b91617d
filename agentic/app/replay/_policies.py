"""Policies by name: what makes a request from a history, and how a policy's options are written.

A policy is written as `name` or `name:option=value,option=value`. Each provides the parts of a
`View`, which decides here as it does for a Runner or a Session.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

import attrs

from agentic._base._validate import suggest
from agentic.app.replay._programs import (
    CLAUDE_CODE,
    CODEX,
    GEMINI_CLI,
    SUMMARY_TOKENS,
    Program,
    ProgramView,
)
from agentic.app.replay._reading import RecordedCompaction
from agentic.app.replay._recorded import Calibration, RecordedView
from agentic.app.replay._records import SummaryRequest
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

AS_RECORDED = "as_recorded"
"""The name of the policy that the agent itself followed."""


@attrs.frozen
class ContextLimits:
    """The limits of a context. Sizes are in tokens."""

    limits: budget.Policy
    counter: Counter

    @property
    def available(self) -> int:
        """The window less the reserve."""
        return self.limits.available_tokens

    def before(self, calibration: Calibration) -> "ContextLimits":
        """Return the limits for what is counted, of which more is sent.

        A View counts messages, without what is hidden and in counted tokens: it may fill what is
        left of the window in these.
        """
        policy, factor = self.limits, calibration.factor
        window = int((policy.context_window - calibration.hidden) / factor)
        reserve = int(policy.reserve_tokens / factor)
        return attrs.evolve(self, limits=budget.Policy(window, reserve_tokens=reserve))


@attrs.frozen(kw_only=True)
class SummaryRule:
    """How a model is asked for a summary. Sizes are in tokens."""

    extends: bool = False
    """Whether the request extends the last one, which is then read from the prompt cache."""
    whole: bool = True
    """Whether it has all messages, or only those that the summary replaces."""
    instruction_tokens: int = 300
    checks: bool = False
    """Whether a second request, which extends the first one, has the summary checked."""

    def requests(
        self, *, before: int, fresh: int, replaced: int, summary: int, window: int
    ) -> Iterator[SummaryRequest]:
        """Yield the requests for a summary.

        Args:
            before: the size of the last request.
            fresh: the size of what came since.
            replaced: the size of the messages that the summary replaces.
            summary: its own size.
            window: a request that does not fit with the summary has only what is replaced.

        >>> sizes = {"before": 9_000, "fresh": 500, "replaced": 6_000, "summary": 200}
        >>> [found] = SummaryRule(extends=True).requests(**sizes, window=16_000)
        >>> found.tokens, found.reused
        (9800, 9000)
        >>> [found] = SummaryRule(extends=True).requests(**sizes, window=9_900)
        >>> found.tokens, found.reused
        (6300, 0)
        """
        tokens, reused = before + fresh + self.instruction_tokens, before if self.extends else 0
        if not self.whole or tokens + summary > window:
            tokens, reused = replaced + self.instruction_tokens, 0
        yield SummaryRequest(tokens=tokens, reused=reused, output=summary)
        if self.checks:
            again = tokens + summary + self.instruction_tokens
            yield SummaryRequest(tokens=again, reused=tokens, output=summary)


@attrs.frozen(kw_only=True)
class _PolicyParts:
    """What a policy is made of."""

    strategies: Sequence[ContextStrategy] = ()
    manager: budget.Manager | None = None
    summary: SummaryRule | None = None
    """None if no model is asked for summaries."""
    make_program: Callable[[], ProgramView] | None = None


@attrs.frozen(eq=False)
class ReplayPolicy:
    """What a session is replayed under. One policy may serve many sessions."""

    name: str
    strategies: tuple[ContextStrategy, ...] = ()
    manager: budget.Manager | None = None
    description: str = ""
    """What the policy does, as a sentence."""
    is_recorded: bool = False
    """Whether it sends what the agent itself sent."""
    summary: SummaryRule | None = None
    """How a model is asked for summaries; None if none is."""
    make_program: Callable[[], ProgramView] | None = None
    """Makes what decides as another program does, for one session."""

    @property
    def sends_all(self) -> bool:
        """Whether it sends everything."""
        decides = self.strategies or self.manager or self.make_program
        return not (decides or self.is_recorded)

    def make_view(
        self, compactions: Sequence[RecordedCompaction] = (), *, plain: bool = False
    ) -> View | RecordedView | ProgramView:
        """Return what decides in one session, whose agent made these compactions.

        `plain` says that all of it can be sent as it is, so that there is nothing to decide.
        """
        if self.is_recorded:
            return RecordedView(compactions)
        if plain and self.sends_all:
            return RecordedView(())
        if self.make_program is not None:
            return self.make_program()
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
    name, _, arguments = spec.partition(":")
    if name not in POLICIES:
        choices = f"one of {', '.join(POLICIES)}"
        remedy = suggest(name, POLICIES, "options follow as :option=value")
        raise ConfigError("policy", name, choices, remedy)
    options = _options(name, arguments)
    parts = POLICIES[name](context_limits, **options)
    return ReplayPolicy(
        spec,
        tuple(parts.strategies),
        parts.manager,
        inspect.getdoc(POLICIES[name]) or "",
        name == AS_RECORDED,
        parts.summary,
        parts.make_program,
    )


def _options(name: str, options_text: str) -> dict[str, Any]:
    # The keyword parameters of a policy's function are its options.
    kinds = {
        key: parameter.annotation
        for key, parameter in inspect.signature(POLICIES[name]).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    options: dict[str, Any] = {}
    for part in filter(None, options_text.split(",")):
        key, _, text = (each.strip() for each in part.partition("="))
        if key not in kinds:
            choices = ", ".join(kinds) or "none"
            message = f"{name} has no option {key!r}; its options: {choices}"
            raise ConfigError(f"option of {name}", key, choices, message=message)
        options[key] = _value(f"{name}:{key}", text, kinds[key])
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
        requirement, example = ("a number", "0.5") if is_share else ("a whole number", "20")
        raise ConfigError(name, text, requirement, f"write {name}={example}") from problem


def _none(_: ContextLimits) -> _PolicyParts:
    """Send everything, as long as it is."""
    return _PolicyParts()


def _as_recorded(_: ContextLimits) -> _PolicyParts:
    """Send what the agent itself sent, with its own compactions."""
    return _PolicyParts()


def _keep_last(context_limits: ContextLimits, *, keep_recent: int = 20) -> _PolicyParts:
    """Send the newest messages, by number."""
    return _PolicyParts(strategies=[KeepLast(keep_recent)], manager=_window(context_limits))


def _trim_rounds(context_limits: ContextLimits, *, max_rounds: int = 10) -> _PolicyParts:
    """Send the task and the newest tool rounds, by number."""
    return _PolicyParts(strategies=[TrimRounds(max_rounds)], manager=_window(context_limits))


def _fit_window(context_limits: ContextLimits, *, low_watermark: float = 0.75) -> _PolicyParts:
    """Send the task and the newest rounds that fit."""
    available, counter = context_limits.available, context_limits.counter
    return _PolicyParts(
        strategies=[FitContextWindow(available, counter, low_watermark=low_watermark)]
    )


def _clear_tool_outputs(
    context_limits: ContextLimits,
    *,
    keep_rounds: int = 3,
    low_watermark: float = 0.75,
    min_tokens: int | None = None,
) -> _PolicyParts:
    """Send every message, the oldest tool outputs as one line each."""
    clearing = ClearToolOutputs(
        context_limits.available,
        context_limits.counter,
        keep_rounds=keep_rounds,
        low_watermark=low_watermark,
        min_tokens=min_tokens,
    )
    return _PolicyParts(strategies=[clearing])


def _truncate_tool_outputs(_: ContextLimits, *, max_chars: int = 4_000) -> _PolicyParts:
    """Send every message, long tool outputs without their middle."""
    return _PolicyParts(strategies=[TruncateToolOutputs(max_chars)])


def _importance(
    context_limits: ContextLimits, *, keep_recent: int = 10, min_score_threshold: float = 0.3
) -> _PolicyParts:
    """Send what scores: users, tools, failures, what is referenced later."""
    importance = Importance(keep_recent, min_score_threshold=min_score_threshold)
    return _PolicyParts(strategies=[importance], manager=_window(context_limits))


def _digest(
    context_limits: ContextLimits,
    *,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> _PolicyParts:
    """Compact the history into a digest when it is over the window."""
    return _PolicyParts(manager=_manager(context_limits, max_tokens, keep_recent_tokens))


def _tiers(
    context_limits: ContextLimits,
    *,
    clear_at: float = 0.75,
    keep_rounds: int = 3,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> _PolicyParts:
    """Clear old tool outputs first, compact into a digest when that is not enough."""
    # The other options are checked by the parts that they go to.
    if not 0 < clear_at <= 1:
        raise ConfigError("tiers:clear_at", clear_at, "a share of the window, above 0 and up to 1")
    trigger = max(1, int(context_limits.available * clear_at))
    # The digest is due at the whole window, so clearing has to come earlier to come first.
    clearing = ClearToolOutputs(trigger, context_limits.counter, keep_rounds=keep_rounds)
    manager = _manager(context_limits, max_tokens, keep_recent_tokens)
    return _PolicyParts(strategies=[clearing], manager=manager)


def _continuation(
    context_limits: ContextLimits,
    *,
    max_tokens: int = 1_000,
    keep_recent_tokens: int | None = None,
) -> _PolicyParts:
    """Have the model summarize by extending the last request; a digest stands for what it says."""
    most = max(50, min(max_tokens, context_limits.available // 4))
    manager = _manager(context_limits, most, keep_recent_tokens)
    return _PolicyParts(manager=manager, summary=SummaryRule(extends=True))


def _native(
    context_limits: ContextLimits,
    *,
    trigger_tokens: int = 150_000,
    max_tokens: int | None = None,
    keep_recent_tokens: int | None = None,
) -> _PolicyParts:
    """Have the provider compact, at its default threshold; a digest stands for what it makes."""
    window = context_limits.limits.context_window
    if trigger_tokens < 1:
        raise ConfigError("native:trigger_tokens", trigger_tokens, "a whole number from 1")
    if trigger_tokens < context_limits.available:
        limits = attrs.evolve(context_limits.limits, compact_at=trigger_tokens / window)
        context_limits = attrs.evolve(context_limits, limits=limits)
    manager = _manager(context_limits, max_tokens, keep_recent_tokens)
    return _PolicyParts(manager=manager, summary=SummaryRule(extends=True, instruction_tokens=0))


def _claude_code(
    context_limits: ContextLimits, *, summary_tokens: int = SUMMARY_TOKENS
) -> _PolicyParts:
    """Send what Claude Code's rules would: a summary, and the files that were last read."""
    rule = SummaryRule(extends=True)
    return _program(CLAUDE_CODE, context_limits, summary_tokens, rule)


def _codex(context_limits: ContextLimits, *, summary_tokens: int = SUMMARY_TOKENS) -> _PolicyParts:
    """Send what Codex's rules would: what the user said, and a summary."""
    return _program(CODEX, context_limits, summary_tokens, SummaryRule())


def _gemini_cli(
    context_limits: ContextLimits, *, summary_tokens: int = SUMMARY_TOKENS
) -> _PolicyParts:
    """Send what Gemini CLI's rules would: a summary that is checked, and the newest messages."""
    rule = SummaryRule(whole=False, checks=True)
    return _program(GEMINI_CLI, context_limits, summary_tokens, rule)


def _program(
    program: Program, context_limits: ContextLimits, summary_tokens: int, rule: SummaryRule
) -> _PolicyParts:
    most = max(50, min(summary_tokens, context_limits.available // 4))

    def make() -> ProgramView:
        window = context_limits.limits.context_window
        return ProgramView(program, window, context_limits.counter, most)

    return _PolicyParts(summary=rule, make_program=make)


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


POLICIES: Mapping[str, Callable[..., _PolicyParts]] = {
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
    "continuation": _continuation,
    "native": _native,
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    AS_RECORDED: _as_recorded,
}
"""Every policy, as a function of the limits and its options; its docstring says what it does."""
