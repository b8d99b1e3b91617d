"""What is sent: the history through the strategies, within the budget."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from agentic import events
from agentic.context.budget import Host, Manager
from agentic.context.strategies import FitContextWindow
from agentic.errors import CompactionRefused, ConfigError
from agentic.loop._conversation import Conversation
from agentic.messages import ContextSummary, Message, close_open_rounds
from agentic.tokens import Gauge, Tallies
from agentic.tools import ToolDefinition
from agentic.usage import Usage

__all__ = ["View", "closed"]

_AFTER_OVERFLOW = 0.75
"""The most that a second request may have of the first one's size."""
_STILL_GOOD = 0.8
"""A cut is kept while its size is at least this share of what is allowed: the cache survives."""


@attrs.define(eq=False)
class View:
    """Makes what is sent in one run."""

    conversation: Conversation
    strategies: Sequence[Callable[[list[Message]], list[Message]]]
    budget: Manager | None
    gauge: Gauge | None
    overhead_tokens: int = attrs.field(init=False, default=0)
    """The system prompt and the tools' schemas, as far as the counter tells."""
    summary: ContextSummary | None = attrs.field(init=False, default=None)
    """The latest summary of this run."""
    usage: Usage = attrs.field(init=False, factory=Usage)
    """What the summaries of this run used."""
    _fit: FitContextWindow | None = attrs.field(init=False, default=None)

    async def prepare(self) -> list[Message]:
        """Give what to send, after compacting the history if it is due."""
        await self.conversation.refresh()
        view = await self._through_strategies()
        if self.budget is not None and await self._compact(view, force=False):
            view = await self._through_strategies()
        return await self._within_window(view)

    async def shrink(self, refused: list[Message]) -> list[Message] | None:
        """Give a strictly smaller view than one that a provider refused; None if there is none."""
        if self.budget is None or self.gauge is None:
            return None
        view = refused
        if await self._compact(refused, force=True):
            view = await self._within_window(await self._through_strategies())
        tallies = Tallies(self.gauge.counter)
        before = tallies.tally(refused).total
        target = int(_AFTER_OVERFLOW * before)
        if tallies.tally(view).total > target:
            smaller = FitContextWindow(max(1, target), self.gauge.counter, low_water=1.0)
            view = await self._told(view, smaller.compact(view))
        return view if tallies.tally(view).total < before else None

    def measure(self, view: list[Message]) -> int | None:
        """Give the size of a view, in tokens; None where nothing counts."""
        if self.gauge is None:
            return None
        return self.gauge.measure(view, overhead_tokens=self.overhead_tokens)

    def count_overhead(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> None:
        """Take in what is sent beside the messages."""
        if self.gauge is None:
            return
        schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
        texts = [system_prompt, json.dumps(schemas, default=dict)] if tools else [system_prompt]
        self.overhead_tokens = sum(map(Tallies(self.gauge.counter).count_text, texts))

    async def _through_strategies(self) -> list[Message]:
        history = self.conversation.history
        # A copy: what was sent stays what it was when the history grows, and the history what it is
        # when a callable changes its list.
        view = history.copy()
        for strategy in self.strategies:
            view = strategy(view)
        if self.strategies and view != history:
            _check_request(view)
        return await self._told(history, view)

    async def _told(self, before: list[Message], after: list[Message]) -> list[Message]:
        """Tell of a view that a strategy changed, and give it."""
        if after != before:
            await self.conversation.voice.send(
                events.context_changed,
                events.ContextChanged,
                messages_before=len(before),
                messages_after=len(after),
            )
        return after

    async def _compact(self, view: list[Message], *, force: bool) -> bool:
        """Compact the history; return whether it is another one now."""
        if self.budget is None:
            return False
        history = self.conversation.history
        voice = self.conversation.voice
        store = self._store_smaller if force else self._store_fitting
        done = await self.budget.compact_if_needed(
            history,
            size=self.measure(view),
            overhead_tokens=self.overhead_tokens,
            force=force,
            host=Host(voice.sender, voice.run_id, store),
        )
        if done.reason is not None:
            self.usage += done.usage
        if done.changed:
            self.summary = done.summary
        if self.conversation.put_off is not None:
            raise self.conversation.put_off
        await self.conversation.refresh()
        return self.conversation.history is not history

    async def _store_smaller(self, compacted: list[Message]) -> None:
        """Keep a compaction that a provider's refusal forced, if it makes the history smaller."""
        if self.gauge is not None:
            tally = Tallies(self.gauge.counter).tally
            if tally(compacted).total >= tally(self.conversation.history).total:
                raise CompactionRefused("the summary is longer than what it replaces")
        await self.conversation.replace(compacted)

    async def _store_fitting(self, compacted: list[Message]) -> None:
        """Keep a compaction, unless its summary fills the window.

        A summary is always sent. Where no request would fit beside it, but would without it, the
        view of the untouched history is better.
        """
        allowed = self._allowed_tokens(compacted)
        if allowed is not None and self.gauge is not None:
            fit = FitContextWindow(allowed, self.gauge.counter).fit
            if not fit(compacted).fits and fit(self.conversation.history).fits:
                raise CompactionRefused("the summary leaves no room in the window")
        await self.conversation.replace(compacted)

    async def _within_window(self, view: list[Message]) -> list[Message]:
        """Leave out what would not fit, which a compaction that failed could not."""
        allowed = self._allowed_tokens(view)
        if allowed is None or self.gauge is None:
            return view
        if self._fit is None or not _STILL_GOOD * allowed <= self._fit.max_tokens <= allowed:
            self._fit = FitContextWindow(allowed, self.gauge.counter)
        return await self._told(view, self._fit.compact(view))

    def _allowed_tokens(self, view: list[Message]) -> int | None:
        """Give what a view that is over the window is to be cut to, by the counter; else None."""
        if self.budget is None or self.gauge is None or not self.budget.policy.context_window:
            return None
        available, beside = self.budget.policy.available_tokens, self.overhead_tokens
        if self.gauge.measure(view, overhead_tokens=beside) <= available:
            return None
        return max(1, self.gauge.estimate_within(available, overhead_tokens=beside))


def closed(
    strategy: Callable[[list[Message]], list[Message]],
) -> Callable[[list[Message]], list[Message]]:
    """Make what a plain callable leaves one that a provider accepts: it may know nothing of rounds.

    A `ContextStrategy` promises as much by itself, and is spared the cost.
    """

    def make_view(messages: list[Message]) -> list[Message]:
        view: Any = strategy(messages)
        if not isinstance(view, list) or not all(isinstance(each, Message) for each in view):
            raise ConfigError(
                "the strategy's view", view, "a list of messages", "return what is to be sent"
            )
        return close_open_rounds(view)

    return make_view


def _check_request(view: list[Message]) -> None:
    if not any(message.role == "user" for message in view):
        raise ConfigError(
            "the strategy's view",
            f"{len(view)} messages",
            "a view with the current request in it",
            "keep the latest user message",
        )
