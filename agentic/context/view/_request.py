"""How a request is made from a history, and how large it is. Nothing is compacted here.

The history is repaired so that a provider accepts it, passed through the strategies, and cut to the
window. Each message is examined only once, whatever the number of turns. The size is based on the
usage in replies wherever it is known.
"""

import json
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentic._tool_definition import ToolDefinition
from agentic.context.budget import Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view._epoch import Epoch, StoredEpoch
from agentic.context.view._explain import Stage
from agentic.context.view._lineage import (
    Branch,
    Lineage,
    RollingDigest,
    digest_of,
)
from agentic.context.view._reasoning import ReasoningFilter
from agentic.context.view._window import Note, WindowFitter
from agentic.errors import ConfigError
from agentic.limits import CacheTerms, cache_terms
from agentic.messages import (
    Message,
    close_open_rounds,
    common_length,
    continues,
    count_settled,
    find_summary,
    prefix_length,
    renew,
    repair_rounds,
    same,
    split_rounds,
)
from agentic.tokens import (
    ContextMeter,
    Counter,
    TokenCache,
    approx_token_counter,
    describe_largest,
)
from agentic.usage import Usage, normalize

_MakeView: TypeAlias = Callable[[list[Message]], list[Message]]

_SHARE, _WINDOW, _STALE = "summary share", "window", "reasoning"
_LEAST_IDLE_GAIN = 0.1
"""After the prompt cache has expired, a new epoch costs nothing but the reasoning that becomes
stale. It must make the request shorter by this share to be worth that."""


@attrs.frozen
class _Part:
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
        return bool(bounds) and self.make_view(view) is not view


def _parts_of(chain: Chain) -> list[_Part]:
    """Return the strategies of a chain in order, and those of nested chains."""
    parts: list[_Part] = []
    for strategy in chain.strategies:
        if isinstance(strategy, Chain):
            # One by one, so that `explain` names the strategy and not the chain.
            parts += _parts_of(strategy)
        elif isinstance(strategy, ContextStrategy):
            parts.append(_Part(type(strategy).__name__, strategy, strategy.compact))
        else:
            name = getattr(strategy, "__name__", type(strategy).__name__)
            parts.append(_Part(name, strategy, _closed(strategy)))
    return parts


def _closed(strategy: _MakeView) -> _MakeView:
    """Return a plain callable as a strategy whose view is repaired: it may know nothing of rounds.

    A `ContextStrategy` guarantees a valid view itself and is spared the cost.
    """

    def make_view(messages: list[Message]) -> list[Message]:
        view: Any = strategy(messages.copy())  # it may modify its argument
        if not isinstance(view, list) or not all(isinstance(each, Message) for each in view):
            raise ConfigError(
                "the strategy's view", view, "a list of messages", "return what is to be sent"
            )
        # A callable that leaves everything often returns a new list: later stages compare
        # identities.
        return messages if _are_same(view, messages) else close_open_rounds(view)

    return make_view


@attrs.define(eq=False)
class Draft:
    """A history and the request that it would become. Sizes are in tokens.

    It is completed by the builder that made it, and not changed afterwards.
    """

    branch: Branch
    system_prompt: str
    tools: tuple[ToolDefinition, ...]
    repaired: list[Message]
    """The history as a provider accepts it."""
    epoch: Epoch
    """The epoch that the request belongs to."""
    overhead_tokens: int
    """The size of what is sent besides the messages."""
    tokens: int = 0
    fits: bool = True
    """Whether the size is within the window less the reserve."""
    continues: bool = False
    """Whether the epoch is that of the last request, which this one extends."""
    dead_tokens: int = 0
    """How much shorter a new epoch would make the request."""
    notes: tuple[Note, ...] = ()

    @property
    def view(self) -> list[Message]:
        """The messages to send."""
        return self.epoch.view

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps that made the first request of the epoch."""
        return self.epoch.stages

    def of_list(self, given: list[Message]) -> "Draft":
        """Return the draft of the owner's list instead of a copy of it, or the reverse."""
        former = self.branch.given

        def own(messages: list[Message]) -> list[Message]:
            return given if messages is former else messages

        branch = attrs.evolve(
            self.branch, given=given, read=own(self.branch.read), history=own(self.branch.history)
        )
        epoch = attrs.evolve(
            self.epoch,
            source=own(self.epoch.source),
            view=own(self.epoch.view),
            stages=tuple(
                attrs.evolve(each, before=own(each.before), after=own(each.after))
                for each in self.stages
            ),
        )
        return attrs.evolve(self, branch=branch, repaired=own(self.repaired), epoch=epoch)


