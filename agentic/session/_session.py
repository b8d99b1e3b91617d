"""One agent's conversation, across all processes that hold it.

The archive keeps every message. A compaction changes only the history, which is what a view of the
conversation is made from.
"""

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import attrs

from agentic import loop
from agentic._base._lazy import logging
from agentic._base._validate import must_be, must_be_async, must_execute
from agentic.context.budget import Compaction, Compactor, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.budget._policy import check_policies, policy_for
from agentic.context.strategies import Chain
from agentic.context.strategies._strategy import as_chain
from agentic.context.view import Prepared, View
from agentic.context.view._draft import begins_with
from agentic.context.view._window import Note
from agentic.errors import ConfigError
from agentic.history import DiffArchive
from agentic.history._replace import Diff
from agentic.loop._ahead import KeptSummary
from agentic.messages import ContextSummary, Message
from agentic.messages._landmarks import find_summary, prefix_length
from agentic.protocols import Executor, ToolDefinition
from agentic.session._archive import SessionArchive
from agentic.tokens import Counter

if TYPE_CHECKING:
    from agentic.session._compaction_tool import CompactionTool
    from agentic.session._recall import RecallTool


_OURS = ("budget", "store", "strategies")
_CELLS = 20
_PERCENT_A_CELL = 5
_EXCHANGE = (Message("user"), Message("assistant"))
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
    """The size that triggers a summary: `Policy.max_tokens`, or that of the window trigger
    (`Policy.trigger_tokens`) if that is less. None if neither is set."""
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


