"""What a run works with: its history, the View that makes requests of it, and the model.

The history is kept in memory and in the store. Its changes, and the requests, are sent as events.

An operation that must not stop halfway, such as storing the results of a turn, is completed even if
the run is cancelled.
"""

import contextlib
import functools
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any

import attrs

from agentic import events
from agentic._base._clock import is_replayable
from agentic._base._lazy import asyncio
from agentic._base._waiting import off_loop
from agentic.context.budget import Compaction
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.view import Prepared, View
from agentic.errors import (
    ConfigError,
    ContextOverflow,
    HistoryChanged,
    HistoryConflict,
    IncompleteReply,
)
from agentic.events import _sending
from agentic.history import Rewriter, Store, replace_known
from agentic.limits import cache_terms
from agentic.loop._ahead import AheadSummary, KeptSummary
from agentic.messages import ContextSummary, Message, close_open_rounds
from agentic.messages._landmarks import find_task
from agentic.messages._rounds import reopen_rounds
from agentic.messages._timeline import keep_known
from agentic.protocols import Decision, Input, ToolDefinition
from agentic.usage import Usage
from agentic.usage._usage import ReportedCall

_GRACE_SECONDS = 10.0
"""How long such an operation may go on after a cancellation: enough unless the store is stalled."""


@attrs.frozen
class EventSender:
    """Sends the events of one run."""

    sender: object
    run_id: str

    async def send(self, record: "type[events.Event]", **fields: Any) -> None:
        """Send one record."""
        await _sending.send(record.signal, self.sender, record, run_id=self.run_id, **fields)


@attrs.define(eq=False)
class StoredHistory:
    """A history whose changes are stored completely, even if cancelled, and only then reported."""

    store: Store | None
    event_sender: EventSender
    history: list[Message] = attrs.field(init=False, factory=list)
    _revision: int | None = attrs.field(init=False, default=None)
    """The store's revision that has exactly these messages; None if the store has no revisions."""
    put_off: "asyncio.CancelledError | None" = attrs.field(init=False, default=None)
    """A cancellation that arrived during `replace`."""
    request: Message | None = attrs.field(init=False, default=None)
    """The request that the run answers."""
    _lost: Message | None = attrs.field(init=False, default=None)
    """That request, if somebody has removed it from the stored history."""

    async def open(self, messages: Sequence[Message]) -> None:
        """Load the stored history; `messages` is the start of a new session.

        Raises:
            ConfigError: a history was given, but the store already holds another one.
        """
        await self._load()
        if messages:
            # A run that failed while appending has already stored the first of these messages. If
            # it failed before a result, the load has made one up.
            starts = (self.history, reopen_rounds(self.history))
            start = next((each for each in starts if each == list(messages[: len(each)])), None)
            if start is None:
                raise ConfigError(
                    "Request.history",
                    f"{len(messages)} messages, with {len(self.history)} in the store",
                    "left out if the store already has another conversation",
                    "leave it out, or give the Runner an empty store",
                )
            self.history = start
        # Shielded, since half of the history would be another past.
        given = messages[len(self.history) :]
        interruption = await shield(self._append(*given)) if given else None
        if interruption is not None:
            raise interruption
        # Not stored: a result that comes late takes the place of what is made up here.
        history = self.history
        self.history = await off_loop(len(history), close_open_rounds, history)

    async def refresh(self) -> None:
        """Load what others have appended: a tool of this run, or another task."""
        if self._revision is not None and self._revision != await self._find_revision():
            await self._load()

    def check_request(self) -> None:
        """Raise if somebody has removed the request from the history.

        Raises:
            HistoryConflict: without it, the model would answer the request before.
        """
        if self._lost is not None and self._lost is self.request:
            problem = (
                "no longer contains the request that this run answers: the session was taken back "
                "to an earlier point. Send the request again if it is still needed"
            )
            raise HistoryConflict(f"the {type(self.store).__name__} of this run", problem)

    def ends_with(self, message: Message, more: int) -> bool:
        """Return whether `message` is in the history, with `more` messages after it."""
        return len(self.history) > more and self.history[-1 - more] is message

    async def append(self, message: Message) -> None:
        """Append a message. A cancellation is raised after it is stored and reported."""
        try:
            await self.event_sender.send(events.MessageStart, role=message.role)
        # A cancellation during the event must not cost the message, which may hold results.
        finally:
            await self._complete(message, self._append(message))

    async def append_reply(self, reply: Message) -> None:
        """Append the reply to the request, as `append` would; `message_start` was already sent.

        Raises:
            HistoryConflict: somebody has removed the request while it was answered. The reply is
                not stored: it would follow another request.
        """
        await self._complete(reply, self._append_behind_request(reply))

    async def replace(self, former: list[Message], messages: list[Message]) -> list[Message]:
        """Replace the known messages; those that others appended meanwhile stay after the new ones.

        Return the resulting history.

        A cancellation during the replacement is kept in `put_off`: if it were raised here, the
        caller would conclude that nothing has changed.
        """
        self.put_off = await shield(self._replace(former, messages))
        return self.history

    async def _complete(self, message: Message, work: Coroutine[Any, Any, None]) -> None:
        """Store a message by `work`, and report it."""
        interruption = None
        if self.store is None:
            await work  # nothing waits in it, so no cancellation can arrive: no task is needed
        else:
            interruption = await shield(work)
        await self.event_sender.send(events.MessageEnd, message=message)
        if interruption is not None:
            raise interruption

    async def _append_behind_request(self, reply: Message) -> None:
        await self.refresh()
        self.check_request()
        await self._append(reply)

    async def _append(self, *messages: Message) -> None:
        for message in messages:
            if self.store is not None:
                await self.store.append(message)
                if self._revision is not None:
                    # A write of this store adds exactly 1; more tells of another writer.
                    self._revision += 1
            self.history.append(message)

    async def _replace(self, former: list[Message], messages: list[Message]) -> None:
        if not isinstance(self.store, Rewriter):
            self.history = [*messages, *self.history[len(former) :]]
            return
        # Asked before the write, so that what others append in between is noticed.
        revision = await self._find_revision()
        try:
            self.history = await replace_known(self.store, former, messages)
        except HistoryChanged:
            await self._load()
            raise
        self._revision = None if revision is None else revision + 1

    async def _load(self) -> None:
        """Load the history, so that every later write by others is noticed."""
        if self.store is None:
            return
        self._revision = await self._find_revision()
        messages = await self.store.load()
        before = self.history
        if before:
            messages = await off_loop(len(messages), keep_known, messages, before)
        self.history = messages
        if self.request is not None and _is_removed(self.request, before, self.history):
            self._lost = self.request

    async def _find_revision(self) -> int | None:
        # Optional, as `history.Revisioned`: without it, what others append is noticed only where
        # the history is replaced.
        find = getattr(self.store, "revision", None)
        return await find() if callable(find) else None


