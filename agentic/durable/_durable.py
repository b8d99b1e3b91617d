"""Wrappers that make each decision, each tool call and each summary one recorded step."""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import attrs

from agentic._base._clock import Stopwatch, use_clock
from agentic._base._lazy import asyncio
from agentic._base._validate import seconds, whole
from agentic.context._for_conversation import ContextualBase, start_compactor
from agentic.durable import _records
from agentic.errors import ConfigError
from agentic.history import OutputStore
from agentic.loop import Decider, Decision, Executor, Input
from agentic.loop._calls import OUT_OF_TIME, check_result, too_long
from agentic.loop._conversation import read_decision, read_stream
from agentic.messages import Message, ToolCall, ToolError, ToolResult, _tool_errors
from agentic.protocols import CompactionContext, Compactor
from agentic.tools import Approval, Approver, RequireApproval, ToolDefinition
from agentic.usage import report
from agentic.usage._usage import collect

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_LIST = "list_tools"


class Steps(Protocol):
    """What an engine provides: `agentic.durable.dbos` is one."""

    async def run(self, name: str, function: Callable[..., Awaitable[Any]], /, *args: Any) -> Any:
        """Return what `await function(*args)` returned: JSON data, which is recorded.

        If the run is replayed, return the record of this step without calling the function. Steps
        are told apart by the order in which they are called, before they wait for anything. The
        function never raises an Exception: failures are outcomes. It may wait for a person, so the
        engine must not limit its time, and for another step that was called before it, so the
        engine must run steps side by side.
        """
        ...


_LOST = ToolError(
    "the process that ran this call ended before its result was recorded. It is not run again. "
    "Whether it took effect is unknown: look before you call again",
    "interrupted",
)

_NOT_RUN = ToolError("the limit of seconds was reached, so this call was not run", "not_run")


