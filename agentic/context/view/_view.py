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
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import attrs

from agentic._base._validate import must_be
from agentic._base._waiting import LONG, goes_off_loop, is_loop_running, off_loop
from agentic.context._for_conversation import for_conversation
from agentic.context.budget import Budget, Compaction, Compactor, Manager, Policy
from agentic.context.budget._compaction import AdaptableBudget, CompactionTarget
from agentic.context.budget._policy import check_policies, find_policy
from agentic.context.strategies import Chain
from agentic.context.strategies._strategy import as_chain
from agentic.context.view._draft import Draft
from agentic.context.view._explain import Stage
from agentic.context.view._maker import RequestMaker
from agentic.context.view._prepared import (
    EpochNote,
    Prepared,
    change_events,
    describe_request,
    epoch_event,
)
from agentic.context.view._reasoning import Mode, ReasoningFilter
from agentic.context.view._request import RequestBuilder
from agentic.context.view._request_limits import Unit, WireUnit
from agentic.context.view._scheduler import (
    Check,
    CompactionScheduler,
    TaskLock,
    run,
    run_elsewhere,
)
from agentic.context.view._window import Note
from agentic.events._sending import send, send_sync
from agentic.limits import cache_terms
from agentic.messages import Message, ToolCall, ToolResult
from agentic.protocols import (
    ChangeWriter,
    Decision,
    Input,
    NativeSummarizer,
    RequestCodec,
    ToolDefinition,
)
from agentic.tokens import Counter
from agentic.usage import Usage