@attrs.define(eq=False)
class RunContext:
    """Asks a View what to send, and stores the compactions that it makes."""

    conversation: StoredHistory
    view: View
    kept: KeptSummary | None = None
    """Keeps a summary between runs, if somebody ends it in the end."""
    summary: ContextSummary | None = attrs.field(init=False, default=None)
    """The latest summary of this run."""
    calls: list[ReportedCall] = attrs.field(init=False, factory=list)
    """The calls of this run's summaries that reported their usage."""
    usage: Usage = attrs.field(init=False, default=Usage())
    """Their sum."""
    _ahead: AheadSummary | None = attrs.field(init=False, default=None)
    _beside: tuple[str, Sequence[ToolDefinition]] = attrs.field(init=False, default=("", ()))
    """The system prompt and the tools of the requests that it is made beside."""

    def begin_ahead(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> None:
        """Begin a summary that will be due soon, while tools run and nobody waits for it.

        It is stored before the next request, if it is ready by then; a request that needs it waits.
        Nothing is begun for a model whose cache is not known; in a run that an engine replays; or
        for a compactor that does not wait for anything.
        """
        compactor, model = self.view.compactor, self.view.model
        waits = compactor is not None and not hasattr(compactor, "write")
        if self._ahead is not None or not waits or is_replayable():
            return
        if not (model and cache_terms(model).known):
            return
        self._beside = system_prompt, tools
        self._ahead = ahead = AheadSummary(self.conversation.replace)
        target = attrs.evolve(self._target(), replace=ahead.replace)
        history = self.conversation.history
        ahead.task = asyncio.create_task(
            self.view.prepare_ahead(
                history, system_prompt=system_prompt, tools=tools, target=target
            )
        )

    async def take_kept(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> None:
        """Go on with the summary that the run before has begun, if it is not ready yet.

        If it is, its usage is counted in this run: no other reports it.
        """
        ahead = None if self.kept is None else self.kept.take()
        if ahead is None:
            return
        if ahead.task.done() or ahead.is_storing:
            self._note(await ahead.task)
            return
        ahead.hold(self.conversation.replace)
        self._ahead, self._beside = ahead, (system_prompt, tools)

    async def _take_ahead(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> None:
        """Store a summary that was made ahead; wait for it only if the next request needs it."""
        if self._ahead is None:
            return
        if not (self._ahead.is_written or self._ahead.task.done()):
            history = self.conversation.history
            check = self.view.check(history, system_prompt=system_prompt, tools=tools)
            if check.due is None:
                return
        await self.end_ahead(wait=True)

    async def end_ahead(self, *, wait: bool = False) -> None:
        """Store a summary that is written, or being written if `wait` is true; cancel any other."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return
        if not (wait or ahead.is_written):
            ahead.task.cancel()
            await asyncio.wait({ahead.task})
            return
        self._learn_reply()
        ahead.allow()
        self._note(await ahead.task)

    async def keep_ahead(self) -> None:
        """Let a summary go on after the run, if somebody ends it; otherwise, end it now."""
        ahead = self._ahead
        if ahead is None or ahead.is_written or self.kept is None or not self.kept.is_kept:
            await self.end_ahead()
            return
        self._ahead = None
        self._learn_reply()
        self.kept.put(ahead)

    def _learn_reply(self) -> None:
        # The View learns what was replied to its request only while the history extends it.
        system_prompt, tools = self._beside
        self.view.check(self.conversation.history, system_prompt=system_prompt, tools=tools)

    async def prepare(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> Prepared:
        """Return what to send, after compacting the history if a compaction is due.

        Raises:
            HistoryConflict: somebody has removed the request that the run answers.
        """
        await self.conversation.refresh()
        self.conversation.check_request()
        await self._take_ahead(system_prompt, tools)
        request = await self._prepare(system_prompt, tools)
        if request.compaction is not None:
            await self.conversation.refresh()
            self.conversation.check_request()
            if self.conversation.history is not request.history:
                # Other writers appended while the summary was made.
                request = await self._prepare(system_prompt, tools)
        return request

    async def shrink(self, sent: Sequence[Message], overflow: ContextOverflow) -> Prepared | None:
        """Return a strictly smaller request than a refused one, or None if there is none."""
        kind, limit = overflow.kind, overflow.window
        request = await self.view.shrink(sent, target=self._target(), kind=kind, limit=limit)
        self._take_in(request)
        return request

    async def _prepare(self, system_prompt: str, tools: Sequence[ToolDefinition]) -> Prepared:
        request = await self.view.prepare(
            self.conversation.history,
            system_prompt=system_prompt,
            tools=tools,
            target=self._target(),
        )
        self._take_in(request)
        return request

    def _target(self) -> CompactionTarget:
        event_sender = self.conversation.event_sender
        return CompactionTarget(event_sender.sender, event_sender.run_id, self.conversation.replace)

    def _take_in(self, request: Prepared | None) -> None:
        self._note(None if request is None else request.compaction)

    def _note(self, compaction: Compaction | None) -> None:
        if compaction is not None:
            self.calls += compaction.calls
            self.usage += compaction.usage
            self.summary = compaction.summary if compaction.changed else self.summary
        # Raised only now, when the summary and its usage are noted.
        if self.conversation.put_off is not None:
            raise self.conversation.put_off


@attrs.frozen(kw_only=True)
class ModelConnection:
    """A decider, and what events say of it."""

    decide: Callable[[Input], Awaitable[Decision]]
    stream: Callable[[Input], AsyncIterator[str | Decision]] | None
    """Used instead of `decide` if it is present."""
    provider: str
    name: str
    """The model that is asked for; empty if the decider does not say."""
    conversation_id: str

    async def ask(self, request: Input, attempt: int, event_sender: EventSender) -> Decision:
        """Ask the model, and report the request and how it ended."""
        start, decision, error = time.monotonic(), None, None
        try:
            await event_sender.send(
                events.ModelRequestStart,
                request=request,
                attempt=attempt,
                streamed=self.stream is not None,
                provider=self.provider,
                request_model=self.name,
                conversation_id=self.conversation_id,
            )
            decision = await self._decide(request, event_sender)
        # A cancellation, too, is an error that the end event reports.
        except BaseException as exception:
            error = exception
            raise
        finally:
            await event_sender.send(
                events.ModelRequestEnd,
                decision=decision,
                attempt=attempt,
                seconds=time.monotonic() - start,
                error=error,
            )
        if decision.input_transformations:
            await event_sender.send(
                events.InputTransformed,
                transformations=decision.input_transformations,
                attempt=attempt,
            )
        return decision

    async def _decide(self, request: Input, event_sender: EventSender) -> Decision:
        if self.stream is not None:
            send = functools.partial(event_sender.send, events.MessageUpdate)
            return await read_stream(self.stream(request), lambda piece: send(delta=piece))
        return await read_decision(self.decide(request))


async def read_decision(deciding: object) -> Decision:
    """Return what a decider's `decide` returns, once it is there.

    Raises:
        ConfigError: it cannot be awaited, or is not a Decision.
    """
    if not inspect.isawaitable(deciding):
        raise ConfigError(
            "the decider", deciding, "a decider whose decide is async", "write async def decide"
        )
    return _decision(await deciding)


async def read_stream(
    stream: AsyncIterator[str | Decision], deliver: Callable[[str], Awaitable[None]]
) -> Decision:
    """Deliver the pieces of a reply as they arrive, and return the Decision.

    Raises:
        IncompleteReply: the stream ends before it.
    """
    pieces = []
    async with contextlib.AsyncExitStack() as stack:
        # A stream that is left in the middle would keep its connection until it is collected.
        if hasattr(stream, "aclose"):
            stack.push_async_callback(stream.aclose)
        async for item in stream:
            if not isinstance(item, str):
                return _decision(item)
            pieces.append(item)
            await deliver(item)
    # A stream that ends without a Decision was cut off: what came is not a reply to be stored.
    raise IncompleteReply("".join(pieces))


def _decision(value: object) -> Decision:
    if not isinstance(value, Decision):
        raise ConfigError(
            "the decider's answer", value, "a loop.Decision", "return Decision(reply=...)"
        )
    return value


def _is_removed(request: Message, before: list[Message], now: list[Message]) -> bool:
    """Return whether a request was in a history, and is neither in it now nor in a new summary."""
    # What is kept is the same object: see `keep_known`. A redacted one still has its time.
    at = request.timestamp
    is_there = any(each is request or (at is not None and each.timestamp == at) for each in now)
    if is_there or not any(each is request for each in before):
        return False
    # Another writer's summary stands for it, if a later request was appended meanwhile.
    texts = {each.content for each in before if each.summary is not None}
    return all(each.summary is None or each.content in texts for each in now)


def find_unfinished_request(history: Sequence[Message]) -> Message:
    """Return the latest request in a history that can be continued without a new one.

    >>> find_unfinished_request([Message("user", "Mend it.")]).content
    'Mend it.'

    Raises:
        ConfigError: the history has no request, or ends with a complete reply.
    """
    requests = find_task(history)
    last = history[-1] if history else None
    if not requests or last is None or (last.role == "assistant" and not last.tool_calls):
        state = "ends with a reply" if requests else "has no request"
        raise ConfigError(
            "resume",
            f"a conversation of {len(history)} messages",
            "a conversation whose latest request has no complete reply",
            "call run() with the next request",
            message=f"there is nothing to resume: the conversation {state}; "
            "call run() with the next request",
        )
    return history[requests[-1]]


async def shield(work: Coroutine[Any, Any, None]) -> "asyncio.CancelledError | None":
    """Finish `work` even if the caller is cancelled meanwhile, unless it then takes too long.

    Return the cancellation, so that the caller can report what was done and then raise it. If
    `work` fails, raise the cancellation if there was one, otherwise the error.
    """
    task = asyncio.create_task(work)
    interruption: asyncio.CancelledError | None = None
    while not task.done():
        try:
            # `asyncio.shield` would let the caller go on at once, before what it waits for has
            # happened.
            await asyncio.wait({task}, timeout=_GRACE_SECONDS if interruption else None)
        except asyncio.CancelledError as error:
            interruption = error
        else:
            if not task.done():
                task.cancel()
    if interruption is not None and (task.cancelled() or task.exception()):
        raise interruption
    task.result()
    return interruption