@attrs.define(eq=False)
class Durable:
    """Wraps the parts of one run, so that its steps are recorded by an engine.

    Give the wrapped parts to a Runner, and run it inside `clock()` with a `run_id` that is the same
    in every attempt: then a replay has the same ids, the same times and the same history. The
    seconds of `RunLimits` are those in which the run was worked on, up to its latest recorded step,
    in all attempts together.

    Args:
        steps: the engine's steps, for this run.
        started: when the run was submitted, from the engine: it dates what precedes the first step.
        outputs: keeps outputs that are larger than `inline_bytes`, so that the engine's log holds
            a reference only. Any of our stores is one.
        inline_bytes: the most bytes of an output that a record holds.
        tool_timeout_seconds: how long one call may take. It is part of the step, so a replay does
            not depend on how long it takes; give the Runner no timeout of its own. The time of an
            approval does not count, but that of a tool's own `RunningCall.pause` does.
        peek: returns the name and the record of the step that would be called next, if an earlier
            attempt has recorded it, or None. With it, a list of tools is a part of the record that
            follows; without it, it is a step of its own.

    Raises:
        ConfigError: a number is out of range, or `started` has no time zone.
    """

    steps: Steps
    started: datetime = attrs.field()
    outputs: OutputStore | None = attrs.field(default=None, kw_only=True)
    inline_bytes: int = attrs.field(default=16_384, kw_only=True, validator=whole(0))
    tool_timeout_seconds: float | None = attrs.field(default=120.0, kw_only=True, validator=seconds)
    peek: Callable[[], tuple[str, Any] | None] | None = attrs.field(default=None, kw_only=True)
    _listing: dict[str, Any] | None = attrs.field(init=False, default=None)
    """The latest list of tools."""
    _is_new: bool = attrs.field(init=False, default=False)
    """Whether no record has it yet."""
    _now: datetime = attrs.field(init=False)
    _stopwatch: Stopwatch = attrs.field(factory=lambda: Stopwatch(recorded=0.0), init=False)

    @started.validator
    def _check_started(self, _: object, value: object) -> None:
        if not isinstance(value, datetime) or value.tzinfo is None:
            remedy = "pass the time at which the run was submitted, as in datetime.now(UTC)"
            raise ConfigError("started", value, "a datetime with a time zone", remedy)

    @_now.default
    def _start(self) -> datetime:
        return self.started

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Date the messages of a run by its latest recorded step, and measure it by the records."""
        # A function, because each record moves the time on.
        with use_clock(lambda: self._now, self._stopwatch):
            yield

    def decider(self, decider: Decider) -> Decider:
        """Return a decider whose decisions are steps. A replayed decision is not streamed again."""
        kind = _StreamingDecider if callable(getattr(decider, "stream", None)) else _Decider
        return kind(self, decider)

    def executor(self, executor: Executor) -> "_Executor":
        """Return an executor whose calls are steps, and whose list of tools is on record.

        A call runs at least once: if the process dies between the end of a call and its record, the
        call is made again. A call of a tool with `retry="never"` runs at most once: an intent is
        recorded before it, and if its result is lost, the model reads that the outcome is unknown.

        A `RequireApproval` is asked outside the tool's timeout, so wrap it as it is: as
        `durable.executor(RequireApproval(executor, durable.approver(approver)))`.
        """
        if isinstance(executor, RequireApproval):
            return _Executor(self, executor.executor, executor)
        return _Executor(self, executor)

    def approver(self, approver: Approver) -> Approver:
        """Return an approver whose answers are steps: after a restart, nobody is asked again.

        Nobody is asked again about an answered call, that is: an open question is put anew. An
        approver that waits for a message of the engine, which the engine records itself, needs no
        wrapping.
        """
        return _Approver(self, approver)

    def compactor(self, compactor: Compactor) -> "_Compactor":
        """Return a compactor whose summaries are steps."""
        return _Compactor(self, compactor)

    async def record(
        self, name: str, work: Callable[..., Awaitable[dict[str, Any]]], *args: Any
    ) -> dict[str, Any]:
        """Run work as a step, and return its outcome. Raise what it failed with."""
        listing, self._is_new = self._listing if self._is_new else None, False
        record = await self.steps.run(name, self._outcome_of, listing, work, *args)
        self._stopwatch.record(_records.read_seconds(record))
        # Of failed work, too. A limit on what a run uses must be reached at the same step again.
        for call in _records.read_calls(record):
            report(call.usage, model=call.model, provider=call.provider)
        outcome, end = _records.read_record(record, name)
        # Calls run side by side: the latest end counts, in whatever order they are awaited.
        self._now = max(self._now, end)
        return outcome

    async def keep_listing(self, listing: dict[str, Any]) -> dict[str, Any]:
        """Return the list of tools that is on record at this place; else this one, to be recorded.

        The next record will hold it, unless the latest list was the same.
        """

        async def describe() -> dict[str, Any]:
            return listing

        name, record = (_LIST, None) if self.peek is None else self.peek() or ("", None)
        if name == _LIST:  # an engine that cannot look ahead, or an earlier version
            self._listing = await self.record(name, self.in_time, describe)
        elif name:
            self._listing = _records.read_listing(record) or self._listing or listing
        elif listing != self._listing:
            self._listing, self._is_new = listing, True
        return self._listing or listing

    async def in_time(
        self, work: Callable[..., Awaitable[dict[str, Any]]], *args: Any
    ) -> dict[str, Any]:
        """Do the work of a step, for no longer than the run may last.

        Raises:
            OutOfTime: the run has reached its limit of seconds.
        """
        try:
            async with asyncio.timeout(self.seconds_left) as limit:
                return await work(*args)
        except TimeoutError:
            if not limit.expired():
                raise
            self.end()
            raise _records.OutOfTime from None

    @property
    def seconds_left(self) -> float | None:
        """Return how long the run may last; None if it has no limit."""
        end = self._stopwatch.end
        return None if end is None else max(0.0, end - self._stopwatch.seconds)

    def end(self) -> None:
        """Let the record of this step say that the time of the run is over."""
        self._stopwatch.advance(self._stopwatch.end or 0.0)

    async def _outcome_of(
        self,
        listing: dict[str, Any] | None,
        work: Callable[..., Awaitable[dict[str, Any]]],
        *args: Any,
    ) -> dict[str, Any]:
        try:
            # Without the clock: a run within a step is not replayed.
            with use_clock(None), collect() as usage:
                outcome = await work(*args)
        except Exception as error:  # noqa: BLE001  a failure is an outcome
            outcome = _records.encode_error(error)
        end = datetime.now(UTC)
        record = _records.make_record(outcome, end, self._stopwatch.seconds, usage.calls)
        return record if listing is None else _records.add_listing(record, listing)


@attrs.frozen
class _Decider:
    durable: Durable
    inner: Any

    @property
    def name(self) -> Any:
        """Return the inner decider's `provider:model`, for events and prices."""
        return getattr(self.inner, "name", "")

    async def decide(self, request: Input, /) -> Decision:
        """Ask the model in a step."""
        durable = self.durable
        outcome = await durable.record("decide", durable.in_time, self._decide, request)
        return _records.decode_decision(outcome)

    async def _decide(self, request: Input) -> dict[str, Any]:
        return _records.encode_decision(await read_decision(self.inner.decide(request)))


