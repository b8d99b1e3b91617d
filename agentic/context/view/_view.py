"""What to send of a history, and what is remembered about it between two turns.

There is one View per conversation, whoever owns the list of messages. An owner who can rewrite the
list stores `Prepared.history` after a compaction. An owner who can only append simply goes on
appending: the View recognizes the list by its beginning, and applies the compaction again at every
turn.

A request extends the last one until an *epoch* begins. Only then are strategies applied, summaries
made and stale reasoning left out, because each change of what was sent is paid again and makes the
reasoning behind it stale.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import attrs

from agentic._lazy import events
from agentic._protocols import for_conversation
from agentic._tool_definition import ToolDefinition
from agentic._validate import must_be
from agentic._waiting import LONG, MOST_IN_LOOP, is_loop_running, off_loop
from agentic.context import strategies
from agentic.context.budget import Compaction, CompactionTarget, Compactor, Manager, Policy
from agentic.context.strategies import Chain, as_chain
from agentic.context.view._explain import Removal, explain
from agentic.context.view._reasoning import Mode, ReasoningFilter
from agentic.context.view._request import Draft, RequestBuilder
from agentic.context.view._scheduler import (
    Check,
    CompactionScheduler,
    TaskLock,
    run,
    run_elsewhere,
)
from agentic.context.view._window import Note
from agentic.errors import HistoryChanged
from agentic.messages import Message
from agentic.tokens import Counter
from agentic.usage import Usage

_WORTHWHILE = 0.9
"""A new epoch takes the place of a summary if it makes the request at most this large, as a share.
Budgets call a compaction that frees less than a tenth a low gain."""
_AFTER_OVERFLOW = 0.75
"""The largest size of a second request, as a share of the refused one's. The provider counts
differently, so a request that is only just smaller may be refused again."""


@attrs.frozen(kw_only=True)
class Prepared:
    """What to send, and what happened to the history. Sizes are in tokens."""

    messages: list[Message]
    """What to send. It includes the system prompt only if the history begins with it."""
    history: list[Message]
    """The history from now on: the list that was passed, unless it was compacted. An owner who can
    rewrite the history stores it; an owner who only appends may ignore it."""
    compaction: Compaction | None = None
    """What a trigger did; None if no compaction was due."""
    tokens: int = 0
    """The size of the request, with system prompt and tools, if there is a counter."""
    fits: bool = True
    """Whether the size is within the window less the reserve."""
    notes: tuple[Note, ...] = ()
    extends: bool = True
    """Whether the request extends the last one as the provider reads it; true for the first one.
    If not, a new epoch has begun."""
    reused_tokens: int = 0
    """The size of the start that the request shares with the last one, by the counter."""
    changes: tuple[str, ...] = ()
    """Why the request does not extend the last one: `compaction`, `cut` to the window, `cleared` by
    a strategy, `tools_changed`, `system_changed`, `owner_edited`."""


@attrs.define(eq=False)
class View:
    """Decides what is sent of one conversation. Do not share it between conversations.

    >>> from agentic.context import budget, compactors
    >>> from agentic.tokens import EstimateCounter
    >>> view = View(budget.Policy(1_000), counter=EstimateCounter(), compactor=compactors.Digest())
    >>> talk = [Message("user", f"Remark {number}: " + "so it goes. " * 20) for number in range(40)]
    >>> first = view.prepare_sync(talk)
    >>> len(first.messages) < 20, first.fits
    (True, True)
    >>> talk.append(Message("user", "Go on."))  # the owner only appends
    >>> view.prepare_sync(talk).compaction is None  # the summary still holds
    True
    """

    policy: Policy = attrs.field(validator=must_be(Policy))
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    """Without a counter, nothing is measured or compacted: only the strategies are applied."""
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    """Without a compactor, nothing is compacted: what exceeds the window is left out of the
    view."""
    strategies: Chain = attrs.field(default=Chain(()), kw_only=True, converter=as_chain)
    """Applied to the history, in this order, when an epoch begins: objects with `compact`, or
    callables. Until then each request extends the last one (`Policy.epochs`)."""
    recall: str | None = attrs.field(
        default=None, kw_only=True, validator=must_be(str, optional=True)
    )
    """The name of a tool that reads the conversation's past, if the model has one. Placeholders and
    digests then mention it."""
    automatic: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether the policy's triggers cause compactions. If not, only `compact` does."""
    model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The name of the model that the requests are for. Whether it binds reasoning and what its
    prompt cache costs depend on it. It may be assigned when the model is switched."""
    reasoning: Mode = attrs.field(
        default="auto", kw_only=True, validator=attrs.validators.in_(get_args(Mode))
    )
    """Whether reasoning whose preceding request has changed is left out: `auto` for a model that
    binds it and for one that is not known, `strip` for every model, `keep` for none."""
    server_drops: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether the sender lets the provider drop such reasoning instead of refusing the request. In
    a running turn it is then sent, because some models ask for all reasoning of that turn.
    Otherwise the calls of that turn are sent as text if a refusal is to be expected."""
    _state: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, alias="state")
    """What `state()` returned for this conversation, perhaps in another process."""
    _builder: RequestBuilder = attrs.field(init=False, repr=False)
    _scheduler: CompactionScheduler = attrs.field(init=False, repr=False)
    _latest: Draft | None = attrs.field(default=None, init=False, repr=False)
    """The draft of the latest request."""
    _seen: tuple[int, Message | None] = attrs.field(default=(0, None), init=False, repr=False)
    """The length of the history that was read last, and its last message."""
    _epoch_changes: tuple[str, ...] = attrs.field(default=(), init=False, repr=False)
    """Why the epoch of the latest request began; empty for the first one."""
    # Two locks: `prepare_ahead` makes a summary while requests that need none go on.
    _turns: TaskLock = attrs.field(factory=TaskLock, init=False, repr=False)
    _summaries: TaskLock = attrs.field(factory=TaskLock, init=False, repr=False)
    _threads: Any = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # Caches are for one conversation: Views that share a strategy would mix theirs.
        strategies = for_conversation(self.strategies, self.recall)
        self.compactor = for_conversation(self.compactor, self.recall)
        self.counter = self.policy.counter_for(self.counter)
        manager = Manager(self.counter, self.compactor, self.policy)
        reasoning = ReasoningFilter(self.model, self.reasoning, self.server_drops)
        self._builder = RequestBuilder(
            self.policy, self.counter, strategies, self.recall, reasoning
        )
        self._scheduler = CompactionScheduler(
            self, manager, self._builder, self.automatic, self.recall
        )
        if self._state is not None:
            self._scheduler.read_plain(self._state)

    @classmethod
    def of(cls, manager: Any, **options: Any) -> "View":
        """Return the View of a conversation, with a Manager's policy, counter and compactor.

        `options` are the other options of a View. Any object with a Manager's fields and methods is
        accepted too, and is used as it is.
        """
        view = cls(manager.policy, counter=manager.counter, compactor=manager.compactor, **options)
        # A Manager was rebuilt from its parts, so that its caches are not shared. What only looks
        # like one has a way of its own to compact.
        if type(manager) is not Manager:
            view._scheduler.manager = manager
        return view

    async def prepare(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        target: CompactionTarget | None = None,
        idle_seconds: float = 0.0,
    ) -> Prepared:
        """Return what to send of a history, after compacting it if a compaction is due.

        Args:
            history: the owner's list. Messages appended to it during the call are sent, too.
            system_prompt: the system prompt that is sent; it is only measured here.
            tools: the tools that are sent; also only measured.
            target: an owner who can rewrite the history, and who stores a compaction before any
                event reports it. If None, the View remembers the compaction.
            idle_seconds: how long ago the last request was. Once the prompt cache has expired, a
                new epoch costs nothing.

        If the compactor fails, the history is unchanged: see `Prepared.notes`. Concurrent calls
        take turns. A receiver of a compaction's events is called in the middle of one, and a call
        that it awaits itself is refused.

        Raises:
            ConfigError: an item of the history is not a Message, or a receiver waits for the View
                that is waiting for it.
        """
        async with self._turns:
            beside = system_prompt, tools, idle_seconds
            given = history
            draft, compaction = await self._draft_async(history, *beside), None
            if self._scheduler.due(draft):
                async with self._summaries:
                    # While this call waited, another one may have made the summary.
                    draft = await self._draft_async(history, *beside)
                    if self._scheduler.due(draft):
                        compaction = await self._scheduler.compact(draft, target)
                        rewritten = target is not None and compaction.changed
                        # Without a target, the lineage applies the compaction to the list as it is.
                        given = compaction.messages if rewritten else history
                        draft = await self._draft_async(given, *beside, anew=compaction.changed)
            # A request that extends the last one is only continued, which takes no time.
            size = 0 if draft.continues else len(draft.view)
            prepared = await off_loop(size, self._cut, draft, compaction)
            if len(given) != draft.branch.length:
                prepared = self._cut(self._draft(given, *beside), compaction)
            elif isinstance(given, list):
                prepared = self._of_list(given, prepared)
            changes = self._changes(target, prepared)
        # Outside the lock, because a receiver may prepare a request itself.
        for record in changes:
            await events.send(record["record"].signal, **record)
        return prepared

    def prepare_sync(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        idle_seconds: float = 0.0,
    ) -> Prepared:
        """Return what `prepare` returns, for sync code.

        A turn without a summary creates no event loop, thread or coroutine. A summary is made in a
        new event loop. If a loop is already running, a compactor that has to wait would block it: a
        `Digest` is made instead, and a note says so. While an async call of this View is making a
        summary, no other is made.
        """
        with self._threads:
            beside = system_prompt, tools, idle_seconds
            draft, compaction = self._draft(history, *beside), None
            notes: tuple[Note, ...] = ()
            if not self._is_busy and self._scheduler.due(draft):
                compaction, notes = self._scheduler.compact_sync(draft)
                draft = self._draft(history, *beside)
            prepared = self._cut(draft, compaction, notes)
            for record in self._changes(None, prepared):
                events.send_sync(record["record"].signal, **record)
            return prepared

    async def prepare_ahead(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        target: CompactionTarget | None = None,
    ) -> Compaction | None:
        """Make the summary that will be due soon, so that no `prepare` has to wait for it.

        Run it as a task while the user reads or types. It returns None if no limit is near.
        Messages that are appended meanwhile follow the summary. A `prepare` that needs the summary
        before it is ready waits for it.
        """
        early = self._scheduler.early()
        if early is None or self._summaries.locked():
            return None
        async with self._summaries:
            draft = await self._look(history, system_prompt, tools)
            if not self._scheduler.due(draft, early):
                return None
            return await self._scheduler.compact(draft, target, manager=early)

    async def compact(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        target: CompactionTarget | None = None,
        instructions: str | None = None,
        force: bool = True,
        allow_growth: bool = False,
    ) -> Compaction:
        """Compact the history now or, with `force=False`, only if a trigger fires.

        `instructions` tell a `GuidedCompactor` what to focus on. A summary that is larger than what
        it replaces is used only if `allow_growth` is true.
        """
        async with self._summaries:
            draft = await self._look(history, system_prompt, tools)
            if not force and not self._scheduler.due(draft):
                draft = draft.of_list(history) if isinstance(history, list) else draft
                return Compaction(
                    messages=draft.branch.history,
                    tokens_before=draft.tokens,
                    tokens_after=draft.tokens,
                    fits=draft.fits,
                    overhead_tokens=draft.overhead_tokens,
                )
            return await self._scheduler.compact(
                draft,
                target,
                force=force,
                instructions=instructions,
                allow_growth=allow_growth,
            )

    async def shrink(
        self,
        sent: Sequence[Message],
        *,
        history: Sequence[Message] | None = None,
        target: CompactionTarget | None = None,
    ) -> Prepared | None:
        """Return a strictly smaller request than one that a provider refused as too large.

        The history is compacted once more; by default it is that of the latest request. Then
        whatever exceeds three quarters of the refused size is left out. Return None if no smaller
        request is possible.
        """
        return await self._shrink(sent, history, target, self._scheduler.manager)

    def shrink_sync(
        self, sent: Sequence[Message], *, history: Sequence[Message] | None = None
    ) -> Prepared | None:
        """Return what `shrink` returns, for sync code.

        If an event loop is running, a `Digest` takes the place of a compactor that has to wait.
        While an async call of this View is making a summary, no other is made.
        """
        with self._threads:
            if self._is_busy:
                return run_elsewhere(self._shrink(sent, history, None, None))
            if is_loop_running():
                manager, notes = self._scheduler.waiting_for_nothing()
                prepared = run_elsewhere(self._shrink(sent, history, None, manager))
                return prepared and attrs.evolve(prepared, notes=(*notes, *prepared.notes))
            return run(self._shrink(sent, history, None, self._scheduler.manager))

    async def _shrink(
        self,
        sent: Sequence[Message],
        history: Sequence[Message] | None,
        target: CompactionTarget | None,
        manager: Manager | None,
    ) -> Prepared | None:
        """Do what `shrink` does; without a manager, compact nothing."""
        latest = self._latest
        if latest is None or self._builder.token_cache is None or self.counter is None:
            return None
        beside = latest.system_prompt, latest.tools
        given = latest.branch.given if history is None else history
        compaction = None
        if manager is not None:
            async with self._summaries:
                draft = await self._look(given, *beside)
                compaction = await self._scheduler.compact(
                    draft, target, manager=manager, force=True
                )
            if target is not None and compaction.changed:
                given = compaction.messages
        smaller = await off_loop(len(given), self._shorter, list(sent), list(given), *beside)
        if smaller is None:
            return None
        if isinstance(given, list):
            smaller = smaller.of_list(given)
        prepared = self._finish(smaller, compaction)
        for record in self._epoch_start(target, prepared):
            await events.send(events.epoch_start, **record)
        return prepared

    def _shorter(
        self,
        sent: list[Message],
        given: list[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
    ) -> Draft | None:
        """Return a draft that is at most three quarters of what was sent, or at least smaller."""
        token_cache = self._builder.token_cache
        if token_cache is None or self.counter is None:
            return None
        with self._builder.lock:
            before = token_cache.sizes(sent).total
            draft = self._builder.draft(given, system_prompt, tools)
            draft = self._builder.cut(self._builder.begin(draft) if draft.continues else draft)
            most = int(_AFTER_OVERFLOW * before)
            if token_cache.sizes(draft.view).total > most:
                fit = strategies.FitContextWindow(
                    max(1, most), self.counter, tokens_per_media=None, low_watermark=1.0
                )
                reason = "the provider refused a larger request"
                draft = self._builder.with_view(draft, fit.compact(draft.view), reason)
            # An equal or larger request would only be refused again.
            return None if token_cache.sizes(draft.view).total >= before else draft

    @property
    def _is_busy(self) -> bool:
        """Whether an async call holds a lock: to wait for it would block the loop it runs in."""
        return self._turns.locked() or self._summaries.locked()

    def hold_off(self, history: Sequence[Message]) -> None:
        """Suspend the `max_messages` and `max_tokens` triggers until the history has grown.

        Call it when a summary was undone: the triggers wait until the history is a quarter longer.
        The window trigger stays active.
        """
        self._scheduler.hold_off(history)

    def report(self, reply: Message, usage: Usage | None = None) -> None:
        """Record the provider's reply to the latest request, and its usage.

        The default is the usage that the reply carries. Replies in the history that carry their
        usage are read automatically; reporting them changes nothing. A usage that adds up several
        requests says nothing about the size of this one, and is ignored.
        """
        if self._builder.meter is not None:
            with self._builder.lock:
                self._builder.meter.report(reply, usage or reply.request_usage)

    def check(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
        upcoming: Sequence[Message] = (),
    ) -> Check:
        """Return the size of the next request, and which trigger would compact before it.

        If `upcoming` messages are given, the trigger is for the request after they are appended.
        Nothing is changed or sent.
        """
        draft = self._look_sync(history, system_prompt, tools)
        token_cache = self._builder.token_cache
        more = 0 if token_cache is None else sum(map(token_cache.count_message, upcoming))
        due = self._scheduler.due(draft, tokens=draft.tokens + more, upcoming=upcoming)
        return Check(tokens=draft.tokens, overhead_tokens=draft.overhead_tokens, due=due)

    def certain(
        self,
        history: Sequence[Message],
        *,
        system_prompt: str = "",
        tools: Sequence[ToolDefinition] = (),
    ) -> list[Message]:
        """Return the messages that the model is certain to see, however the window is cut."""
        with self._builder.lock:
            draft = self._builder.draft(history, system_prompt, tools)
            window, room = self._builder.window, self._builder.room(draft)
            if window is None or room is None:
                return draft.view
            return window.certain(draft.view, room)

    def explain(self) -> list[Removal]:
        """Return what is missing from the latest request or shortened in it, and why."""
        if self._latest is None:
            return []
        latest = self._latest
        with self._builder.lock:
            token_cache = self._builder.token_cache
            removals = explain(latest.branch, latest.repaired, latest.stages, token_cache)
        return [attrs.evolve(each, epoch=self._epoch_changes) for each in removals]

    @property
    def covered(self) -> int:
        """The number of messages in the owner's list before the cut of the latest request.

        The compaction in force replaced them, except for those it kept. 0 if there is none.
        """
        generation = self._latest.branch.generation if self._latest else None
        return 0 if generation is None else generation.cut

    def state(self) -> dict[str, Any]:
        """Return what this View remembers, as plain JSON of a few kilobytes. Pass it to a new View.

        It contains the summary with its notes, how many messages of the owner's list it covers, a
        hash of those messages, the calibration and the back-off. It contains no other messages.
        """
        with self._builder.lock:
            return self._scheduler.to_plain(self._latest.branch if self._latest else None)

    def _draft(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        idle_seconds: float,
    ) -> Draft:
        """Return a draft of the next request; it begins a new epoch if one is due."""
        draft = self._read(history, system_prompt, tools, idle_seconds)
        return self._begin(draft) if self._ends_epoch(draft) else draft

    async def _draft_async(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        idle_seconds: float,
        *,
        anew: bool = False,
    ) -> Draft:
        """Return what `_draft` returns; what takes long is done in a thread, on a copy.

        `anew` says that the history takes long although it was read before.
        """
        size = len(history) if anew else self._count_new(history)
        given = self._unshared(history, size)
        draft = await off_loop(size, self._read, given, system_prompt, tools, idle_seconds)
        if self._ends_epoch(draft):
            draft = await off_loop(len(given), self._begin, draft)
        # What was appended meanwhile is new; all else has been read.
        is_whole = len(history) == draft.branch.length
        return draft if is_whole else self._draft(history, system_prompt, tools, idle_seconds)

    async def _look(
        self, history: Sequence[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> Draft:
        """Return a draft for a compaction: none of it is sent."""
        size = self._count_new(history)
        given = self._unshared(history, size)
        return await off_loop(size, self._look_sync, given, system_prompt, tools)

    def _look_sync(
        self, history: Sequence[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> Draft:
        with self._builder.lock:
            return self._builder.draft(history, system_prompt, tools)

    @staticmethod
    def _unshared(history: Sequence[Message], size: int) -> Sequence[Message]:
        """Return a copy for a thread: the owner may append to the list meanwhile."""
        return history if size <= MOST_IN_LOOP else list(history)

    def _read(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        idle_seconds: float,
    ) -> Draft:
        with self._builder.lock:
            reasoning = self._builder.reasoning
            reasoning.model, reasoning.server_drops = self.model, self.server_drops
            draft = self._builder.draft(history, system_prompt, tools, idle_seconds=idle_seconds)
            self._seen = draft.branch.length, history[-1] if history else None
        return draft

    def _begin(self, draft: Draft) -> Draft:
        # What can be left out without a summary goes first, unless that would hardly help: the
        # next request would begin another epoch.
        with self._builder.lock:
            begun = self._builder.begin(draft)
        # It is larger if the epoch was cut to the window. The size of all of it then says whether a
        # compactor that failed is asked again: what was cut never grows beyond the window.
        hardly_helps = _WORTHWHILE * draft.tokens < begun.tokens <= draft.tokens
        return draft if hardly_helps else begun

    def _ends_epoch(self, draft: Draft) -> bool:
        return draft.continues and (not draft.fits or bool(self._scheduler.due(draft)))

    def _count_new(self, history: Sequence[Message]) -> int:
        """Return how many messages of a history have to be read."""
        length, last = self._seen
        extends = 0 < length <= len(history) and history[length - 1] is last
        return len(history) - length if extends and len(history) < LONG else len(history)

    def _cut(
        self, draft: Draft, compaction: Compaction | None, notes: Sequence[Note] = ()
    ) -> Prepared:
        """Cut a draft to the window, and record it as sent."""
        with self._builder.lock:
            return self._finish(self._builder.cut(draft), compaction, notes)

    def _of_list(self, history: list[Message], prepared: Prepared) -> Prepared:
        """Return what was prepared of a copy of the owner's list, as prepared of the list."""
        latest = self._latest
        if latest is None or latest.branch.given is history:
            return prepared
        self._latest = latest = latest.of_list(history)
        return attrs.evolve(prepared, messages=latest.view, history=latest.branch.history)

    def _finish(
        self, draft: Draft, compaction: Compaction | None, notes: Sequence[Note] = ()
    ) -> Prepared:
        """Record what is sent, and return it."""
        view = draft.view  # the owner's own list if nothing was left out, and then a copy of it
        with self._builder.lock:
            self._latest = draft
            # An owner who keeps what was sent gets the summary back as a plain system message.
            self._builder.lineage.remember_sent(draft.view)
            continuity = self._builder.commit(draft)
            if not continuity.extends:
                self._epoch_changes = continuity.changes
        return Prepared(
            messages=view,
            history=draft.branch.history,
            # Without a reason, nothing was tried: the hook of a ContextConfig said no, for example.
            compaction=compaction if compaction is not None and compaction.reason else None,
            tokens=draft.tokens,
            fits=draft.fits,
            notes=(*_failures(compaction), *notes, *draft.notes),
            extends=continuity.extends,
            reused_tokens=continuity.reused_tokens,
            changes=continuity.changes,
        )

    def _changes(self, target: CompactionTarget | None, prepared: Prepared) -> list[dict[str, Any]]:
        """Return the events to send: one for each step that changed the view, and for an epoch."""
        stages = () if self._latest is None else self._latest.stages
        steps: list[dict[str, Any]] = [
            {
                **_sender(self, target),
                "record": events.ContextChanged,
                "messages_before": len(stage.before),
                "messages_after": len(stage.after),
            }
            for stage in stages
            if stage.after is not stage.before
        ]
        return [*steps, *self._epoch_start(target, prepared)]

    def _epoch_start(
        self, target: CompactionTarget | None, prepared: Prepared
    ) -> list[dict[str, Any]]:
        """Return the event of a request that begins an epoch; nothing for any other."""
        if prepared.extends:
            return []
        stale, _ = self._builder.reasoning.left_out_of(prepared.messages)
        epoch = {
            "record": events.EpochStart,
            "changes": prepared.changes,
            "reused_tokens": prepared.reused_tokens,
            "tokens": prepared.tokens,
            "stale_replies": len(stale),
        }
        return [{**_sender(self, target), **epoch}]


def _sender(view: View, target: CompactionTarget | None) -> dict[str, Any]:
    if target is None:
        return {"sender": view, "run_id": ""}
    return {"sender": target.sender, "run_id": target.run_id}


def _failures(compaction: Compaction | None) -> list[Note]:
    error = None if compaction is None else compaction.error
    if error is None or isinstance(error, HistoryChanged):  # another summary was stored first
        return []
    text = f"nothing was summarized ({type(error).__name__}: {error})"
    return [Note("summary_failed", text)]
