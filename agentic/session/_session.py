"""One agent's conversation, from the first process that holds it to the last.

The archive keeps everything; a compaction changes what stands for it. What is sent is a view.
"""

import contextlib
import logging
from types import TracebackType
from typing import Any, Self

import attrs

from agentic._given import must_be, must_be_async
from agentic.context import compactors
from agentic.context.budget import Compaction, Compactor, Host, Manager, Policy
from agentic.context.strategies import Chain
from agentic.errors import ConfigError, HistoryChanged
from agentic.history import Archive, Diff, replace_known
from agentic.loop import Decider, Executor, Runner
from agentic.messages import Message, close_open_rounds, find_summary, prefix_length
from agentic.session._ledger import Ledger
from agentic.session._meter import Meter
from agentic.session._overhead import Overhead
from agentic.session._patience import Patience, PatientManager
from agentic.session._recall import RecallTool
from agentic.session._request import Note, Prepared, Request, make_prompt
from agentic.session._status import EXCHANGE, EXCHANGE_TOKENS, Status, make_status
from agentic.session._strategies import as_chain, name_recall
from agentic.tokens import Counter

__all__ = ["Session"]

_log = logging.getLogger(__name__)

_OURS = ("budget", "store", "strategies")


@attrs.define(eq=False)
class Session:
    """A store with a budget: what to send, when to summarize, how to take that back.

    Everything ever said stays in the store. A summary that fails, or one that cannot be right,
    fails no conversation: it is reported in `Prepared.notes`, in the log and as an event.

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
        ConfigError: a part that lacks what it is used for.
    """

    session_id: str = attrs.field(validator=must_be(str))
    """What people and `greeting` call it; the store knows by itself where it is kept."""
    store: Archive = attrs.field()
    """Best a Keeper, too: then the whole of every output that is cut stays within reach."""
    counter: Counter = attrs.field(kw_only=True)
    policy: Policy = attrs.field(kw_only=True, validator=must_be(Policy))
    compactor: Compactor = attrs.field(kw_only=True)
    auto_summarize: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether the policy's triggers summarize. If not, only `summarize` does; what would be over
    the window is then left out of the view, and nothing of the history."""
    strategies: Chain = attrs.field(default=Chain(()), kw_only=True, converter=as_chain)
    """What makes the view from the history, in this order: objects with `compact`, or callables."""
    system_prompt: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """Sent before the conversation by requests and Runners that are given no other. What was sent
    last is part of the size."""
    executor: Executor | None = attrs.field(default=None, kw_only=True)
    """Serves the calls of Runners that are given no other. Its schemas are part of the size."""
    _ledger: Ledger = attrs.field(init=False, repr=False)
    _manager: Manager = attrs.field(init=False, repr=False)
    _automatic: Manager = attrs.field(init=False, repr=False)
    """The manager as the triggers see it: without a compactor it only measures."""
    _request: Request = attrs.field(init=False, repr=False)
    _patience: Patience = attrs.field(factory=Patience, init=False, repr=False)
    _overhead: Overhead = attrs.field(init=False, repr=False)
    _overhead_tokens: int = attrs.field(default=0, init=False, repr=False)
    """What was sent beside the messages when it was counted last."""
    _entered: contextlib.AsyncExitStack = attrs.field(
        factory=contextlib.AsyncExitStack, init=False, repr=False
    )

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        for method in ("append", "load", "replace", "full", "restore", "diff"):
            remedy = "pass history.MemoryStore(), or another Archive"
            must_be_async("store", value, method, f"async {method}()", remedy)

    @_ledger.default
    def _make_ledger(self) -> Ledger:
        return Ledger(self.store)

    def __attrs_post_init__(self) -> None:
        signature = "async compact(messages)"
        must_be_async("compactor", self.compactor, "compact", signature, "pass a Digest()")
        if self.executor is not None:
            for method in ("list_tools", "execute"):
                remedy = "pass a tools.Registry"
                must_be_async("executor", self.executor, method, f"async {method}()", remedy)
        self._make_managers()
        self._request = Request(self.policy, Meter(self.counter))
        self._overhead = Overhead(self.counter, self.system_prompt, self.executor)

    def _make_managers(self) -> None:
        self._manager = PatientManager(
            self.counter, self.compactor, self.policy, patience=self._patience
        )
        only_measures = Manager(self.counter, None, self.policy)
        self._automatic = self._manager if self.auto_summarize else only_measures

    async def append(self, message: Message) -> None:
        """Keep a message, after all others; once this returns, it is not lost.

        Raises:
            HistoryConflict: another process is writing this session.
            HistoryError: the message is not stored.
        """
        await self._ledger.append(message)

    async def build_messages_for_llm(self, system_prompt: str | None = None) -> list[Message]:
        """Give what to send: `prepare`, with its notes in the log only."""
        prepared = await self.prepare(system_prompt)
        return prepared.messages

    async def prepare(self, system_prompt: str | None = None) -> Prepared:
        """Give what to send, after a summary if one is due, and say what became of it.

        The system prompt, then the summary, shortened if it is over 30 % of what is available, then
        the newest rounds that fit the window less the reserve. At least the policy's
        `min_recent_messages` are among them; where they do not fit, their tool outputs are
        truncated until they do. Beside them stay the latest user message, the request that the work
        began with if there is room for it, and what is pinned.
        """
        given = self.system_prompt if system_prompt is None else system_prompt
        self._overhead.system_prompt = given
        history = await self._load()
        done = await self._compact(self._automatic, history)
        view = self._view(done.messages)
        gauge = self._request.meter.gauge(done.messages, view)
        prompt = make_prompt(given, history)
        tools_tokens = await self._overhead.count_tools()
        made = self._request.make(prompt, view, gauge, tools_tokens=tools_tokens)
        notes = (*self._notes(done), *made.notes)
        for note in notes:
            if note.kind != "summary_ignored":  # which is told when it is found
                _log.warning("session %s: %s", self.session_id, note.text)
        return attrs.evolve(made, notes=notes, compaction=done if done.reason else None)

    async def status(self) -> Status:
        """Tell how near the next summary is. Counts only what was never counted before."""
        history = await self._load()
        tokens = self._measure(history)
        later = [*history, *EXCHANGE]
        return make_status(
            self.policy,
            summary=find_summary(history),
            messages=len(history) - prefix_length(history),
            tokens=tokens,
            automatic=self.auto_summarize,
            will_trigger=self._automatic.due(later, size=tokens + EXCHANGE_TOKENS) is not None,
            ignored=self._ledger.ignored,
        )

    async def greeting(self) -> str:
        """Tell what is resumed; nothing for a new session. Reads the whole archive."""
        full = await self._ledger.full()
        if not full:
            return ""
        summary = find_summary(await self._ledger.load())
        covered = f" ({summary.messages_summarized:,} summarized)" if summary else ""
        size = f"{len(full):,} message{'' if len(full) == 1 else 's'} in history"
        return f"Resuming session {self.session_id}\n{size}{covered}"

    async def summarize(
        self, focus: str | None = None, *, allow_growth: bool = False
    ) -> Compaction:
        """Summarize now: all but the policy's `min_recent_messages` newest, in whole rounds.

        `focus` says what to look at, for a compactor that can be told. One that fails changes
        nothing, and the error is in the Compaction; so does a summary that is larger than what it
        replaces, unless `allow_growth` takes that too.
        """
        history = await self._load()
        return await self._compact(
            self._manager, history, force=True, instructions=focus, allow_growth=allow_growth
        )

    async def compact_if_due(self) -> Compaction:
        """Summarize if a trigger asks for it, as the next request would.

        At the end of an exchange this keeps what `Status.will_trigger` promised before it, and the
        next request waits for no summary. One that fails changes nothing, and the error is in the
        Compaction; with none due `reason` is None.
        """
        history = await self._load()  # first: it may replace the managers
        return await self._compact(self._automatic, history)

    async def undo(self) -> Diff:
        """Take the latest summary back, and tell what it had dropped; again for the one before.

        In this process N and K then wait until the history has grown by a quarter, or the next
        request would summarize again. The window does not wait.

        Raises:
            NothingToRestore: there is none left.
        """
        diff = await self._ledger.diff()
        await self._ledger.restore()
        self._patience.wait_after(await self._ledger.load())
        return diff

    def runner(self, decider: Decider, executor: Executor | None = None, **options: Any) -> Runner:
        """Make a Runner of this session: its store, its budget, its strategies.

        `options` are the Runner's others. Give the executor `recall_tool()` before: placeholders
        and digests then name it. Without executor or `system_prompt` they are those of the session;
        what is given here is what the session measures from now on.
        """
        for name in _OURS:
            if name in options:
                remedy = "leave it out, or make a loop.Runner yourself"
                raise ConfigError(name, options[name], "nothing: the session brings it", remedy)
        system_prompt = options.pop("system_prompt", self.system_prompt)
        prompt = make_prompt(system_prompt)
        self._overhead.system_prompt = system_prompt
        self._overhead.executor = executor = self.executor if executor is None else executor
        share = self._request.share(sum(map(self._request.meter.tallies.count_message, prompt)))
        return Runner(
            decider,
            executor,
            system_prompt=system_prompt,
            store=self._ledger,
            budget=self._automatic,
            strategies=[*self.strategies.strategies, *([share] if share else [])],
            **options,
        )

    def recall_tool(self) -> RecallTool:
        """Give the tool by which the model finds again what is out of its sight.

        From now on the placeholders of cleared outputs name it, and the cuts in a digest.
        """
        self.strategies = name_recall(self.strategies, RecallTool.name)
        if self._request.recall is None:  # a Manager remembers: it is replaced once
            self._request.recall = RecallTool.name
            self.compactor = compactors.name_recall(self.compactor, RecallTool.name)
            self._make_managers()
        return RecallTool(self._ledger, self._load_seen)

    async def __aenter__(self) -> Self:
        store: Any = self.store
        if hasattr(store, "__aenter__"):
            await self._entered.enter_async_context(store)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._entered.__aexit__(kind, error, trace)

    async def _load(self) -> list[Message]:
        """Give the history, and count what is sent beside it."""
        history = await self._ledger.load()
        self._overhead_tokens = await self._overhead.count(history)
        return history

    async def _compact(
        self, manager: Manager, history: list[Message], **options: Any
    ) -> Compaction:
        known = history.copy()

        async def store(messages: list[Message]) -> None:
            await replace_known(self._ledger, known, messages)

        done = await manager.compact_if_needed(
            history,
            size=self._measure(history),
            overhead_tokens=self._overhead_tokens,
            host=Host(self, "", store),
            **options,
        )
        if done.reason is None:
            return done
        # Others may have appended meanwhile, or have summarized first.
        return attrs.evolve(done, messages=await self._ledger.load())

    def _measure(self, history: list[Message]) -> int:
        view = self._view(history)
        if share := self._request.share(self._overhead_tokens):
            view = share.compact(view)  # as it is sent
        gauge = self._request.meter.gauge(history, view)
        return gauge.measure(view, overhead_tokens=self._overhead_tokens)

    def _view(self, history: list[Message]) -> list[Message]:
        """Give the history through the strategies, as a provider accepts it."""
        return close_open_rounds(self.strategies.compact(history.copy()))

    async def _load_seen(self) -> list[Message]:
        """Give what the model sees for sure, whatever is cut for the window."""
        history = await self._load()
        view = self._view(history)
        gauge = self._request.meter.gauge(history, view)
        return self._request.see(view, gauge, self._overhead_tokens)

    def _notes(self, done: Compaction) -> list[Note]:
        notes = []
        if self._ledger.ignored is not None:
            upto = self._ledger.ignored.last_message_idx + 1
            text = f"a summary of messages up to number {upto} is ignored: there are fewer"
            notes.append(Note("summary_ignored", text))
        if done.error is not None and not isinstance(done.error, HistoryChanged):
            problem = f"{type(done.error).__name__}: {done.error}"
            notes.append(Note("summary_failed", f"nothing was summarized ({problem})"))
        return notes