@attrs.frozen
class Continuity:
    """How a request relates to the last one."""

    extends: bool = True
    reused_tokens: int = 0
    changes: tuple[str, ...] = ()


def begins_with(history: Sequence[Message], system_prompt: str) -> bool:
    """Return whether a history already begins with this system prompt."""
    first = history[0] if history else None
    return first is not None and (first.role, first.content) == ("system", system_prompt)


@attrs.define(eq=False)
class _Overhead:
    """Counts system prompts and tools, each only once. Sizes are in tokens.

    >>> from agentic.tokens import CharCounter
    >>> _Overhead(TokenCache(CharCounter(1))).count("Be brief.", (), [])
    9
    """

    token_cache: TokenCache
    _tools: tuple[ToolDefinition, ...] = attrs.field(default=(), init=False)
    """The tools that were counted last."""
    _tools_tokens: int = attrs.field(default=0, init=False)

    def count(
        self,
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        history: Sequence[Message],
    ) -> int:
        """Return the size of both, not counting a system prompt that the history begins with.

        Raises:
            ConfigError: the system prompt is not a str.
        """
        if not isinstance(system_prompt, str):
            raise ConfigError("system_prompt", system_prompt, "a str", 'pass "" for none')
        size = self._count_tools(tuple(tools))
        if system_prompt and not begins_with(history, system_prompt):
            size += self.token_cache.count_text(system_prompt)
        return size

    def _count_tools(self, tools: tuple[ToolDefinition, ...]) -> int:
        # By value: an executor may list the same tools as new objects at every turn.
        if tools != self._tools:
            # `default=dict` below: a schema may be made of any Mappings, even read-only ones.
            schemas = [[tool.name, tool.description, tool.parameters] for tool in tools]
            self._tools = tools
            self._tools_tokens = (
                self.token_cache.count_text(json.dumps(schemas, default=dict)) if tools else 0
            )
        return self._tools_tokens


@attrs.define(eq=False)
class _Repair:
    """`close_open_rounds` for one conversation, at the cost of its new messages only."""

    _settled: list[Message] = attrs.field(factory=list, init=False)
    """The messages of the rounds that no later message can change."""
    _closed: list[Message] = attrs.field(factory=list, init=False)
    """The settled messages after the repair."""
    _sound: bool = attrs.field(default=True, init=False)
    """Whether the settled messages needed no repair."""

    def close(self, messages: list[Message]) -> list[Message]:
        """Return the messages with every call answered; the same list if nothing needs repair."""
        # The list was rewound or edited before the end of what is settled.
        if not continues(messages, self._settled):
            self._settled, self._closed, self._sound = [], [], True
        known = len(self._settled)
        if not self._sound:
            self._closed = renew(self._closed, self._settled, messages)
            self._settled = messages[:known]
        # Only the tail: a result answers the nearest call, so nothing later changes a settled
        # round.
        fresh = split_rounds(messages, known)
        length = count_settled(messages, fresh)
        closed = repair_rounds(found for found in fresh if found.positions[0] < length)
        waiting = repair_rounds(found for found in fresh if found.positions[0] >= length)
        self._sound = self._sound and _are_same(closed, messages[known:length])
        self._settled += messages[known:length]
        self._closed += closed
        if self._sound and _are_same(waiting, messages[length:]):
            return messages
        return [*self._closed, *waiting]