@attrs.define(eq=False)
class Session:
    """A store with a budget: decides what to send, when to summarize, and can undo a summary.

    Every message stays in the store. A summary that fails, or that cannot be right, does not
    interrupt the conversation: it is reported in `Prepared.notes`, in the log and as an event.

    >>> import asyncio
    >>> from agentic.context import budget, compactors
    >>> from agentic.history import MemoryStore
    >>> from agentic.tokens import EstimateCounter
    >>> async def talk() -> str:
    ...     policy = budget.Policy(8_000, max_messages=30)
    ...     session = Session("abc123", MemoryStore(), counter=EstimateCounter(), policy=policy,
    ...                       compactor=compactors.Digest())
    ...     async with session:
    ...         await session.append(Message("user", "Why is the build red?"))
    ...         sent = await session.build_messages_for_llm("Be brief.")
    ...         assert [message.role for message in sent] == ["system", "user"]
    ...         return await session.greeting()
    >>> print(asyncio.run(talk()))
    Resuming session abc123
    1 message in history

    Raises:
        ConfigError: a part lacks a method that is needed.
    """

    session_id: str = attrs.field(validator=must_be(str))
    """The name that people and `greeting` use; the store is identified independently of it."""
    store: DiffArchive = attrs.field()
    """Preferably also an OutputStore: then the whole of every output that is cut stays readable."""
    counter: Counter = attrs.field(kw_only=True)
    policy: Policy = attrs.field(kw_only=True, converter=policy_for, validator=must_be(Policy))
    """Also a window in tokens or the name of a model: then it is `Policy.for_window`."""
    compactor: Compactor = attrs.field(kw_only=True)
    """Writes the summaries. By default they are asked of the model of the session's Runner, at the
    price of a read from its cache where that is possible; without a Runner they are digests."""
    auto_summarize: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether the policy's triggers summarize. If not, only `summarize` does. What exceeds the
    window is then left out of the view, and the history is unchanged."""
    strategies: Chain = attrs.field(default=Chain(()), kw_only=True, converter=as_chain)
    """Applied to the history, in this order, when an epoch begins: objects with `compact`, or
    callables."""
    system_prompt: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The default system prompt of requests and Runners. The one that was sent last is included in
    the size."""
    executor: Executor | None = attrs.field(default=None, kw_only=True)
    """The default executor of Runners. Its schemas are included in the size."""
    model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The model that requests are for, if `prepare` is used without a Runner, whose decider says
    it. Whether reasoning has to be left out after a compaction depends on it."""
    policies: Mapping[str, Policy] = attrs.field(
        factory=dict, kw_only=True, validator=check_policies
    )
    """The policies of models, by patterns of their names: see `View.policies`."""
    recall: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether the model has `recall_tool()`: what is cut then says how to read it."""
    _archive: SessionArchive = attrs.field(init=False, repr=False)
    _view: View = attrs.field(init=False, repr=False)
    _kept: KeptSummary = attrs.field(factory=KeptSummary, init=False, repr=False)
    _entered: contextlib.AsyncExitStack = attrs.field(
        factory=contextlib.AsyncExitStack, init=False, repr=False
    )

    @compactor.default
    def _make_compactor(self) -> Compactor:
        # Imported here, because most sessions are given one.
        from agentic.context.compactors import Continuation  # noqa: PLC0415

        # Validators run after defaults, so the counter may still be anything.
        return Continuation(counter=self.counter)

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        for method in ("append", "load", "replace", "full", "restore", "diff"):
            remedy = "pass history.MemoryStore(), or another DiffArchive"
            must_be_async("store", value, method, f"async {method}()", remedy)

    @_archive.default
    def _make_archive(self) -> SessionArchive:
        return SessionArchive(self.store)

    def __attrs_post_init__(self) -> None:
        signature = "async compact(messages)"
        must_be_async("compactor", self.compactor, "compact", signature, "pass a Digest()")
        if self.executor is not None:
            must_execute("executor", self.executor)
        self._view = View(
            self.policy,
            policies=self.policies,
            counter=self.counter,
            compactor=self.compactor,
            strategies=self.strategies,
            recall=self._recall_name(),
            automatic=self.auto_summarize,
            model=self.model,
        )

    def _recall_name(self) -> str | None:
        if not self.recall:
            return None
        # Imported here and below, because few sessions search.
        from agentic.session._recall import RECALL  # noqa: PLC0415

        return RECALL

    async def append(self, message: Message) -> None:
        """Store a message after all others; once this returns, the message is not lost.

        Raises:
            HistoryConflict: another process is writing this session.
            HistoryError: the message could not be stored.
        """
        await self._archive.append(message)

    async def build_messages_for_llm(self, system_prompt: str | None = None) -> list[Message]:
        """Return the messages that `prepare` returns; its notes go only to the log."""
        request = await self.prepare(system_prompt)
        return request.messages

    async def prepare(self, system_prompt: str | None = None) -> Prepared:
        """Return what to send, after making a summary if one is due, with notes on what happened.

        It contains the system prompt; the summary, shortened if it exceeds 30 % of the available
        tokens; then the newest rounds that fit the window less the reserve. These include at least
        the policy's `min_recent_messages`: if they do not fit, their tool outputs are truncated
        until they do. The latest user message, the request that the work began with (if there is
        room for it), and pinned messages are also included.
        """
        if system_prompt is not None:
            self.system_prompt = system_prompt
        history = await self._archive.history()
        request = await self._view.prepare(history, target=self._target(), **await self._beside())
        prompt = self.system_prompt
        # The View only measures the prompt. Here it is one of the messages.
        if prompt and not begins_with(request.messages, prompt):
            messages = [Message("system", prompt), *request.messages]
            request = attrs.evolve(request, messages=messages)
        notes = (*self._ignored(), *request.notes)
        for note in notes:
            if note.kind != "summary_ignored":  # reported when it was found
                logging.getLogger(__name__).warning("session %s: %s", self.session_id, note.text)
        return attrs.evolve(request, notes=notes)

    async def status(self) -> Status:
        """Return how near the next summary is. Only new messages are counted."""
        history = await self._archive.history()
        check = self._view.check(history, upcoming=_EXCHANGE, **await self._beside())
        # That of the model, which may have been switched.
        summary, policy = find_summary(history), self._view.policy
        tail = summary.messages_kept if summary else 0
        return Status(
            summary=summary,
            # What the summary kept was there before it, and triggers nothing. Some of it may have
            # been taken back since.
            messages=max(0, len(history) - prefix_length(history) - tail),
            max_messages=policy.max_messages,
            tokens=check.tokens,
            max_tokens=_lowest_limit(policy),
            will_trigger=check.due is not None,
            ignored_summary=self._archive.ignored,
            auto_summarize=self.auto_summarize,
        )

    async def greeting(self) -> str:
        """Describe what is resumed, reading the whole archive; empty for a new session."""
        full = await self._archive.full()
        if not full:
            return ""
        # Through the archive, so that a summary that is ignored is not announced.
        summary = find_summary(await self._archive.load())
        note = f" ({summary.messages_summarized:,} summarized)" if summary else ""
        size = f"{len(full):,} message{'' if len(full) == 1 else 's'} in history"
        return f"Resuming session {self.session_id}\n{size}{note}"

    async def summarize(
        self, focus: str | None = None, *, allow_growth: bool = False
    ) -> Compaction:
        """Summarize now: everything but the policy's `min_recent_messages` newest, in whole rounds.

        `focus` tells a compactor that supports it what to concentrate on. If the compactor fails,
        nothing changes and the error is in the Compaction. The same holds if the summary is larger
        than what it replaces, unless `allow_growth` is true.
        """
        return await self._compact(force=True, instructions=focus, allow_growth=allow_growth)

    async def compact_if_due(self) -> Compaction:
        """Summarize if a trigger fires, as the next request would.

        If it is called at the end of an exchange, the prediction of `Status.will_trigger` comes
        true, and the next request need not wait for a summary. If the compactor fails, nothing
        changes and the error is in the Compaction. If no summary is due, `reason` is None.
        """
        return await self._compact(force=False)

    async def undo(self) -> Diff:
        """Undo the latest summary, and return what it had removed; again, undo the one before.

        An exchange that `undo_exchange` took back counts as a summary here: it returns.

        Afterwards the `max_messages` and `max_tokens` triggers are suspended until the history has
        grown by a quarter; otherwise the next request would summarize again. The window trigger
        stays active.

        Raises:
            NothingToRestore: there is no summary left to undo.
        """
        diff = await self._archive.diff()
        await self._archive.restore()
        # Whoever takes a summary back wants to see the messages, not the next summary of them.
        self._view.hold_off(await self._archive.history())
        return diff

    async def undo_exchange(self) -> Diff:
        """Take back the latest user message with everything after it, and return what that was.

        The archive keeps it, and `undo` brings it back. If the history has no user message, because
        there is none or a summary replaced it, nothing changes and the Diff is empty.
        """
        history = await self._archive.history()
        places = [at for at, message in enumerate(history) if message.role == "user"]
        if not places:
            return Diff((), ())
        # A copy: the archive's list grows with what is appended meanwhile.
        copy = history.copy()
        await self._archive.compact(copy, copy[: places[-1]])
        return Diff(tuple(copy[places[-1] :]), ())

    def runner(
        self, decider: loop.Decider, executor: Executor | None = None, **options: Any
    ) -> "loop.Runner":
        """Return a Runner with the store, the budget and the strategies of this session.

        `options` are the Runner's other options. Include `recall_tool()` in the executor:
        placeholders and digests then mention it. `executor` and `system_prompt` default to those of
        the session. Those that are passed here are included in the session's size from now on.
        """
        for name in _OURS:
            if name in options:
                remedy = "leave it out, or create a loop.Runner yourself"
                message = f"{name} is provided by the session itself; {remedy}"
                raise ConfigError(name, options[name], "left out", remedy, message)
        # Kept, because it is part of every request that is measured from now on.
        self.system_prompt = options.pop("system_prompt", self.system_prompt)
        options.setdefault("conversation_id", self.session_id)
        self.executor = self.executor if executor is None else executor
        return loop.Runner(
            decider,
            self.executor,
            system_prompt=self.system_prompt,
            # Not `self.store`: a Runner must not see a summary that is ignored either.
            store=self._archive,
            budget=_Shared(self._view, self._kept),
            **options,
        )

    def recall_tool(self) -> "RecallTool":
        """Return the tool with which the model searches and reads what it no longer sees.

        Create the session with `recall=True`, so that what is cut says how to read it.
        """
        from agentic.session._recall import RecallTool  # noqa: PLC0415

        return RecallTool(self._archive, self._load_seen)

    def compaction_tool(self, *, most: int = 3) -> "CompactionTool":
        """Return the tool with which the model has the older part of the session summarized.

        It says why, and what to keep. The summary is made before the next request. Between two of
        the user's requests it may ask `most` times.
        """
        from agentic.session._compaction_tool import CompactionTool  # noqa: PLC0415  as above

        return CompactionTool(self._view.compact_next, most=most)

    async def __aenter__(self) -> Self:
        store: Any = self.store
        # An Archive need not be a context manager.
        if hasattr(store, "__aenter__"):
            await self._entered.enter_async_context(store)
        self._kept.begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._kept.end()
        finally:
            await self._entered.__aexit__(kind, error, trace)

    async def _compact(self, *, force: bool, **options: Any) -> Compaction:
        history, beside = await self._archive.history(), await self._beside()
        options["force"] = force
        if force or self._view.check(history, **beside).due is not None:
            # What the latest run has begun may be all that is needed, and changes the history.
            await self._kept.settle()
            history = await self._archive.history()
        return await self._view.compact(history, target=self._target(), **beside, **options)

    def _target(self) -> CompactionTarget:
        # There is no run: the session itself sends the events.
        return CompactionTarget(self, "", self._archive.compact)

    async def _beside(self) -> dict[str, Any]:
        """Return what is sent besides the messages."""
        return {"system_prompt": self.system_prompt, "tools": await self._list_tools()}

    async def _list_tools(self) -> Sequence[ToolDefinition]:
        """Return the tools, or none if they cannot be listed, which is logged."""
        if self.executor is None:
            return ()
        try:
            return tuple(await self.executor.list_tools())
        except Exception as error:  # noqa: BLE001  a failing executor must not fail the request
            logging.getLogger(__name__).warning(
                "the tools are not counted: %s: %s", type(error).__name__, error
            )
            return ()

    async def _load_seen(self) -> list[Message]:
        """Return the messages that the model is certain to see, however the window is cut."""
        return self._view.certain(await self._archive.history(), **await self._beside())

    def _ignored(self) -> list[Note]:
        if self._archive.ignored is None:
            return []
        upto = self._archive.ignored.last_message_idx + 1
        text = f"a summary of messages up to number {upto} is ignored: there are fewer"
        return [Note("summary_ignored", text)]


@attrs.frozen(eq=False)
class _Shared:
    """Passes the session's View to a Runner, so that both share what they measured."""

    view: View
    kept: KeptSummary
    """Keeps what a run has begun to summarize until the next one, or the end of the session."""

    def make_view(self, *, strategies: Any = ()) -> View:
        return self.view


def _lowest_limit(policy: Policy) -> int | None:
    """Return the limit on tokens that a growing context reaches first."""
    window = policy.trigger_tokens if policy.context_window else None
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
    cells = min(_CELLS, int(percent / _PERCENT_A_CELL))
    share = "no limit" if limit is None else f"{limit:,} ({percent:.0f}%)"
    bar = "█" * cells + "░" * (_CELLS - cells)
    return [f"  {label}{value:,} / {share}", *([f"           [{bar}]"] if bars else [])]


def _percent(value: int, limit: int | None) -> float:
    return 100 * value / limit if limit else 0.0
