"""When the history of one conversation is compacted, by which budget, from async and sync code.

Also the JSON form of what a View remembers, so that another process can go on with a conversation.
"""

import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import attrs

from agentic._base._clock import now
from agentic._base._lazy import asyncio, futures
from agentic._base._waiting import LoopLock, is_loop_running, off_loop
from agentic.context.budget import Budget, Compaction, Manager, Policy
from agentic.context.budget._compaction import (
    AdaptableBudget,
    Backoff,
    BackoffBudget,
    CompactionTarget,
)
from agentic.context.view._draft import Draft
from agentic.context.view._lineage import Branch, Generation
from agentic.context.view._request import RequestBuilder
from agentic.context.view._window import Note
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.messages._provider_compaction import NativeCompaction
from agentic.protocols import (
    CompactionContext,
    Decision,
    Input,
    LastRequest,
    NativeSummarizer,
    RequestCodec,
)

_T = TypeVar("_T")
_VERSION = 1
"""The version of a View's state."""

_GROWN = 1.25
"""After a summary was undone, the history must grow to this multiple of its length before the
`max_messages` and `max_tokens` triggers apply again."""
_DIGEST_TOKENS = 2_500
"""The size of a digest that is made instead of a summary, if there is no window."""
_DIGEST_SHARE, _HEADING_TOKENS = 0.7, 64
"""The part of a summary's share that a digest may take, and the least that is left of the share:
the heading and the mark of a summary take 46 to 53 tokens."""
_AHEAD = 0.85
"""`prepare_ahead` summarizes once this share of a limit is reached. A single turn seldom adds the
rest, and a summary made much earlier would leave much of the window unused."""


@attrs.frozen(kw_only=True)
class Check:
    """How close a history is to its next compaction. Sizes are in tokens."""

    tokens: int
    """The size of the next request."""
    overhead_tokens: int
    """The part of it that is not messages: system prompt and tools."""
    due: str | None
    """The trigger that would compact first: window, tokens or messages; None if none would."""