@attrs.define(eq=False)
class _ReplyMeter:
    """A meter for one conversation that reads usage from the replies in its history.

    A reply belongs to the request made before it, provided that the history has only grown since.
    """

    token_cache: TokenCache
    _context_meter: ContextMeter = attrs.field(init=False)
    _fresh: bool = attrs.field(default=True, init=False)
    """Whether no request was made yet: then the history may hold replies of an earlier process."""
    _history: list[Message] = attrs.field(factory=list, init=False)
    """The history of the latest request, whose reply has not been seen."""
    _sent: list[Message] = attrs.field(factory=list, init=False)
    """What was sent of it; empty once the reply has been read."""
    _reported: tuple[Message, Usage] | None = attrs.field(default=None, init=False)
    """A reply that was reported but is not yet in the history."""
    _stored: Mapping[str, Any] | None = attrs.field(default=None, init=False)
    """The measurements of an earlier process, until a view shows whether they still hold."""

    def __attrs_post_init__(self) -> None:
        self._context_meter = ContextMeter(self.token_cache.counter, token_cache=self.token_cache)

    def sent(self, history: list[Message], view: list[Message]) -> None:
        """Record a request."""
        # A reply that was reported counts, even if the owner never appends it.
        self._settle()
        # Copies, because the owner's list grows: the reply is what follows the history as it was.
        self._history, self._sent = history.copy(), view.copy()

    def report(self, reply: Message, usage: Usage | None) -> None:
        """Record the reply to the latest request."""
        if usage is not None:
            self._reported = reply, normalize(usage)

    def read_replies(self, history: list[Message], view: list[Message]) -> None:
        """Read the new replies of a history, before its view is measured."""
        if self._fresh:
            self._fresh = False
            self._resume(history, view)
            return
        seen = len(self._history)
        # If the history was rewritten since the request, what follows is no reply to it.
        if not self._sent or len(history) <= seen or not continues(history, self._history):
            return
        reply = history[seen]
        if reply.role != "assistant":
            return
        # The reply that `report` was given is often converted before the owner appends it.
        if self._reported is not None and same(self._reported[0], reply, "request"):
            self._reported = reply, self._reported[1]
        elif self._reported is None and reply.request_usage is not None:
            self._reported = reply, normalize(reply.request_usage)
        self._settle()

    def measure(self, view: list[Message], overhead_tokens: int) -> int:
        """Return the size of a view, in tokens."""
        return self._context_meter.measure(view, overhead_tokens=overhead_tokens)

    def estimate_within(self, tokens: int, overhead_tokens: int) -> int:
        """Return how large, by the counter, a newly cut view may be to measure `tokens`."""
        return self._context_meter.estimate_within(tokens, overhead_tokens=overhead_tokens)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form: the calibration, and a hash of the view in the last report."""
        if self._fresh and self._stored is not None:
            return dict(self._stored)  # no view has shown yet whether they hold
        self._settle()
        return self._context_meter.to_plain(digest_of)

    def read_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore the measurements of an earlier process.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        # Tried now, so that a damaged state is refused now and not in the middle of a run.
        ContextMeter(self.token_cache.counter).read_plain(plain, [], digest_of)
        self._stored = plain

    def _settle(self) -> None:
        """Report the reply to the latest request to the meter, if there is one."""
        if self._reported is not None and self._sent:
            self._context_meter.report(self._sent, *self._reported)
            self._sent = []
        self._reported = None

    def _resume(self, history: list[Message], view: list[Message]) -> None:
        """Use the latest reply in a history that was begun elsewhere."""
        if self._stored is not None:
            self._context_meter.read_plain(self._stored, view, digest_of)
        at = _latest_reply(history)
        # The provider counted all of it. If strategies left something out of the start, that count
        # says nothing about this view.
        if at is None or not continues(view, history[: at + 1]):
            return
        usage = history[at].request_usage
        if usage is not None:
            self._context_meter.report(history[:at], history[at], normalize(usage))


def _latest_reply(history: list[Message]) -> int | None:
    """Return the position of the latest reply whose usage is about a request like this one.

    A reply that a compaction kept is left out: its request was a different one.
    """
    summary = find_summary(history)
    start = prefix_length(history) + (summary.messages_kept if summary else 0)
    late = range(len(history) - 1, start - 1, -1)
    replies = (i for i in late if history[i].role == "assistant")
    return next((i for i in replies if history[i].request_usage), None)


@attrs.define(eq=False)
class RequestBuilder:
    """Drafts the requests of one conversation. The cost depends only on what is new."""

    policy: Policy
    counter: Counter | None
    strategies: Chain
    recall: str | None
    reasoning: ReasoningFilter
    lock: Any = attrs.field(factory=threading.RLock, init=False, repr=False)
    """Is held by whoever uses a builder that may be at work in a thread."""
    lineage: Lineage = attrs.field(factory=Lineage, init=False)
    token_cache: TokenCache | None = attrs.field(init=False)
    meter: _ReplyMeter | None = attrs.field(init=False)
    window: WindowFitter | None = attrs.field(default=None, init=False)
    """None if there is no window or no counter."""
    _last: Draft | None = attrs.field(default=None, init=False)
    """The last request, in lists that the owner does not change."""
    _parts: list[_Part] = attrs.field(init=False)
    _overhead: _Overhead | None = attrs.field(init=False)
    _repair: _Repair = attrs.field(factory=_Repair, init=False)
    _sizes: TokenCache = attrs.field(init=False)
    """Measures what an epoch would save; an estimate will do where nothing is counted."""
    _left_out: tuple[tuple[int, ...], int | None] = attrs.field(default=((), None), init=False)
    """Where reasoning was left out of the epoch, and where the running turn is a text."""
    _digest: RollingDigest | None = attrs.field(default=None, init=False)
    """The hash of the last request, as far as it was asked for."""
    _stored: StoredEpoch | None = attrs.field(default=None, init=False)
    """The epoch of an earlier process, until a history shows whether it still holds."""

    def __attrs_post_init__(self) -> None:
        self._parts = _parts_of(self.strategies)
        self.token_cache = self.meter = self._overhead = None
        if self.counter is not None:
            self.token_cache = TokenCache(self.counter)
            self.meter, self._overhead = _ReplyMeter(self.token_cache), _Overhead(self.token_cache)
            if self.policy.context_window:
                self.window = WindowFitter(self.policy, self.counter, self.token_cache, self.recall)
        self._sizes = self.token_cache or TokenCache(approx_token_counter)

    def draft(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        *,
        idle_seconds: float = 0.0,
    ) -> Draft:
        """Return a draft of the next request, which may be larger than the window.

        It extends the last request, unless what was sent has changed, a strategy's bound is
        exceeded, or a new epoch has paid for itself.
        """
        # A list, because the messages seen before are one, and no slice of a tuple equals a list.
        branch = self.lineage.follow(history if isinstance(history, list) else list(history))
        overhead = 0
        if self._overhead is not None:
            overhead = self._overhead.count(system_prompt, tools, branch.history)
        repaired = self._repair.close(branch.history)
        epoch = Epoch(repaired, repaired, begun=len(repaired))
        draft = Draft(branch, system_prompt, tuple(tools), repaired, epoch, overhead)
        if self._last is None:
            self._meet(draft)
        carried = self._carry(draft)
        if carried is None:
            return self.begin(draft)
        return self._weigh(carried, idle_seconds) if self._reduces else carried

    def begin(self, draft: Draft) -> Draft:
        """Return the draft as the first request of a new epoch, or as it is if nothing changes.

        The strategies are applied, the summary is cut to its share, and stale reasoning is left
        out.
        """
        view, stages = self._make_view(draft.repaired, draft.overhead_tokens)
        begun = self._with_view(draft, view, stages)
        if not draft.continues or begun.view != draft.view:
            return begun
        # What is cut from it is explained by the steps that led to all of it.
        return attrs.evolve(draft, epoch=attrs.evolve(draft.epoch, stages=begun.stages))

    def cut(self, draft: Draft) -> Draft:
        """Return the draft with a view cut to the window, as far as possible."""
        if draft.continues and not draft.fits:
            draft = self.begin(draft)
        notes: list[Note] = []
        if any(each.part == _SHARE and each.after is not each.before for each in draft.stages):
            text = "the summary is over its share of the window: it is shown in part"
            notes.append(Note("summary_shortened", text))
        room = self.room(draft)
        if self.window is not None and room is not None:
            view, made = self.window.cut(draft.view, room)
            draft = self.with_view(draft, view, "the request would not fit into the window")
            epoch = attrs.evolve(draft.epoch, notes=tuple(made), budget_tokens=room)
            draft = attrs.evolve(draft, epoch=epoch)
        notes += draft.epoch.notes
        if not draft.fits:
            notes.append(_over_window(draft, self.policy))
        return attrs.evolve(draft, notes=tuple(notes)) if notes else draft

    def with_view(self, draft: Draft, view: list[Message], reason: str) -> Draft:
        """Return the draft with a view that was cut, and the reason for the cut."""
        cut = Stage(_WINDOW, reason, draft.view, view)
        return self._with_view(draft, view, [*draft.stages, cut])

    def room(self, draft: Draft) -> int | None:
        """Return the tokens, by the counter, that the messages may take; None if the draft fits."""
        if draft.fits or self.meter is None:
            return None
        available = self.policy.available_tokens
        # FitContextWindow requires at least 1, and the overhead alone may fill the window.
        return max(1, self.meter.estimate_within(available, draft.overhead_tokens))

    def commit(self, draft: Draft) -> Continuity:
        """Record a draft as sent, and return how it relates to the last request."""
        continuity = self._compare(draft)
        last = self._last if draft.continues else None
        extended = 0 if last is None else len(last.view)
        beside = draft.system_prompt, draft.tools
        self.reasoning.sent(draft.view, *beside, extended=extended)
        dead = draft.dead_tokens
        cost = self._cache_terms.read * dead if dead else 0.0
        draft.epoch = draft.epoch.keep(cost)
        self._last = draft
        if not draft.continues:
            self._begin_epoch(draft.view)
        if self.meter is not None:
            self.meter.sent(draft.branch.history, draft.view)
        return continuity

    def to_plain(self) -> dict[str, Any] | None:
        """Return the JSON form of the epoch: what is needed to make its requests again."""
        if self._last is None:
            return None if self._stored is None else self._stored.to_plain()
        epoch = self._last.epoch
        left_out, turn = self._left_out
        stored = StoredEpoch(
            begun=epoch.begun,
            messages=len(epoch.source),
            budget_tokens=epoch.budget_tokens,
            carrying_cost=epoch.carrying_cost,
            sent=self._digest_sent(self._last),
            left_out=left_out,
            turn_as_text=turn,
        )
        return stored.to_plain()

    def read_plain(self, plain: Mapping[str, Any]) -> None:
        """Restore what `to_plain` returned.

        Raises:
            KeyError, TypeError or ValueError: `to_plain` did not return this.
        """
        self._stored = StoredEpoch.from_plain(plain)

    def _begin_epoch(self, view: list[Message]) -> None:
        self._digest, self._left_out = None, self.reasoning.left_out_of(view)

    def _digest_sent(self, last: Draft) -> str:
        """Return a hash of the last request, at the cost of what was not hashed before."""
        if self._digest is None:
            self._digest = _begin_digest(last)
        self._digest.add(last.view[self._digest.length - 1 :])
        return self._digest.text

    @property
    def _reduces(self) -> bool:
        """Whether some strategy could make the request shorter at a new epoch."""
        return any(not part.shortens_new for part in self._parts)

    @property
    def _cache_terms(self) -> CacheTerms:
        return cache_terms(self.reasoning.model)

    def _meet(self, draft: Draft) -> None:
        """Take over a conversation that was begun elsewhere."""
        beside = draft.system_prompt, draft.tools
        stored, self._stored = self._stored, None
        if stored is None:
            first = self.reasoning.first_valid(draft.repaired)
            self.reasoning.assume(draft.repaired, *beside, first=first)
            return
        last = self._restored(draft, stored)
        if last is None:
            # What was sent has changed since, and with it all that was answered to it.
            self.reasoning.assume(
                draft.repaired, *beside, first=_behind_replies(draft.repaired, stored.messages)
            )
            return
        self.reasoning.assume(last.view, *beside, first=0)
        self.reasoning.sent(last.view, *beside, extended=0)
        self._last = last

    def _restored(self, draft: Draft, stored: StoredEpoch) -> Draft | None:
        """Return the last request of an earlier process; None if it cannot be made again."""
        begun, length = stored.begun, stored.messages
        if not begun <= length <= len(draft.repaired):
            return None
        source = draft.repaired[:length]
        view, stages = self._make_view(source[:begun], draft.overhead_tokens)
        room = stored.budget_tokens
        if room is not None and self.window is not None:
            cut, _ = self.window.cut(view, room)
            stages.append(Stage(_WINDOW, "the request would not fit into the window", view, cut))
            view = cut
        view = self.reasoning.leave_out(view, stored.left_out, stored.turn_as_text)
        view = [*view, *self._shorten_new(draft.repaired)[begun:length]]
        view = source if _are_same(view, source) else view
        epoch = Epoch(
            source,
            view,
            tuple(stages),
            begun=begun,
            budget_tokens=room,
            carrying_cost=stored.carrying_cost,
        )
        last = attrs.evolve(draft, repaired=source, epoch=epoch)
        self._begin_epoch(view)
        return last if self._digest_sent(last) == stored.sent else None

    def _carry(self, draft: Draft) -> Draft | None:
        """Return the draft as one more request of the last epoch; None if it cannot be one."""
        last = self._last
        if last is None:
            return None
        former = last.epoch
        epoch = former.extend(draft.repaired, self._shorten_new(draft.repaired))
        if epoch is None:
            former = former.adopt(draft.repaired)
            epoch = former.extend(draft.repaired, self._shorten_new(draft.repaired))
        if epoch is None:
            return None
        self.reasoning.note_replies(draft.repaired[len(former.source) :])
        if (last.system_prompt, last.tools) != (draft.system_prompt, draft.tools):
            return None
        if not self.policy.epochs:
            return None
        draft.epoch, draft.continues = epoch, True
        return self._measured(draft)

    def _weigh(self, draft: Draft, idle_seconds: float) -> Draft:
        """Return the draft as the first request of a new epoch if that is due or pays."""
        measured = self.window is not None
        if any(part.is_exceeded(draft.view, measured=measured) for part in self._parts):
            return self.begin(draft)
        shorter, _ = self._make_view(draft.repaired, draft.overhead_tokens)
        kept = common_length(draft.view, shorter, "meaning")
        whole, rest = self._size_of(draft.view), self._size_of(shorter)
        dead = max(0, whole - rest)
        draft.dead_tokens = dead
        # Without a window nothing else bounds what is carried.
        if dead > rest and not measured:
            return self.begin(draft)
        in_turn = in_tool_loop(draft.repaired)
        if not dead or (in_turn and self.reasoning.is_at_stake(draft.repaired)):
            return draft
        terms = self._cache_terms
        if idle_seconds >= terms.lifetime_seconds:
            # All of it has to be written again; only the reasoning would be lost.
            due = not self.reasoning.is_active or dead >= _LEAST_IDLE_GAIN * whole
        else:
            rewritten = rest - self._size_of(shorter, kept)
            due = draft.epoch.pays(terms, dead, rewritten, self.policy.epoch_gain)
        return self.begin(draft) if due else draft

    def _compare(self, draft: Draft) -> Continuity:
        """Return how a request relates to the last one."""
        last = self._last
        if last is None:
            return Continuity()
        if draft.continues:
            return Continuity(reused_tokens=self._size_of(draft.view, len(last.view)))
        changes = tuple(self._changes(last, draft))
        if {"system_changed", "tools_changed"} & set(changes):
            return Continuity(extends=False, changes=changes)
        same_to = common_length(last.view, draft.view, "meaning")
        reused = self._size_of(draft.view, same_to)
        if same_to == len(last.view):
            return Continuity(reused_tokens=reused)
        return Continuity(extends=False, reused_tokens=reused, changes=changes)

    def _changes(self, last: Draft, draft: Draft) -> Iterator[str]:
        """Yield the reasons why a request does not extend the last one."""
        if last.system_prompt != draft.system_prompt:
            yield "system_changed"
        if last.tools != draft.tools:
            yield "tools_changed"
        if find_summary(last.repaired) != find_summary(draft.repaired):
            yield "compaction"
        elif last.epoch.extend(draft.repaired, draft.repaired) is None:
            yield "owner_edited"
        changed = {each.part for each in draft.stages if each.after is not each.before}
        if _WINDOW in changed:
            yield "cut"
        if changed - {_WINDOW, _SHARE, _STALE}:
            yield "cleared"

    def _make_view(
        self, repaired: list[Message], overhead: int
    ) -> tuple[list[Message], list[Stage]]:
        view, stages = self._through_strategies(repaired)
        if self.window is not None:
            # Before anything is measured, so that a long summary alone does not set off the next
            # one.
            shown = self.window.shorten_summary(view, overhead)
            stages.append(Stage(_SHARE, "it is over its share of the window", view, shown))
            view = shown
        return view, stages

    def _shorten_new(self, repaired: list[Message]) -> list[Message]:
        """Return a history as it is when it is first sent: strategies wait, truncation does not."""
        for part in self._parts:
            if part.shortens_new:
                repaired = part.make_view(repaired)
        return repaired

    def _through_strategies(self, view: list[Message]) -> tuple[list[Message], list[Stage]]:
        stages: list[Stage] = []
        for part in self._parts:
            made = part.make_view(view)
            stages.append(Stage(part.name, "as configured", view, made))
            view = made
        # Our own strategies keep the request. A callable may not, and the model would answer
        # nothing.
        if stages and view is not stages[0].before:
            _check_request(stages[0].before, view)
        return view, stages

    def _with_view(self, draft: Draft, view: list[Message], stages: list[Stage]) -> Draft:
        """Return the draft as the first request of a new epoch, without stale reasoning."""
        valid = self.reasoning.strip(view, draft.system_prompt, draft.tools)
        if valid is not view:
            stages = [*stages, Stage(_STALE, "what precedes it has changed since", view, valid)]
        epoch = Epoch(draft.repaired, valid, tuple(stages), begun=len(draft.repaired))
        return self._measured(attrs.evolve(draft, epoch=epoch, continues=False, dead_tokens=0))

    def _measured(self, draft: Draft) -> Draft:
        if self.meter is not None:
            self.meter.read_replies(draft.branch.history, draft.view)
        tokens = 0
        if self.meter is not None:
            tokens = self.meter.measure(draft.view, draft.overhead_tokens)
        draft.tokens, draft.fits = tokens, self.policy.fits(tokens)
        return draft

    def _size_of(self, view: list[Message], length: int | None = None) -> int:
        sums = self._sizes.sizes(view).sums
        return sums[-1 if length is None else length]


def _behind_replies(messages: Sequence[Message], start: int) -> int:
    """Return where the messages behind the replies to a request of this length begin."""
    late = range(start, len(messages))
    return next((at for at in late if messages[at].role != "assistant"), len(messages))


def in_tool_loop(messages: Sequence[Message]) -> bool:
    """Return whether the newest message is a result: the model is in the middle of its work."""
    return bool(messages) and messages[-1].role == "tool"


def _begin_digest(draft: Draft) -> RollingDigest:
    """Return the hash of what precedes the messages of a request."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in draft.tools]
    beside = Message("system", json.dumps([draft.system_prompt, tools], default=dict))
    digest = RollingDigest()
    digest.add([beside])
    return digest


def _check_request(history: list[Message], view: list[Message]) -> None:
    seen, given = (any(each.role == "user" for each in some) for some in (view, history))
    if given and not seen:
        raise ConfigError(
            "the strategy's view",
            f"{len(view)} messages",
            "a view that contains the current request",
            "keep the latest user message",
        )


def _over_window(draft: Draft, policy: Policy) -> Note:
    part = describe_largest(draft.view, overhead_tokens=draft.overhead_tokens)
    text = f"{draft.tokens:,} tokens of {policy.available_tokens:,}: most is {part}"
    return Note("over_window", text)


def _are_same(some: list[Message], others: list[Message]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