@attrs.frozen
class _StreamingDecider(_Decider):
    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Ask the model in a step, and yield the pieces of its reply as they arrive."""
        # A step returns one value when it ends: the pieces come past the engine.
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        record, in_time = self.durable.record, self.durable.in_time
        step = asyncio.create_task(record("decide", in_time, self._watch, request, pieces))
        # Also where the step has no pieces: it is replayed, or fails at once.
        step.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            yield _records.decode_decision(await step)
        finally:
            step.cancel()

    async def _watch(self, request: Input, pieces: "asyncio.Queue[str | None]") -> dict[str, Any]:
        decision = await read_stream(self.inner.stream(request), pieces.put)
        return _records.encode_decision(decision)


@attrs.frozen
class _Approver:
    durable: Durable
    inner: Approver

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Ask in a step, which lasts until there is an answer."""
        outcome = await self.durable.record(f"approve {call.name}", self._approve, call, tool)
        return _records.decode_approval(outcome)

    async def _approve(self, call: ToolCall, tool: ToolDefinition) -> dict[str, Any]:
        return _records.encode_approval(await self.inner.approve(call, tool))


@attrs.define(eq=False)
class _Executor:
    """Runs each call as one step; its approval and its intent are steps of their own before it.

    All of them are called at once, in the order of the calls: the engine tells steps apart by their
    order, and must find the same one in a replay, whoever answers first.
    """

    durable: Durable
    inner: Executor
    approval: RequireApproval | None = None
    _tools: dict[str, ToolDefinition] = attrs.field(init=False, factory=dict)
    """The tools of the latest listing."""
    _asks: frozenset[str] = attrs.field(init=False, default=frozenset())
    """The tools whose calls need approval."""
    _never: frozenset[str] = attrs.field(init=False, default=frozenset())
    """The tools with `retry="never"`."""
    _tokens: set[str] = attrs.field(init=False, factory=set)
    """Of the intents that were drawn here, and not in an earlier attempt or another process."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """Return the tools that the run was offered when it first came here."""
        live = {tool.name: tool for tool in await self.inner.list_tools()}

        asks = [] if self.approval is None else filter(self.approval.needs, live.values())
        never = [tool.name for tool in live.values() if tool.retry == "never"]
        # Names only: whole definitions would be a large record, and a replay has those of the live
        # executor.
        listing = {"tools": list(live), "ask": [tool.name for tool in asks], "never": never}
        outcome = await self.durable.keep_listing(listing)
        self._tools = {name: live.get(name) or ToolDefinition(name) for name in outcome["tools"]}
        # From the record: other steps than those of the first attempt would not fit its log.
        self._asks = frozenset(outcome.get("ask", ()))
        self._never = frozenset(outcome.get("never", ()))
        if self._asks and self.approval is None:
            raise ConfigError(
                "executor",
                self.inner,
                "a RequireApproval, as it was when the run was started",
                "wrap it as it was: its calls must not run without approval",
            )
        return list(self._tools.values())

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run the call in a step."""
        if call.name not in self._tools:
            await self.list_tools()
        approval = self.approval if call.name in self._asks else None
        question = None if approval is None else _start(approval.ask(call, self._tools[call.name]))
        intent = _start(self._intend(call, question)) if call.name in self._never else None
        try:
            if question is not None or intent is not None:
                await asyncio.sleep(0)  # they are called first, as they are done first
            name = f"tool {call.name}"
            outcome = await self.durable.record(name, self._execute, call, question, intent)
        finally:
            for task in (question, intent):
                if task is not None:
                    task.cancel()
        result = _records.decode_result(outcome)
        ref, outputs = outcome.get("output_ref"), self.durable.outputs
        if ref is None or outputs is None:
            return result
        return attrs.evolve(result, output=await outputs.get(ref))

    async def _intend(
        self, call: ToolCall, question: "asyncio.Task[ToolError | None] | None"
    ) -> str:
        """Record that the call will run, and return the token of the attempt that recorded it."""
        outcome = await self.durable.record(f"intend {call.name}", self._draw_token, question)
        return str(outcome["token"])

    async def _draw_token(
        self, question: "asyncio.Task[ToolError | None] | None"
    ) -> dict[str, Any]:
        # Not before the answer, which may take days: until then it is known that nothing was done.
        if question is not None and await question is not None:
            return {"token": ""}
        token = os.urandom(16).hex()
        self._tokens.add(token)
        return {"token": token}

    async def _execute(
        self,
        call: ToolCall,
        question: "asyncio.Task[ToolError | None] | None",
        intent: "asyncio.Task[str] | None",
    ) -> dict[str, Any]:
        refusal = None if question is None else await question
        if refusal is None and intent is not None:
            refusal = self._claim(await intent)
        if refusal is not None:
            return _records.encode_result(ToolResult(call.id, call.name, error=refusal))
        result = await self._bounded(call)
        outputs = self.durable.outputs
        size = len(result.output.encode("utf-8", "surrogatepass"))
        if outputs is None or size <= self.durable.inline_bytes:
            return _records.encode_result(result)
        try:
            # Stored before the record is: a replay must find what its record refers to.
            return _records.encode_result(result, await outputs.put(result.output))
        # The tool has run: if its result were an error, the model would call it again.
        except Exception:  # noqa: BLE001  a store may raise anything
            _log.exception(
                "an output of %s could not be stored; it is part of the record", call.name
            )
            return _records.encode_result(result)

    def _claim(self, token: str) -> ToolError | None:
        """Allow one run for an intent of this attempt, and none for an earlier attempt's."""
        # A token and no flag: of two processes with the same run, both come here, and the record
        # of one counts.
        if token not in self._tokens:
            return _LOST
        self._tokens.remove(token)
        return None

    async def _bounded(self, call: ToolCall) -> ToolResult:
        limit_seconds, remaining = self.durable.tool_timeout_seconds, self.durable.seconds_left
        # Under a timeout of 0, a tool would still run up to its first wait.
        if remaining == 0:
            return ToolResult(call.id, call.name, error=_NOT_RUN)
        is_last = remaining is not None and (limit_seconds is None or remaining <= limit_seconds)
        try:
            async with asyncio.timeout(remaining if is_last else limit_seconds) as limit:
                return check_result(call, await self.inner.execute(call))
        # SystemExit, too: a tool that calls a script's main() must not end the worker.
        except (Exception, SystemExit) as error:  # noqa: BLE001  a tool is anybody's code
            if not (isinstance(error, TimeoutError) and limit.expired()):
                return ToolResult(call.id, call.name, error=_tool_errors.raised(error))
        if is_last:
            self.durable.end()
            return ToolResult(call.id, call.name, error=OUT_OF_TIME)
        return ToolResult(call.id, call.name, error=too_long(limit_seconds))


def _start(work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
    task = asyncio.create_task(work)
    # Where the result of the call is on record, nobody may ask what became of this.
    task.add_done_callback(lambda task_done: task_done.cancelled() or task_done.exception())
    return task


@attrs.frozen
class _Compactor(ContextualBase):
    durable: Durable
    inner: Any

    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Summarize in a step, with regard to the context if the compactor takes it."""
        # A step within a step is not recorded: the model is asked as a part of this one.
        owner = getattr(context.ask, "__self__", None)
        if isinstance(owner, _Decider):
            context = attrs.evolve(context, ask=owner.inner.decide)
        record, in_time = self.durable.record, self.durable.in_time
        outcome = await record("summarize", in_time, self._summarize, messages, context)
        return _records.decode_summary(outcome)

    async def _summarize(
        self, messages: list[Message], context: CompactionContext
    ) -> dict[str, Any]:
        return _records.encode_summary(await start_compactor(self.inner, messages, context))
