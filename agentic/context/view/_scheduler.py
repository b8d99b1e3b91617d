"""When the history of one conversation is compacted, by which Manager, from async and sync code.

Also the JSON form of what a View remembers, so that another process can go on with a conversation.
"""

import contextvars
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from agentic._lazy import asyncio, futures
from agentic._waiting import LoopLock, is_loop_running, off_loop
from agentic.context.budget import Backoff, Compaction, CompactionTarget, Manager
from agentic.context.view._lineage import Branch, Generation
from agentic.context.view._request import Draft, RequestBuilder
from agentic.context.view._window import Note
from agentic.errors import ConfigError
from agentic.messages import Message

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
    manager: Manager
    builder: RequestBuilder
    automatic: bool
    """Whether the policy's triggers cause compactions. If not, only explicit calls do."""
    recall: str | None
    backoff: Backoff | None = attrs.field(default=None, init=False)
    """The back-off of an earlier process, until its history is seen."""
    held_off_below: int = attrs.field(default=0, init=False)
    """With fewer messages than this, `max_messages` and `max_tokens` do not trigger."""
    _early: Manager | None = attrs.field(default=None, init=False)
    """The manager with lower limits, for `prepare_ahead`."""

    def due(
        self,
        draft: Draft,
        manager: Manager | None = None,
        *,
        tokens: int | None = None,
        upcoming: Sequence[Message] = (),
    ) -> str | None:
        """Return the trigger that causes a compaction before this draft is sent, or None.

        `tokens` is the size including the `upcoming` messages, which are not yet in the history.
        """
        if not self.automatic:
            return None
        # The manager keeps a back-off for a history, and none was seen before this draft.
        if self.backoff is not None and draft.branch.history:
            self.manager.hold_off(draft.branch.history, self.backoff)
            self.backoff = None
        history = [*draft.branch.history, *upcoming] if upcoming else draft.branch.history
        size = draft.tokens if tokens is None else tokens
        # What does not fit into the window is summarized all the same.
        if self.builder.policy.fits(size) and len(history) < self.held_off_below:
            return None
        return (manager or self.manager).due(history, size=size)

    def hold_off(self, history: Sequence[Message]) -> None:
        """Suspend all triggers but the window until a history has grown by a quarter."""
        self.held_off_below = int(_GROWN * len(history)) + 1

    async def compact(
        self,
        draft: Draft,
        target: CompactionTarget | None,
        *,
        manager: Manager | None = None,
        force: bool = False,
        instructions: str | None = None,
        allow_growth: bool = False,
    ) -> Compaction:
        """Compact a draft's history: see `View.compact`."""
        lineage = self.builder.lineage
        # A copy, because the owner may append while the summary is made.
        with self.builder.lock:
            branch = lineage.follow(list(draft.branch.given))

        async def remember(_: list[Message], messages: list[Message]) -> list[Message]:
            generation = await off_loop(branch.length, branch.describe, messages)
            with self.builder.lock:
                lineage.add(generation)
            return messages

        done = await (manager or self.manager).compact_if_needed(
            branch.history,
            size=draft.tokens,
            overhead_tokens=draft.overhead_tokens,
            force=force,
            instructions=instructions,
            allow_growth=allow_growth,
            target=target or CompactionTarget(self.sender, "", remember),
        )
        if done.changed and target is None and lineage.latest is not None:
            lineage.latest.reason = done.reason or ""
        if done.changed:
            # The number was for the longer history; this one might never reach it.
            self.held_off_below = 0
        return done

    def compact_sync(self, draft: Draft) -> tuple[Compaction, tuple[Note, ...]]:
        """Compact for sync code; a note says so if only a digest could be made."""
        if not is_loop_running():
            return run(self.compact(draft, None)), ()
        manager, notes = self.waiting_for_nothing()
        return run_elsewhere(self.compact(draft, None, manager=manager)), notes

    def early(self) -> Manager | None:
        """Return a Manager with lower limits, or None if the limits cannot be lowered."""
        if self._early is None and attrs.has(type(self.manager)):
            # Made once, because it remembers what failed: a new one would try every time.
            self._early = _with_lower_limits(self.manager)
        return self._early

    def waiting_for_nothing(self) -> tuple[Manager, tuple[Note, ...]]:
        """Return a Manager that never waits, and a note if it is not the configured one."""
        text = "an event loop is running, so the summary is a digest: use `await prepare`"
        note = Note("summary_by_digest", text)
        # What a ContextConfig uses in place of a Manager has no compactor, and knows its digest.
        if by_digest := getattr(self.manager, "by_digest", None):
            manager: Manager = by_digest()
            return manager, () if manager is self.manager else (note,)
        compactor = self.manager.compactor
        # A compactor with a plain `write` computes and does not wait: it needs no event loop.
        if compactor is None or hasattr(compactor, "write"):
            return self.manager, ()
        from agentic.context.compactors import Digest  # noqa: PLC0415  rarely needed

        window = self.builder.window
        most = _DIGEST_TOKENS if window is None else window.summary_tokens(0)
        most = max(50, min(int(_DIGEST_SHARE * most), most - _HEADING_TOKENS))
        digest = Digest(max_tokens=most, recall=self.recall)
        if not attrs.has(type(self.manager)):  # any object with a Manager's fields and methods
            return Manager(self.manager.counter, digest, self.manager.policy), (note,)
        return attrs.evolve(self.manager, compactor=digest), (note,)

    def to_plain(self, latest: Branch | None) -> dict[str, Any]:
        """Return the JSON form; `latest` is the branch that the latest request was made from."""
        state: dict[str, Any] = {"v": _VERSION}
        backoff = self.backoff  # until a history is seen, the one that was read
        if backoff is None and latest is not None and latest.history:
            backoff = self.manager.backoff(latest.history)
        if backoff is not None:
            state["backoff"] = attrs.asdict(backoff)
        if self.held_off_below:
            state["held_off_below"] = self.held_off_below
        # The latest one even if it does not hold now: after a rewind, the owner may return to it.
        generation = (latest and latest.generation) or self.builder.lineage.latest
        if generation is not None:
            state["compaction"] = generation.to_plain()
        if self.builder.meter is not None:
            state["size"] = self.builder.meter.to_plain()
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
                "state", state, f"what state() returned, of version {_VERSION}", "leave it out"
            )
        meter = self.builder.meter
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
                "a receiver that ends by itself",
                message="a receiver cannot await the View that is waiting for it; start a task",
            )
        await super().__aenter__()
        # Without a loop, as where a coroutine is driven by hand, there is no task.
        self._holder = asyncio.current_task() if is_loop_running() else None

    async def __aexit__(self, *_: object) -> None:
        self._holder = None
        await super().__aexit__()


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in a new event loop."""
    done: list[_T] = []

    async def keep() -> None:
        # Not returned: asyncio.run formats the repr of its task's result, however large, when it
        # restores the signal handler (CPython 3.11, signal._int_to_enum).
        done.append(await work)

    asyncio.run(keep())
    return done[0]


def run_elsewhere(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in a new thread, because an event loop is running in this one.

    The thread sees the caller's context variables: a trace continues in it.
    """
    context = contextvars.copy_context()
    with futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(context.run, run, work).result()


def _with_lower_limits(manager: Manager) -> Manager | None:
    policy = manager.policy
    early: dict[str, Any] = {
        name: int(_AHEAD * limit)
        for name in ("max_tokens", "max_messages")
        if (limit := getattr(policy, name)) is not None
    }
    if policy.context_window:
        early["reserve_tokens"] = policy.context_window - int(_AHEAD * policy.available_tokens)
    try:
        return attrs.evolve(manager, policy=attrs.evolve(policy, **early))
    except ConfigError:
        # The policy's numbers leave no room for lower limits.
        return None
