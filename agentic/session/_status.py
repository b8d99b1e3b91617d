"""How near a session is to its next summary, as numbers and as a screen. Sizes are in tokens."""

import attrs

from agentic.context.budget import Policy
from agentic.messages import ContextSummary, Message

__all__ = ["EXCHANGE", "Status", "lowest_limit", "render_context"]

_CELLS = 20
_PERCENT_A_CELL = 5
EXCHANGE = (Message("user"), Message("assistant"))
"""The messages of one exchange: the user's message and the reply."""


@attrs.frozen(kw_only=True)
class Status:
    """The state of a session, relative to the triggers of a summary."""

    summary: ContextSummary | None
    """The summary in the view; None if there is none or if it was ignored."""
    messages: int
    """The number of messages since the summary."""
    max_messages: int | None
    """The limit on messages; None if the number of messages triggers nothing."""
    tokens: int
    """The size of the view, with the system prompt and the tools: as the provider counted it if
    replies carry their usage, otherwise by the counter."""
    max_tokens: int | None
    """The size that triggers a summary: `Policy.max_tokens`, or the window less its reserve if that
    is less. None if neither is set."""
    will_trigger: bool
    """Whether the next exchange, one user message and one reply, is certain to trigger a summary:
    during the exchange, or at its end by `Session.compact_if_due`."""
    ignored_summary: ContextSummary | None = None
    """A summary that points past the end of the history, and is not shown."""
    auto_summarize: bool = True
    """Whether triggers summarize. If not, only `Session.summarize` does."""

    @property
    def messages_percent(self) -> float:
        """The messages as a percentage of `max_messages`, possibly over 100; 0 without a limit."""
        return _percent(self.messages, self.max_messages)

    @property
    def tokens_percent(self) -> float:
        """The tokens as a percentage of `max_tokens`, possibly over 100; 0 without a limit."""
        return _percent(self.tokens, self.max_tokens)


def lowest_limit(policy: Policy) -> int | None:
    """Return the limit on tokens that a growing context reaches first."""
    window = policy.available_tokens if policy.context_window else None
    limits = [limit for limit in (policy.max_tokens, window) if limit is not None]
    return min(limits, default=None)


def render_context(status: Status, *, bars: bool = True) -> str:
    """Return the text of the `/context` screen; without `bars`, numbers only.

    >>> print(render_context(Status(
    ...     summary=None, messages=28, max_messages=30, tokens=95_000, max_tokens=128_000,
    ...     will_trigger=True,
    ... )))
    Context Status
      No summary yet
    <BLANKLINE>
    Summarization Triggers (N messages OR K tokens)
      Messages: 28 / 30 (93%)
               [██████████████████░░]
      Tokens:   95,000 / 128,000 (74%)
               [██████████████░░░░░░]
    <BLANKLINE>
      ⚡ Summarization will trigger on next message
    """
    lines = [
        "Context Status",
        *_summary_lines(status.summary, "→" if bars else "in"),
        "",
        "Summarization Triggers (N messages OR K tokens)",
        *_trigger_lines("Messages: ", status.messages, status.max_messages, bars=bars),
        *_trigger_lines("Tokens:   ", status.tokens, status.max_tokens, bars=bars),
    ]
    if status.will_trigger:
        sign = "⚡ " if bars else ""
        lines += ["", f"  {sign}Summarization will trigger on next message"]
    if not status.auto_summarize:
        lines += ["", "  Automatic summaries are off: /summarize makes one"]
    return "\n".join(lines)


def _summary_lines(summary: ContextSummary | None, sign: str) -> list[str]:
    if summary is None:
        return ["  No summary yet"]
    size = f"{summary.messages_summarized:,} messages {sign} {summary.token_count:,} tokens"
    return [f"  Last summary: {size}", f"  Created: {summary.created_at:%Y-%m-%d %H:%M}"]


def _trigger_lines(label: str, value: int, limit: int | None, *, bars: bool) -> list[str]:
    percent = _percent(value, limit)
    # Rounded down: a full bar must mean that the limit is reached.
    filled = min(_CELLS, int(percent / _PERCENT_A_CELL))
    share = "no limit" if limit is None else f"{limit:,} ({percent:.0f}%)"
    bar = "█" * filled + "░" * (_CELLS - filled)
    return [f"  {label}{value:,} / {share}", *([f"           [{bar}]"] if bars else [])]


def _percent(value: int, limit: int | None) -> float:
    return 100 * value / limit if limit else 0.0