if TYPE_CHECKING:
    from agentic.context.view._picture import Explanation


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
    policies: Mapping[str, Policy] = attrs.field(
        factory=dict, kw_only=True, validator=check_policies
    )
    """The policies of models, by patterns of their names such as `claude-*`: the first one that
    matches holds for a request, and `policy` where none does. With `model`, the window, the reserve
    and all shares change before the next request."""
    reasoning: Mode = attrs.field(
        default="auto", kw_only=True, validator=attrs.validators.in_(get_args(Mode))
    )
    """Whether reasoning whose preceding request has changed is left out: `auto` for a model that
    binds it and for one that is not known, `strip` for every model, `keep` for none."""
    server_drops: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether the sender lets the provider drop such reasoning instead of refusing the request. In
    a running turn it is then sent, because some models ask for all reasoning of that turn.
    Otherwise the calls of that turn are sent as text if a refusal is to be expected."""
    ask: Callable[[Input], Awaitable[Decision]] | None = attrs.field(default=None, kw_only=True)
    """Asks the model that the requests are for, as a decider's `decide` does. A compactor without a
    model of its own uses it. It may be assigned like `model`."""
    provider: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The adapter that sends the requests, as in a decider's `name`: a provider's own compaction is
    sent only by the one that made it."""
    native: NativeSummarizer | None = attrs.field(default=None, kw_only=True)
    """Lets the provider compact, for a `ProviderCompactor` without a summarizer of its own."""
    change_writer: ChangeWriter | None = attrs.field(default=None, kw_only=True)
    """Writes a changed system prompt or changed tools as messages of the request, which then still
    extends the last one. The sender sends `Prepared.prefix` in front. It may be assigned like
    `model`. Without it, or where it has no form for a change, an epoch begins."""
    execute: Callable[[ToolCall], Awaitable[ToolResult]] | None = attrs.field(
        default=None, kw_only=True
    )
    """Carries out a call by the agent's own tools, for a compactor that reads files again."""
    codec: RequestCodec | None = attrs.field(default=None, kw_only=True)
    """The form in which a compactor's own function takes requests and returns replies."""
    _policies_used: dict[Policy, Budget] = attrs.field(factory=dict, init=False, repr=False)
    """The budgets of the policies that were used so far: each remembers what failed."""
    _policy_of_all: Policy = attrs.field(init=False, repr=False)
    """The policy for a model without one of its own."""
    _state: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, alias="state")
    """What `state()` returned for this conversation, perhaps in another process."""
    _maker: RequestMaker = attrs.field(init=False, repr=False)
    _builder: RequestBuilder = attrs.field(init=False, repr=False)
    _scheduler: CompactionScheduler = attrs.field(init=False, repr=False)
    _latest: Draft | None = attrs.field(default=None, init=False, repr=False)
    """The draft of the latest request."""
    _seen: tuple[int, Message | None] = attrs.field(default=(0, None), init=False, repr=False)
    """The length of the history that was read last, and its last message."""
    _focus: str | None = attrs.field(default=None, init=False, repr=False)
    """What the summary that was asked for should focus on; None if none was."""
    _asked: tuple[Message | None, int] = attrs.field(default=(None, 0), init=False, repr=False)
    """The user's latest request, and how often a summary was asked for since."""
    _epoch: EpochNote = attrs.field(factory=EpochNote, init=False, repr=False)
    """Why the epoch of the latest request began, and what that cost."""
    # Two locks: `prepare_ahead` makes a summary while requests that need none go on.
    _turns: TaskLock = attrs.field(factory=TaskLock, init=False, repr=False)
    _summaries: TaskLock = attrs.field(factory=TaskLock, init=False, repr=False)
    _threads: Any = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # Caches are for one conversation: Views that share a strategy would mix theirs.
        strategies = for_conversation(self.strategies, self.recall)
        self.compactor = for_conversation(self.compactor, self.recall)
        self._policy_of_all = self.policy
        self.counter = self.policy.counter_for(self.counter)
        budget = Manager(self.counter, self.compactor, self.policy)
        reasoning = ReasoningFilter(self.model, self.reasoning, self.server_drops)
        self._maker = RequestMaker(self.policy, self.counter, strategies, self.recall, reasoning)
        self._builder = RequestBuilder(self._maker)
        self._scheduler = CompactionScheduler(
            self, budget, self._builder, self.automatic, self.recall
        )
        if self._state is not None:
            self._scheduler.read_plain(self._state)

    @classmethod
    def of(cls, budget: Budget, **options: Any) -> "View":
        """Return the View of a conversation that a budget compacts, such as a Manager.

        `options` are the other options of a View. What the budget remembers of other conversations
        is not shared, if it has `for_conversation`.
        """
        view = cls(budget.policy, counter=budget.counter, compactor=budget.compactor, **options)
        view._scheduler.budget = for_conversation(budget, view.recall)
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
            messages = history
            draft, compaction = await self._draft_async(history, *beside), None
            focus, self._focus = self._focus, None
            if focus is not None or self._scheduler.due(draft):
                async with self._summaries:
                    # While this call waited, another one may have made the summary.
                    draft = await self._draft_async(history, *beside)
                    if focus is not None or self._scheduler.due(draft):
                        compaction = await self._scheduler.compact(
                            draft, target, force=focus is not None, instructions=focus
                        )
                        is_rewritten = target is not None and compaction.changed
                        # Without a target, the lineage applies the compaction to the list as it is.
                        messages = compaction.messages if is_rewritten else history
                        draft = await self._draft_async(messages, *beside, anew=compaction.changed)
            # A request that extends the last one is only continued, which takes no time.
            size = 0 if draft.continues else len(draft.view)
            request = await off_loop(size, self._cut, draft, compaction)
            if not _is_of(draft, messages):
                # What was appended meanwhile is sent, too.
                with self._builder.lock:
                    self._builder.withdraw()
                request = self._cut(self._draft(messages, *beside), compaction)
            elif isinstance(messages, list):
                request = self._of_list(messages, request)
            changes = self._events(target, request, self._new_stages)
        # Outside the lock, because a receiver may prepare a request itself.
        for record in changes:
            await send(record["record"].signal, **record)
        return request

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
            request = self._cut(draft, compaction, notes)
            for record in self._events(None, request, self._new_stages):
                send_sync(record["record"].signal, **record)
            return request

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
            return await self._scheduler.compact(draft, target, budget=early)

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
        # Not within the lock: what is not due need not wait for a summary that is being made.
        draft = await self._look(history, system_prompt, tools)
        if not force and not self._scheduler.due(draft):
            return _unchanged(draft, history)
        async with self._summaries:
            draft = await self._look(history, system_prompt, tools)
            if not force and not self._scheduler.due(draft):
                return _unchanged(draft, history)
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
        system_prompt: str | None = None,
        tools: Sequence[ToolDefinition] | None = None,
        target: CompactionTarget | None = None,
        kind: Unit = "tokens",
        limit: int | None = None,
    ) -> Prepared | None:
        """Return a strictly smaller request than one that a provider refused as too large.

        The history is compacted once more. By default the history, the system prompt and the tools
        are those of the latest request. Then whatever exceeds three quarters of the refused size is
        left out. Return None if no smaller request is possible.

        If the provider counted `bytes` or `images`, `kind` says so. `limit` is how many it accepts,
        if it said so; it holds for later requests, too (see `limit_request`).
        """
        others = system_prompt, tools
        if kind == "tokens":
            return await self._shrink(sent, history, others, target, self._scheduler.budget)
        if self._latest is None:
            return None
        self.limit_request(kind, limit)
        messages, (prompt, definitions) = self._latest.complete(history, others)
        request = await self.prepare(
            messages, system_prompt=prompt, tools=definitions, target=target
        )
        return request if self._is_smaller(kind, request.messages, sent) else None

    def shrink_sync(
        self,
        sent: Sequence[Message],
        *,
        history: Sequence[Message] | None = None,
        system_prompt: str | None = None,
        tools: Sequence[ToolDefinition] | None = None,
        kind: Unit = "tokens",
        limit: int | None = None,
    ) -> Prepared | None:
        """Return what `shrink` returns, for sync code.

        If an event loop is running, a `Digest` takes the place of a compactor that has to wait.
        While an async call of this View is making a summary, no other is made.
        """
        others = system_prompt, tools
        with self._threads:
            if kind != "tokens":
                if self._latest is None:
                    return None
                self.limit_request(kind, limit)
                messages, (prompt, definitions) = self._latest.complete(history, others)
                request = self.prepare_sync(messages, system_prompt=prompt, tools=definitions)
                return request if self._is_smaller(kind, request.messages, sent) else None
            if self._is_busy:
                return run_elsewhere(self._shrink(sent, history, others, None, None))
            if is_loop_running():
                budget, notes = self._scheduler.waiting_for_nothing()
                shorter = run_elsewhere(self._shrink(sent, history, others, None, budget))
                return shorter and attrs.evolve(shorter, notes=(*notes, *shorter.notes))
            return run(self._shrink(sent, history, others, None, self._scheduler.budget))

    def _is_smaller(self, kind: WireUnit, view: list[Message], sent: Sequence[Message]) -> bool:
        """Return whether a request has fewer bytes or images than another one."""
        with self._builder.lock:
            limits = self._builder.maker.limits
            return limits.count(kind, view) < limits.count(kind, [*sent])

    async def _shrink(
        self,
        sent: Sequence[Message],
        history: Sequence[Message] | None,
        others: tuple[str | None, Sequence[ToolDefinition] | None],
        target: CompactionTarget | None,
        budget: Budget | None,
    ) -> Prepared | None:
        """Do what `shrink` does; without a budget, compact nothing."""
        latest = self._latest
        if latest is None or self._maker.token_cache is None or self.counter is None:
            return None
        messages, beside = latest.complete(history, others)
        compaction = None
        if budget is not None:
            async with self._summaries:
                draft = await self._look(messages, *beside)
                compaction = await self._scheduler.compact(draft, target, budget=budget, force=True)
            if target is not None and compaction.changed:
                messages = compaction.messages
        smaller = await off_loop(len(messages), self._shorter, list(sent), list(messages), *beside)
        if smaller is None:
            return None
        if isinstance(messages, list):
            smaller = smaller.of_list(messages)
        request = self._finish(smaller, compaction)
        for record in self._events(target, request):
            await send(record["record"].signal, **record)
        return request

    def _shorter(
        self,
        sent: list[Message],
        messages: list[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
    ) -> Draft | None:
        with self._builder.lock:
            return self._builder.shorten(sent, messages, system_prompt, tools)

    def compact_next(self, instructions: str = "", most: int | None = None) -> bool:
        """Have the history compacted before the next `prepare`; return whether it will be.

        `instructions` say what the summary should focus on. With `most`, it is refused after so
        many such compactions since the user's latest request.
        """
        history = [] if self._latest is None else self._latest.branch.history
        request = next((each for each in reversed(history) if each.role == "user"), None)
        former, count = self._asked
        count = count if former == request else 0
        if most is not None and count >= most:
            return False
        self._asked, self._focus = (request, count + 1), instructions
        return True

    def limit_request(self, kind: WireUnit, limit: int | None = None) -> None:
        """Keep the requests from now on within a limit that a provider stated in a refusal.

        Without a limit that the latest request exceeds, it is three quarters of what that one had.
        The lowest of these, of the policy's and of the model's holds. It is not part of the state.
        """
        with self._builder.lock:
            view = [] if self._latest is None else self._latest.view
            self._builder.maker.limits.learn(kind, limit, view)

    def refuse_native(self, sent: Sequence[Message]) -> bool:
        """Note that a request was refused; return whether another one may be accepted.

        That is so if a provider's own compaction was in it, which the provider may not read any
        more. From now on, the readable summary of the same messages takes its place.
        """
        with self._builder.lock:
            return self._maker.notes.refuse_native(sent)

    @property
    def _new_stages(self) -> tuple[Stage, ...]:
        """The steps that made the latest request different from the history."""
        return () if self._latest is None else self._latest.new_stages

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
        if self._maker.meter is not None:
            with self._builder.lock:
                self._maker.meter.report(reply, usage or reply.request_usage)

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
        token_cache = self._maker.token_cache
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
            window, room = self._maker.window, self._maker.room(draft)
            if window is None or room is None:
                return draft.view
            return window.certain(draft.view, room)

    def explain(self) -> "Explanation":
        """Return what is missing from the latest request or shortened in it, and why.

        It is a list, which a notebook and rich show with a bar of what fills the window.
        """
        from agentic.context.view._picture import Explanation  # noqa: PLC0415  rarely needed

        if self._latest is None:
            return Explanation()
        with self._builder.lock:
            return Explanation.of_draft(
                self._latest, self._maker.token_cache, self.policy.context_window, self._epoch
            )

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __rich__(self) -> "Explanation":
        """Return what rich prints for it."""
        return self.explain()

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
        With a `change_writer`, it also contains the system prompt and the tools.
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
        messages = self._unshared(history, size)
        draft = await off_loop(size, self._read, messages, system_prompt, tools, idle_seconds)
        if self._ends_epoch(draft):
            draft = await off_loop(len(messages), self._begin, draft)
        # What was appended meanwhile is new; all else has been read.
        is_whole = _is_of(draft, history)
        return draft if is_whole else self._draft(history, system_prompt, tools, idle_seconds)

    async def _look(
        self, history: Sequence[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> Draft:
        """Return a draft for a compaction: none of it is sent."""
        size = self._count_new(history)
        messages = self._unshared(history, size)
        return await off_loop(size, self._look_sync, messages, system_prompt, tools)

    def _look_sync(
        self, history: Sequence[Message], system_prompt: str, tools: Sequence[ToolDefinition]
    ) -> Draft:
        with self._builder.lock:
            self._pass_settings()
            return self._builder.draft(history, system_prompt, tools)

    def _pass_settings(self) -> None:
        """Pass on what may have been assigned since the last request."""
        self._choose_policy()
        reasoning = self._builder.reasoning
        reasoning.model, reasoning.server_drops = self.model, self.server_drops
        self._maker.notes.provider, self._scheduler.native = self.provider, self.native
        self._scheduler.ask, self._scheduler.codec = self.ask, self.codec
        self._scheduler.execute = self.execute
        self._builder.change_writer = self.change_writer

    def _choose_policy(self) -> None:
        """Use the policy of the model, where there are several and the budget has others."""
        if not self.policies:
            return
        policy = find_policy(self.policies, self.model) or self._policy_of_all
        budget = self._scheduler.budget
        if policy == self.policy or not isinstance(budget, AdaptableBudget):
            return
        self._policies_used[self.policy] = budget
        self.policy = policy
        self._maker.use_policy(policy)
        entry = self._policies_used.get(policy)
        self._scheduler.use_budget(budget.with_policy(policy) if entry is None else entry)

    @staticmethod
    def _unshared(history: Sequence[Message], size: int) -> Sequence[Message]:
        """Return a copy for a thread: the owner may append to the list meanwhile."""
        return list(history) if goes_off_loop(size) else history

    def _read(
        self,
        history: Sequence[Message],
        system_prompt: str,
        tools: Sequence[ToolDefinition],
        idle_seconds: float,
    ) -> Draft:
        with self._builder.lock:
            self._pass_settings()
            draft = self._builder.draft(history, system_prompt, tools, idle_seconds=idle_seconds)
            self._seen = draft.branch.length, history[-1] if history else None
        return draft

    def _begin(self, draft: Draft) -> Draft:
        with self._builder.lock:
            return self._builder.begin_if_shorter(draft)

    def _ends_epoch(self, draft: Draft) -> bool:
        if not draft.continues:
            return False
        draft.is_within = draft.fits and not self._scheduler.due(draft)
        return not draft.is_within

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

    def _of_list(self, history: list[Message], request: Prepared) -> Prepared:
        """Return what was prepared of a copy of the owner's list, as prepared of the list."""
        latest = self._latest
        if latest is None or latest.branch.given is history:
            return request
        self._latest = latest = latest.of_list(history)
        return attrs.evolve(request, messages=latest.view, history=latest.branch.history)

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
            self._scheduler.note_sent(self.model)
            if not continuity.extends:
                terms = cache_terms(self.model)
                self._epoch = self._epoch.next(draft, continuity, compaction, terms)
        return describe_request(draft, view, continuity, compaction, notes)

    def _events(
        self, target: CompactionTarget | None, request: Prepared, stages: Iterable[Stage] = ()
    ) -> list[dict[str, Any]]:
        """Return the events to send: one for each step that changed the view, and for an epoch."""
        sender = {"sender": self, "run_id": ""}
        if target is not None:
            sender = {"sender": target.sender, "run_id": target.run_id}
        records = [*change_events(stages)]
        if not request.extends:
            stale, _ = self._builder.reasoning.left_out_of(request.messages)
            records.append(epoch_event(request, len(stale)))
        return [sender | each for each in records]


def _is_of(draft: Draft, history: Sequence[Message]) -> bool:
    """Return whether a draft is of all of a list, as far as its length and its end tell."""
    given = draft.branch.given
    return len(history) == draft.branch.length and (not given or history[-1] is given[-1])


def _unchanged(draft: Draft, history: Sequence[Message]) -> Compaction:
    """Return the compaction of a history for which none is due."""
    draft = draft.of_list(history) if isinstance(history, list) else draft
    return Compaction(
        messages=draft.branch.history,
        tokens_before=draft.tokens,
        tokens_after=draft.tokens,
        fits=draft.fits,
        overhead_tokens=draft.overhead_tokens,
    )