@attrs.define(eq=False)
class CompactionScheduler:
    """Compacts the history of one conversation when a trigger fires."""

    sender: object
    """The sender of a compaction's events if the owner has none."""
    budget: Budget
    builder: RequestBuilder
    automatic: bool
    """Whether the policy's triggers cause compactions. If not, only explicit calls do."""
    recall: str | None
    backoff: Backoff | None = attrs.field(default=None, init=False)
    """The back-off of an earlier process, until its history is seen."""
    held_off_below: int = attrs.field(default=0, init=False)
    """With fewer messages than this, `max_messages` and `max_tokens` do not trigger."""
    _stored: tuple[ContextSummary | None, list[Message]] = attrs.field(
        factory=lambda: (None, []), init=False
    )
    """The latest summary that an owner stored, and the messages beside it that it tells of."""
    ask: Callable[[Input], Awaitable[Decision]] | None = attrs.field(default=None, init=False)
    """Asks the model of the conversation."""
    native: NativeSummarizer | None = attrs.field(default=None, init=False)
    execute: Callable[[ToolCall], Awaitable[ToolResult]] | None = attrs.field(
        default=None, init=False
    )
    codec: RequestCodec | None = attrs.field(default=None, init=False)
    _sent: tuple[str, datetime] | None = attrs.field(default=None, init=False)
    """The model of the latest request, and when it was made."""
    _early: Budget | None = attrs.field(default=None, init=False)
    """The budget with lower limits, for `prepare_ahead`."""

    def due(
        self,
        draft: Draft,
        budget: Budget | None = None,
        *,
        tokens: int | None = None,
        upcoming: Sequence[Message] = (),
    ) -> str | None:
        """Return the trigger that causes a compaction before this draft is sent, or None.

        `tokens` is the size including the `upcoming` messages, which are not yet in the history.
        """
        if not self.automatic or (draft.is_within and budget is None and tokens is None):
            return None
        # The budget keeps a back-off for a history, and none was seen before this draft.
        if self.backoff is not None and draft.branch.history:
            if isinstance(self.budget, BackoffBudget):
                self.budget.hold_off(draft.branch.history, self.backoff)
            self.backoff = None
        history = [*draft.branch.history, *upcoming] if upcoming else draft.branch.history
        size = self._size(draft) if tokens is None else tokens
        # What does not fit into the window is summarized all the same.
        if self.builder.maker.policy.fits(size) and len(history) < self.held_off_below:
            return None
        return (budget or self.budget).due(history, size=size)

    def _size(self, draft: Draft) -> int:
        """Return the tokens by which the triggers judge a draft."""
        if draft.drops_to_be_sent:
            # Too many bytes: a summary takes the place of what was left out, as for the window.
            return max(draft.tokens, self.builder.maker.policy.trigger_tokens + 1)
        return draft.tokens

    def note_sent(self, model: str) -> None:
        """Record that a request for a model is sent now."""
        self._sent = model, now()

    def _note_native(self, summary: ContextSummary, context: CompactionContext) -> None:
        """Record which reasoning stays valid behind what a provider made."""
        last, native = context.last_request, NativeCompaction.of_summary(summary)
        if last is None or native is None or not context.covered:
            return
        length = context.covered[-1]
        if length == len(last.messages) or not _changes_role(
            last.messages[length - 1 : length + 1]
        ):
            return
        with self.builder.lock:
            self.builder.reasoning.stand_in(
                native.reply, last.messages[:length], last.system_prompt, last.tools
            )

    def _context(self, draft: Draft) -> CompactionContext:
        """Return what a compactor can know of the conversation."""
        model = self.builder.reasoning.model
        with self.builder.lock:
            messages = self.builder.continued(draft)
        last = None
        if messages is not None:
            # Of another process only the replies in the history tell.
            sent_to, at = self._sent or (model, _latest_reply_time(messages))
            prefix = self.builder.prefix or draft.beside
            last = LastRequest(
                messages=tuple(messages),
                system_prompt=prefix.system_prompt,
                tools=prefix.tools,
                model=sent_to,
                tokens=self.builder.maker.measure(messages, draft.overhead_tokens),
                age_seconds=None if at is None else (now() - at).total_seconds(),
            )
        return CompactionContext(
            last_request=last,
            model=model,
            ask=self.ask,
            native=self.native,
            execute=self.execute,
            codec=self.codec,
        )

    def hold_off(self, history: Sequence[Message]) -> None:
        """Suspend all triggers but the window until a history has grown by a quarter."""
        self.held_off_below = int(_GROWN * len(history)) + 1

    async def compact(
        self,
        draft: Draft,
        target: CompactionTarget | None,
        *,
        budget: Budget | None = None,
        force: bool = False,
        instructions: str | None = None,
        allow_growth: bool = False,
    ) -> Compaction:
        """Compact a draft's history: see `View.compact`."""
        lineage = self.builder.lineage
        # A copy, because the owner may append while the summary is made.
        with self.builder.lock:
            branch = lineage.follow(list(draft.branch.given))

        beside = branch.beside
        summary, beside_summary = self._stored
        if any(each.summary and each.summary == summary for each in branch.history):
            beside += beside_summary
        earlier = {id(each) for each in beside}
        clearings: list[Message] = []

        def select(old: list[Message], rest: list[Message]) -> list[Message]:
            with self.builder.lock:
                clearings[:] = self.builder.maker.find_cleared(rest)
            return [each for each in (*old, *clearings) if id(each) not in earlier]

        async def remember(_: list[Message], messages: list[Message]) -> list[Message]:
            beside.extend(clearings)
            generation = await off_loop(branch.length, branch.describe, messages, beside)
            with self.builder.lock:
                lineage.add(generation)
            return messages

        target_of_owner = target or CompactionTarget(self.sender, "", remember)
        context = self._context(draft)
        compaction = await (budget or self.budget).compact_if_needed(
            branch.history,
            size=self._size(draft),
            overhead_tokens=draft.overhead_tokens,
            force=force,
            instructions=instructions,
            allow_growth=allow_growth,
            target=attrs.evolve(target_of_owner, select=select),
            context=context,
        )
        if compaction.changed and compaction.summary is not None:
            self._note_native(compaction.summary, context)
        if compaction.changed and target is None and lineage.latest is not None:
            lineage.latest.reason = compaction.reason or ""
        if compaction.changed:
            if target is not None:
                ids = {id(each) for each in compaction.messages}
                visible = [each for each in (*beside, *clearings) if id(each) in ids]
                self._stored = compaction.summary, visible
            # The number was for the longer history; this one might never reach it.
            self.held_off_below = 0
        return compaction

    def compact_sync(self, draft: Draft) -> tuple[Compaction, tuple[Note, ...]]:
        """Compact for sync code; a note says so if only a digest could be made."""
        if not is_loop_running():
            return run(self.compact(draft, None)), ()
        budget, notes = self.waiting_for_nothing()
        return run_elsewhere(self.compact(draft, None, budget=budget)), notes

    def use_budget(self, budget: Budget) -> None:
        """Compact by another budget from now on."""
        self.budget, self._early = budget, None

    def early(self) -> Budget | None:
        """Return a budget with lower limits, or None if the limits cannot be lowered."""
        if self._early is None and isinstance(self.budget, AdaptableBudget):
            # Made once, because it remembers what failed: a new one would try every time.
            policy = _with_lower_limits(self.budget.policy)
            self._early = None if policy is None else self.budget.with_policy(policy)
        return self._early

    def waiting_for_nothing(self) -> tuple[Budget, tuple[Note, ...]]:
        """Return a budget that never waits, and a note if it is not the configured one."""
        from agentic.context.compactors import Digest  # noqa: PLC0415  rarely needed

        window = self.builder.maker.window
        most = _DIGEST_TOKENS if window is None else window.summary_tokens(0)
        most = max(50, min(int(_DIGEST_SHARE * most), most - _HEADING_TOKENS))
        digest = Digest(max_tokens=most, recall=self.recall)
        if isinstance(self.budget, AdaptableBudget):
            budget = self.budget.with_digest(digest)
        else:
            budget = Manager(self.budget.counter, digest, self.budget.policy)
        if budget is self.budget:
            return budget, ()
        text = "an event loop is running, so the summary is a digest: use `await prepare`"
        return budget, (Note("summary_by_digest", text),)

    def to_plain(self, latest: Branch | None) -> dict[str, Any]:
        """Return the JSON form; `latest` is the branch that the latest request was made from."""
        state: dict[str, Any] = {"v": _VERSION}
        backoff = self.backoff  # until a history is seen, the one that was read
        if backoff is None and latest is not None and isinstance(self.budget, BackoffBudget):
            backoff = self.budget.backoff(latest.history) if latest.history else None
        if backoff is not None:
            state["backoff"] = attrs.asdict(backoff)
        if self.held_off_below:
            state["held_off_below"] = self.held_off_below
        # The latest one even if it does not hold now: after a rewind, the owner may return to it.
        generation = (latest and latest.generation) or self.builder.lineage.latest
        if generation is not None:
            state["compaction"] = generation.to_plain()
        if self.builder.maker.meter is not None:
            state["size"] = self.builder.maker.meter.to_plain()
        epoch = self.builder.to_plain()
        if epoch is not None:
            state["epoch"] = epoch
        return state

    def read_plain(self, state: Any) -> None:
        """Restore what `to_plain` returned.

        Raises:
            ConfigError: the state is of another version, or `to_plain` did not return it.
        """
        if not isinstance(state, Mapping) or state.get("v") != _VERSION:
            raise ConfigError(
                "state",
                state,
                f"what state() returned, of version {_VERSION}",
                "leave it out",
                message=_newer(state),
            )
        meter = self.builder.maker.meter
        try:
            if "compaction" in state:
                self.builder.lineage.add(Generation.from_plain(state["compaction"]))
            if meter is not None and "size" in state:
                meter.read_plain(state["size"])
            if "backoff" in state:
                backoff = state["backoff"]
                self.backoff = Backoff(int(backoff["tokens"]), float(backoff["growth"]))
            self.held_off_below = int(state.get("held_off_below", 0))
            if "epoch" in state:
                self.builder.read_plain(state["epoch"])
        # OverflowError: Python's json reads `Infinity`, which is no int.
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise ConfigError(
                "state", dict(state), "what state() returned", "leave it out: it is damaged"
            ) from problem


