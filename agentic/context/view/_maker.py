"""How the messages of a request are made from a repaired history, and cut to a size.

It knows one request, and not the one before it. Sizes are in tokens.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view._draft import TO_BE_SENT, Draft, over_window
from agentic.context.view._epoch import Epoch, StoredEpoch
from agentic.context.view._explain import Stage
from agentic.context.view._meter import ReplyMeter
from agentic.context.view._notes import SummaryNotes
from agentic.context.view._prefix import without_changes
from agentic.context.view._reasoning import ReasoningFilter
from agentic.context.view._repair import are_same
from agentic.context.view._request_limits import RequestLimits
from agentic.context.view._window import Note, WindowFitter
from agentic.errors import ConfigError
from agentic.messages import Message, close_open_rounds, split_rounds
from agentic.tokens import Counter, approx_token_counter
from agentic.tokens._count import TokenCache

SHARE, WINDOW, STALE, PREFIX = "summary share", "window", "reasoning", "change in place"
"""Names of the steps that no strategy makes."""
_TOO_LARGE = "the request would not fit into the window"
_REFUSED = "the provider refused a larger request"
_TOO_LARGE_TO_SEND = "the request would have too many bytes or images"
_CHANGED = "what precedes it has changed since"
_LEAST_TEXT = 0.5
"""A running loop that becomes text is cut to no less than this share of the room that there is."""

_MakeView: TypeAlias = Callable[[list[Message]], list[Message]]


@attrs.frozen
class _ChainedStrategy:
    """One strategy of a chain."""

    name: str
    strategy: Any
    make_view: _MakeView

    @property
    def shortens_new(self) -> bool:
        """Whether it shortens messages one by one, before they are first sent."""
        return bool(getattr(self.strategy, "shortens_new", False))

    def is_exceeded(self, view: list[Message], *, measured: bool) -> bool:
        """Return whether this request is over the strategy's budget, and has to be within it.

        Where nothing else is `measured`, the budget of any strategy takes the place of the window.
        """
        bounds = getattr(self.strategy, "bounds_request", False)
        bounds = bounds or (not measured and hasattr(self.strategy, "fit"))
        # A sum says so without a view being made, which nobody would look at.
        exceeds = getattr(self.strategy, "exceeds", None)
        if not bounds or (exceeds is not None and not exceeds(view)):
            return False
        return self.make_view(view) is not view


@attrs.define(eq=False)
class RequestMaker:
    """Makes, cuts and measures the messages of a request."""

    policy: Policy
    counter: Counter | None
    strategies: Chain
    recall: str | None
    reasoning: ReasoningFilter
    notes: SummaryNotes = attrs.field(init=False)
    token_cache: TokenCache | None = attrs.field(default=None, init=False)
    meter: ReplyMeter | None = attrs.field(default=None, init=False)
    window: WindowFitter | None = attrs.field(default=None, init=False)
    """None if there is no window or no counter."""
    limits: RequestLimits = attrs.field(factory=RequestLimits, init=False)
    appends_changes: bool = attrs.field(default=False, init=False)
    """Whether messages say what has changed in front of the request."""
    _parts: list[_ChainedStrategy] = attrs.field(init=False)
    _sizes: TokenCache = attrs.field(init=False)
    """Measures what an epoch would save; an estimate will do where nothing is counted."""

    def __attrs_post_init__(self) -> None:
        self.notes, self._parts = SummaryNotes(self.reasoning), _chain_parts(self.strategies)
        if self.counter is not None:
            self.token_cache = TokenCache(self.counter)
            self.meter = ReplyMeter(self.token_cache)
        self.use_policy(self.policy)
        self._sizes = self.token_cache or TokenCache(approx_token_counter)

    def use_policy(self, policy: Policy) -> None:
        """Make the next requests by other limits."""
        self.policy, self.window = policy, None
        if policy.context_window and self.counter is not None and self.token_cache is not None:
            self.window = WindowFitter(policy, self.counter, self.token_cache, self.recall)

    @property
    def reduces(self) -> bool:
        """Whether some strategy could make the request shorter at a new epoch."""
        return any(not part.shortens_new for part in self._parts)

    def is_exceeded(self, view: list[Message]) -> bool:
        """Return whether a request is over some strategy's budget, and has to be within it."""
        by_count = self.window is not None
        return any(part.is_exceeded(view, measured=by_count) for part in self._parts)

    def make_view(self, history: list[Message], overhead: int) -> tuple[list[Message], list[Stage]]:
        """Return the messages of a request, not yet cut to the window, and the steps to them."""
        # An owner who keeps what was sent has them.
        messages = without_changes(history) if self.appends_changes else history
        view, stages = self._through_strategies(messages)
        if messages is not history:
            stages = [Stage(PREFIX, "the request begins with it", history, messages), *stages]
        view = self.notes.show(view)
        if self.window is not None:
            # Before anything is measured, so that a long summary alone does not set off the next
            # one.
            visible = self.window.shorten_summary(view, overhead)
            stages.append(Stage(SHARE, "it is over its share of the window", view, visible))
            view = visible
        if self.limits.fit is not None and self.limits.fit.exceeds(view):
            shorter = self.limits.fit.compact(view)
            stages.append(Stage(TO_BE_SENT, _TOO_LARGE_TO_SEND, view, shorter))
            view = shorter
        return view, stages

    def shorten_new(self, history: list[Message]) -> tuple[list[Message], list[Stage]]:
        """Return a history as it is when it is first sent: strategies wait, truncation does not."""
        return _apply([part for part in self._parts if part.shortens_new], history)

    def find_cleared(self, messages: list[Message]) -> list[Message]:
        """Return the rounds of messages that a compaction keeps and a new epoch will clear.

        Truncation, which shortens each message before it is first sent, shows the rest of it.
        """
        parts = [part for part in self._parts if not part.shortens_new]
        view, _ = _apply(parts, messages)
        if view is messages:
            return []
        visible = {id(message) for message in view}
        return [
            message
            for group in split_rounds(messages)
            if any(each.tool_results and id(each) not in visible for each in group.messages)
            for message in group.sound_messages
        ]

    def with_view(self, draft: Draft, view: list[Message], stages: list[Stage]) -> Draft:
        """Return the draft as the first request of a new epoch, without stale reasoning."""
        valid = self.reasoning.strip(view, draft.system_prompt, draft.tools)
        if self.meter is not None:
            self.meter.drop_thinking(self.reasoning.left_to_server)
        if valid is not view:
            stages = [*stages, Stage(STALE, _CHANGED, view, valid)]
        begun = len(draft.repaired)
        epoch = Epoch(draft.repaired, valid, tuple(stages), begun=begun, prefix=draft.beside)
        return self.measured(attrs.evolve(draft, epoch=epoch, continues=False, dead_tokens=0))

    def measured(self, draft: Draft) -> Draft:
        """Return the draft with its size."""
        if self.meter is not None:
            self.meter.read_replies(draft.branch.history, draft.view)
        tokens = 0
        if self.meter is not None:
            tokens = self.meter.measure(draft.view, draft.overhead_tokens)
        draft.tokens, draft.fits = tokens, self.policy.fits(tokens)
        return draft

    def measure(self, view: list[Message], overhead_tokens: int) -> int:
        """Return the size of a request; an estimate if nothing is counted."""
        if self.meter is None:
            return self.size_of(view) + overhead_tokens
        return self.meter.measure(view, overhead_tokens)

    def visible_tokens(self, draft: Draft) -> int:
        """Return the size of a draft's messages by the counter, without hidden thinking."""
        return self.size_of(draft.view)

    def size_of(self, view: list[Message], length: int | None = None) -> int:
        """Return the size of the first `length` messages, all by default, by the counter."""
        sums = self._sizes.sizes(view).sums
        return sums[-1 if length is None else length]

    def room(self, draft: Draft) -> int | None:
        """Return the tokens, by the counter, that the messages may take; None if the draft fits."""
        if draft.fits or self.meter is None:
            return None
        return self._room_of(self.policy.available_tokens, draft)

    def cut(self, draft: Draft) -> Draft:
        """Return the draft with a view cut to the window, as far as possible."""
        notes: list[Note] = []
        if any(each.part == SHARE and each.after is not each.before for each in draft.stages):
            text = "the summary is over its share of the window: it is shown in part"
            notes.append(Note("summary_shortened", text))
        room = self.room(draft)
        if self.window is not None and room is not None:
            whole = draft
            draft = self._cut_to(whole, self.window, room)
            # How much thinking is left is not known before: what is behind a cut is stale.
            if not draft.fits and (thinking := self._thinking_tokens(draft.view)):
                room = self._room_of(self.policy.available_tokens - thinking, draft)
                draft = self._cut_to(whole, self.window, room)
        notes += draft.epoch.notes
        if self.limits.exceeded(draft.view):
            notes.append(self.limits.note(draft.view))
        if not draft.fits:
            notes.append(over_window(draft, self.policy))
        return attrs.evolve(draft, notes=tuple(notes)) if notes else draft

    def make_again(
        self, history: list[Message], overhead: int, record: StoredEpoch
    ) -> tuple[list[Message], list[Stage]]:
        """Return the first request of a stored epoch, and the steps to it."""
        view, stages = self.make_view(history, overhead)
        if record.budget_tokens is not None and self.window is not None:
            if record.fit_tokens is not None:
                self.window.resume(record.fit_tokens)
            cut, _ = self.window.cut(view, record.budget_tokens)
            view, stages = cut, [*stages, Stage(WINDOW, _TOO_LARGE, view, cut)]
        if record.shrunk_tokens is not None and self.counter is not None:
            cut = self._shrunk(view, record.shrunk_tokens)
            view, stages = cut, [*stages, Stage(WINDOW, _REFUSED, view, cut)]
        valid = self.reasoning.leave_out(view, record.left_out, record.turn_as_text)
        return valid, [*stages, Stage(STALE, _CHANGED, view, valid)]

    def shrink(self, draft: Draft, most: int) -> Draft:
        """Return the draft with a view of at most `most` tokens, as far as possible."""
        shrunk, within = self._cut_before_text(draft, most, self._shrunk, _REFUSED)
        epoch = attrs.evolve(
            shrunk.epoch,
            notes=draft.epoch.notes,
            budget_tokens=draft.epoch.budget_tokens,
            fit_tokens=draft.epoch.fit_tokens,
            shrunk_tokens=within,
        )
        return attrs.evolve(shrunk, epoch=epoch)

    def _through_strategies(self, view: list[Message]) -> tuple[list[Message], list[Stage]]:
        visible, stages = _apply(self._parts, view)
        # Our own strategies keep the request. A callable may not, and the model would answer
        # nothing.
        if visible is not view:
            _check_request(view, visible)
        return visible, stages

    def _cut_to(self, draft: Draft, window: WindowFitter, room: int) -> Draft:
        notes: list[Note] = []

        def cut(view: list[Message], within: int) -> list[Message]:
            shorter, notes[:] = window.cut(view, within)
            return shorter

        result, within = self._cut_before_text(draft, room, cut, _TOO_LARGE)
        epoch = attrs.evolve(
            result.epoch, notes=tuple(notes), budget_tokens=within, fit_tokens=window.fit_tokens
        )
        return attrs.evolve(result, epoch=epoch)

    def _cut_before_text(
        self,
        draft: Draft,
        room: int,
        cut: Callable[[list[Message], int], list[Message]],
        reason: str,
    ) -> tuple[Draft, int]:
        """Return the draft with a view cut to `room` tokens, and the tokens passed to `cut`.

        A running loop that is sent as text is the user's, so a cut would keep that instead of the
        request. So its rounds are cut, and then become text.
        """
        view, stages = draft.view, draft.stages
        _, loop = self.reasoning.left_out_of(view)
        if loop is not None:
            view, stages = stages[-1].before, stages[:-1]
        # As a text, rounds may be somewhat larger: how they are cut is found in a few steps.
        least, within = _LEAST_TEXT * room, room
        while True:
            shorter = cut(view, within)
            result = self.with_view(draft, shorter, [*stages, Stage(WINDOW, reason, view, shorter)])
            excess = self.size_of(result.view) - room
            if loop is None or excess <= 0 or within - excess < least:
                return result, within
            within -= excess

    def _shrunk(self, view: list[Message], most: int) -> list[Message]:
        assert self.counter is not None  # noqa: S101  nothing is refused by size otherwise
        fit = strategies.FitContextWindow(
            most, self.counter, tokens_per_media=None, low_watermark=1.0
        )
        return fit.compact(view)

    def _room_of(self, available: int, draft: Draft) -> int:
        within = (
            1
            if self.meter is None
            else self.meter.estimate_within(available, draft.overhead_tokens)
        )
        # FitContextWindow requires at least 1, and the overhead alone may fill the window.
        return max(1, within)

    def _thinking_tokens(self, view: list[Message]) -> int:
        return 0 if self.meter is None else self.meter.thinking_tokens(view)


