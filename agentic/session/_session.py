"""One agent's conversation, from the first process that holds it to the last.

The archive keeps everything; a compaction changes what stands for it. What is sent is a view.
"""

import contextlib
import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import attrs

from agentic._tool_definition import ToolDefinition
from agentic._validate import must_be, must_be_async
from agentic.context.budget import Compaction, CompactionTarget, Compactor, Policy
from agentic.context.strategies import Chain
from agentic.context.view import Note, Prepared, View, as_chain, begins_with
from agentic.errors import ConfigError
from agentic.history import Archive, Diff
from agentic.loop import Decider, Executor, Runner
from agentic.messages import Message, find_summary, prefix_length
from agentic.session._archive import Ledger
from agentic.session._recall import RecallTool
from agentic.session._status import EXCHANGE, Status, make_status
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
    """Best an OutputStore, too: then the whole of every output that is cut stays within reach."""
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
    recall: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    """Whether the model is given `recall_tool()`: what is cut says then how to read it."""
    _ledger: Ledger = attrs.field(init=False, repr=False)
    _view: View = attrs.field(init=False, repr=False)
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
        self._view = View(
            self.policy,
            counter=self.counter,
            compactor=self.compactor,
            strategies=self.strategies,
            recall=RecallTool.name if self.recall else None,
            automatic=self.auto_summarize,
        )

    async def append(self, message: Message) -> None:
        """Keep a message, after all others; once this returns, it is not lost.

        Raises:
            HistoryConflict: another process is writing this session.
            HistoryError: the message is not stored.
        """
        await self._ledger.append(message)

    async def build_messages_for_llm(self, system_prompt: str | None = None) -> list[Message]:
        """Return what to send: `prepare`, with its notes in the log only."""
        prepared = await self.prepare(system_prompt)
        return prepared.messages

    async def prepare(self, system_prompt: str | None = None) -> Prepared:
        """Return what to send, after a summary if one is due, and say what became of it.

        The system prompt, then the summary, shortened if it is over 30 % of what is available, then
        the newest rounds that fit the window less the reserve. At least the policy's
        `min_recent_messages` are among them; where they do not fit, their tool outputs are
        truncated until they do. Beside them stay the latest user message, the request that the work
        began with if there is room for it, and what is pinned.
        """
        if system_prompt is not None:
            self.system_prompt = system_prompt
        history = await self._ledger.history()
        prepared = await self._view.prepare(history, target=self._target(), **await self._beside())
        prompt = self.system_prompt
        if prompt and not begins_with(prepared.messages, prompt):
            messages = [Message("system", prompt), *prepared.messages]
            prepared = attrs.evolve(prepared, messages=messages)
        notes = (*self._ignored(), *prepared.notes)
        for note in notes:
            if note.kind != "summary_ignored":  # which is told when it is found
                _log.warning("session %s: %s", self.session_id, note.text)
        return attrs.evolve(prepared, notes=notes)

    async def status(self) -> Status:
        """Return how near the next summary is. Counts only what was never counted before."""
        history = await self._ledger.history()
        found = self._view.check(history, upcoming=EXCHANGE, **await self._beside())
        return make_status(
            self.policy,
            summary=find_summary(history),
            messages=len(history) - prefix_length(history),
            tokens=found.tokens,
            automatic=self.auto_summarize,
            will_trigger=found.due is not None,
            ignored=self._ledger.ignored,
        )

    async def greeting(self) -> str:
        """Return what is resumed; nothing for a new session. Reads the whole archive."""
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
        return await self._compact(force=True, instructions=focus, allow_growth=allow_growth)

    async def compact_if_due(self) -> Compaction:
        """Summarize if a trigger asks for it, as the next request would.

        At the end of an exchange this keeps what `Status.will_trigger` promised before it, and the
        next request waits for no summary. One that fails changes nothing, and the error is in the
        Compaction; with none due `reason` is None.
        """
        return await self._compact(force=False)

    async def undo(self) -> Diff:
        """Take the latest summary back, and return what it had dropped; again for the one before.

        N and K then wait until the history has grown by a quarter, or the next request would
        summarize again. The window does not wait.

        Raises:
            NothingToRestore: there is none left.
        """
        diff = await self._ledger.diff()
        await self._ledger.restore()
        self._view.hold_off(await self._ledger.history())
        return diff

    def runner(self, decider: Decider, executor: Executor | None = None, **options: Any) -> Runner:
        """Make a Runner of this session: its store, its budget, its strategies.

        `options` are the Runner's others. Give the executor `recall_tool()`: placeholders
        and digests then name it. Without executor or `system_prompt` they are those of the session;
        what is given here is what the session measures from now on.
        """
        for name in _OURS:
            if name in options:
                remedy = "leave it out, or create a loop.Runner yourself"
                message = f"{name} is provided by the session itself; {remedy}"
                raise ConfigError(name, options[name], "left out", remedy, message)
        self.system_prompt = options.pop("system_prompt", self.system_prompt)
        self.executor = self.executor if executor is None else executor
        return Runner(
            decider,
            self.executor,
            system_prompt=self.system_prompt,
            store=self._ledger,
            budget=_Shared(self._view),
            **options,
        )

    def recall_tool(self) -> RecallTool:
        """Return the tool by which the model finds again what is out of its sight.

        Make the session with `recall=True`, so that what is cut says how to read it.
        """
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

    async def _compact(self, **options: Any) -> Compaction:
        history = await self._ledger.history()
        beside = await self._beside()
        return await self._view.compact(history, target=self._target(), **beside, **options)

    def _target(self) -> CompactionTarget:
        return CompactionTarget(self, "", self._ledger.compact)

    async def _beside(self) -> dict[str, Any]:
        """Return what is sent besides the messages."""
        return {"system_prompt": self.system_prompt, "tools": await self._list_tools()}

    async def _list_tools(self) -> Sequence[ToolDefinition]:
        """Return the tools; none if they cannot be listed, which the log says."""
        if self.executor is None:
            return ()
        try:
            return tuple(await self.executor.list_tools())
        except Exception as error:  # noqa: BLE001  an executor is anybody's code, a request none of it
            _log.warning("the tools are not counted: %s: %s", type(error).__name__, error)
            return ()

    async def _load_seen(self) -> list[Message]:
        """Return what the model sees for sure, whatever is cut for the window."""
        return self._view.certain(await self._ledger.history(), **await self._beside())

    def _ignored(self) -> list[Note]:
        if self._ledger.ignored is None:
            return []
        upto = self._ledger.ignored.last_message_idx + 1
        text = f"a summary of messages up to number {upto} is ignored: there are fewer"
        return [Note("summary_ignored", text)]


@attrs.frozen(eq=False)
class _Shared:
    """Gives a Runner the View of the session: what either measures, both know."""

    view: View

    def make_view(self, *, strategies: Any = ()) -> View:
        return self.view