@attrs.define(eq=False)
class TaskLock(LoopLock):
    """A lock that refuses the task that holds it, which would wait for itself for ever."""

    _holder: object = attrs.field(default=None, init=False)
    """The task that holds it."""

    async def __aenter__(self) -> None:
        if self.locked() and self._holder is asyncio.current_task():
            raise ConfigError(
                "receiver",
                "a receiver that waits for a View",
                "a receiver that does not wait for the View",
                message="a receiver cannot await the View that is waiting for it; start a task",
            )
        await super().__aenter__()
        # Without a loop, as where a coroutine is driven by hand, there is no task.
        self._holder = asyncio.current_task() if is_loop_running() else None

    async def __aexit__(self, *_: object) -> None:
        self._holder = None
        await super().__aexit__()


def _changes_role(pair: Sequence[Message]) -> bool:
    """Return whether the second message has another role than the first one on every wire."""
    # Anthropic keeps reasoning behind its compaction only then:
    # https://platform.claude.com/docs/en/build-with-claude/compaction-keep-recent-turns (2026-11).
    return (pair[0].role == "assistant") != (pair[1].role == "assistant")


def _latest_reply_time(messages: Sequence[Message]) -> datetime | None:
    latest = next((each.timestamp for each in reversed(messages) if each.role == "assistant"), None)
    # A framework's messages may have times without a zone.
    return latest and (latest if latest.tzinfo else latest.replace(tzinfo=UTC))


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in a new event loop."""
    result: list[_T] = []

    async def keep() -> None:
        # Not returned: asyncio.run formats the repr of its task's result, however large, when it
        # restores the signal handler (CPython 3.11, signal._int_to_enum).
        result.append(await work)

    asyncio.run(keep())
    return result[0]


def run_elsewhere(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in a new thread, because an event loop is running in this one.

    The thread sees the caller's context variables: a trace continues in it.
    """
    context = contextvars.copy_context()
    with futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, run, work).result()


def _newer(state: Any) -> str:
    """Return the sentence that refuses a newer state; empty for anything else."""
    version = state.get("v") if isinstance(state, Mapping) else None
    if not isinstance(version, int) or version <= _VERSION:
        return ""
    return (
        f"state: version {version}, written by a newer agentic; this one reads version "
        f"{_VERSION}: upgrade, or leave it out to begin anew"
    )


def _with_lower_limits(policy: Policy) -> Policy | None:
    early: dict[str, Any] = {
        name: int(_AHEAD * limit)
        for name in ("max_tokens", "max_messages")
        if (limit := getattr(policy, name)) is not None
    }
    if policy.context_window:
        early["reserve_tokens"] = policy.context_window - int(_AHEAD * policy.available_tokens)
    try:
        return attrs.evolve(policy, **early)
    except ConfigError:
        # The policy's numbers leave no room for lower limits.
        return None