def _chain_parts(chain: Chain) -> list[_ChainedStrategy]:
    """Return the strategies of a chain in order, and those of nested chains."""
    parts: list[_ChainedStrategy] = []
    for strategy in chain.strategies:
        if isinstance(strategy, Chain):
            # One by one, so that `explain` names the strategy and not the chain.
            parts += _chain_parts(strategy)
        elif isinstance(strategy, ContextStrategy):
            parts.append(_ChainedStrategy(type(strategy).__name__, strategy, strategy.compact))
        else:
            name = getattr(strategy, "__name__", type(strategy).__name__)
            parts.append(_ChainedStrategy(name, strategy, _closed(strategy)))
    return parts


def _apply(
    parts: Sequence[_ChainedStrategy], view: list[Message]
) -> tuple[list[Message], list[Stage]]:
    """Return what the strategies make of a request, one after another, and their steps."""
    stages: list[Stage] = []
    for part in parts:
        change = part.make_view(view)
        stages.append(Stage(part.name, "as configured", view, change))
        view = change
    return view, stages


def _closed(strategy: _MakeView) -> _MakeView:
    """Return a plain callable as a strategy whose view is repaired: it may know nothing of rounds.

    A `ContextStrategy` guarantees a valid view itself and is spared the cost.
    """

    def make_view(messages: list[Message]) -> list[Message]:
        view: Any = strategy(messages.copy())  # it may modify its argument
        if not isinstance(view, list) or not all(isinstance(each, Message) for each in view):
            raise ConfigError(
                "the strategy's view", view, "a list of messages", "return the messages to send"
            )
        # A callable that leaves everything often returns a new list: later stages compare
        # identities.
        return messages if are_same(view, messages) else close_open_rounds(view)

    return make_view


def _check_request(history: list[Message], view: list[Message]) -> None:
    """Raise ConfigError if a view has lost the user's request."""
    in_view, in_history = (any(each.role == "user" for each in some) for some in (view, history))
    if in_history and not in_view:
        raise ConfigError(
            "the strategy's view",
            f"{len(view)} messages",
            "a view that contains the current request",
            "keep the latest user message",
        )
