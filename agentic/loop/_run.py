"""One run, from the user's message to the final reply."""

import json
import logging
from collections import deque
from collections.abc import Sequence

import attrs

from agentic import events
from agentic._base._clock import is_replayable, now
from agentic._base._lazy import asyncio, hashlib
from agentic._base._validate import all_are
from agentic.context.view import Prepared, View
from agentic.errors import ContextOverflow, RequestFailed
from agentic.loop._ahead import KeptSummary
from agentic.loop._calls import (
    CallOutcome,
    OutputLimits,
    ToolBatch,
    TurnResults,
    call_key,
    make_unique,
    refuse,
)
from agentic.loop._conversation import (
    EventSender,
    ModelConnection,
    RunContext,
    StoredHistory,
    find_unfinished_request,
)
from agentic.loop._records import LimitWatch, Result, RunLimit, RunLimits, limit_text
from agentic.messages import Message, to_plain
from agentic.protocols import Decision, Executor, Input, RequestPrefix, Store, ToolDefinition
from agentic.usage import StopReason, Usage, normalize

_log = logging.getLogger(__name__)

_REFUSED = {400, 404, 422}
"""The statuses of a request that the provider does not accept as it is."""
_GATHER_SECONDS = 0.1
"""How long a result waits for others of its turn before it is stored. Most turns end sooner, and
then have one message of results, in the order of the calls. A kill loses no more than this."""
_CANCELLED_BEFORE = "the run was cancelled, so this call was not run"
_CUT_OFF = (
    "the reply was cut off before it was complete, so this call was not run: call it again, with "
    "less in one reply"
)
_NO_TOOLS = "there are no tools"
_WITHHELD = "the reply was withheld or broken off by the provider, so this call was not run"

# OTHER, too: a provider's new word for tool calls must not stop every agent.
_COMPLETE = {StopReason.STOP, StopReason.TOOL, StopReason.OTHER}
"""With any other stop reason, the arguments of a call may be cut off, so no call is run."""


@attrs.frozen(kw_only=True)
class Setup:
    """The parts and limits that a run uses."""

    sender: object
    """Who sends the events: the Runner."""
    model: ModelConnection
    executor: Executor | None
    store: Store | None
    system_prompt: str
    output_limits: OutputLimits
    max_turns: int
    limits: RunLimits
    tool_timeout_seconds: float | None
    summarize_ahead: bool
    kept: KeptSummary | None
    """Keeps a summary that is being made until the next run."""


@attrs.define(eq=False)
class Run:
    """The state of one run."""

    setup: Setup
    user_message: str
    """The text of the request; empty until a run that is resumed has read it."""
    given: Sequence[Message]
    """The start of the history that the caller gave."""
    resumes: bool
    run_id: str
    view: View
    used_ids: set[str]
    """The ids of all earlier calls, which a new call must not reuse."""
    event_sender: EventSender = attrs.field(init=False)
    conversation: StoredHistory = attrs.field(init=False)
    context: RunContext = attrs.field(init=False)
    sent: list[Message] = attrs.field(init=False, factory=list)
    """The view of the latest request."""
    prefix: RequestPrefix | None = attrs.field(init=False, default=None)
    """What was sent in front of it, if that is not the system prompt and the tools of the run."""
    tools: tuple[ToolDefinition, ...] = attrs.field(init=False, default=())
    answers: list[CallOutcome] = attrs.field(init=False, factory=list)
    """Every call of the run, with its result."""
    latest: list[CallOutcome] = attrs.field(init=False, factory=list)
    """The calls of the latest turn, with their results."""
    decision: Decision = attrs.field(init=False, default=Decision())
    usage: Usage = attrs.field(init=False, default=Usage())
    """The usage of the decisions; that of the summaries is in `context`."""
    turn: int = attrs.field(init=False, default=0)
    limit: RunLimit | None = attrs.field(init=False, default=None)
    """The limit that the run has reached."""
    exhausted: bool = attrs.field(init=False, default=False)
    steered: deque[str] = attrs.field(init=False, factory=deque)
    """Messages that enter before the next decision."""
    is_announced: bool = attrs.field(init=False, default=False)
    """Whether `agent_start` was sent, so that `agent_end` has to follow."""
    is_over: bool = attrs.field(init=False, default=False)
    """Whether no further decision will be made, so that no message can enter."""
    origin: str = attrs.field(init=False)
    """What ids and keys are derived from, with the turn and the index of a call."""
    watch: LimitWatch = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        setup, model = self.setup, self.setup.model
        self.event_sender = EventSender(setup.sender, self.run_id)
        self.conversation = StoredHistory(setup.store, self.event_sender)
        self.context = RunContext(self.conversation, self.view, setup.kept)
        self.origin = self.run_id
        self.watch = LimitWatch(setup.limits, setup.max_turns, model.provider, model.name)

    async def serve(self) -> Result:
        """Carry out the whole run."""
        try:
            await self._open()
            await self._serve()
        except BaseException as error:
            self.is_over = True
            try:
                await self.context.end_ahead()
                await self._keep_steered()
            finally:  # after a second cancellation, too
                is_cancelled = isinstance(error, asyncio.CancelledError)
                if self.is_announced:
                    await self._end(StopReason.ABORT if is_cancelled else StopReason.ERROR, error)
            raise
        await self.context.keep_ahead()
        result = self._result()
        await self._end(self.decision.stop_reason, None, result.incomplete)
        return result

    async def _open(self) -> None:
        # Before the history is read, which it may replace.
        await self.context.take_kept(self.setup.system_prompt, self.tools)
        if self.resumes:
            # Before the event, which carries the request: here it is in the history.
            await self.conversation.open(self.given)
            request = find_unfinished_request(self.conversation.history)
            self.user_message, self.conversation.request = request.content, request
            # Turns count from 1 again, and the former run may have had the same id.
            self.origin += f"/{_digest(self.conversation.history[-1])}"
        self.is_announced = True
        await self.event_sender.send(
            events.AgentStart,
            user_message=self.user_message,
            conversation_id=self.setup.model.conversation_id,
        )
        if not self.resumes:
            await self.conversation.open(self.given)
        history = self.conversation.history
        # In place: with a store, the set is the Runner's and serves its later runs, too.
        self.used_ids |= {call.id for message in history for call in message.tool_calls}

    async def _serve(self) -> None:
        if not self.resumes:
            await self._ask_for(self.user_message)
        while True:
            self.turn += 1
            await self._take_steered()
            try:
                # The decision only: calls are stopped by their batch, so that all are answered.
                async with asyncio.timeout(self.watch.seconds_left) as time_limit:
                    decision = await self._next_decision()
            except TimeoutError:
                # The decider's own TimeoutError is not the limit of the run, but that of a recorded
                # step which the limit ended is.
                if not (time_limit.expired() or self.watch.is_out_of_time):
                    raise
                self.limit = RunLimit.SECONDS
                break
            await self._follow(decision)
            if not self._goes_on():
                self.is_over = True
                return
            if self.watch.is_out_of_time:  # the tools took the rest
                self.limit = RunLimit.SECONDS
            if self.limit is not None:
                break
        self.is_over = self.exhausted = True
        # Stored, although this run does not read them: `resume` answers them.
        await self._take_steered()

    def _goes_on(self) -> bool:
        """Whether the model has results or messages to read."""
        # A reply that was cut off goes on too: its calls were refused, and the model is to read
        # why.
        complete = self.decision.stop_reason in {*_COMPLETE, StopReason.MAX_TOKENS}
        return (bool(self.latest) and complete) or bool(self.steered)

    async def _take_steered(self) -> None:
        while self.steered:
            self.user_message = self.steered[0]
            try:
                await self._ask_for(self.user_message)
            finally:
                # A cancellation is raised after the message was stored: it must not enter again.
                request = self.conversation.request
                if request is not None and self.conversation.ends_with(request, 0):
                    self.steered.popleft()

    async def _ask_for(self, text: str) -> None:
        """Append a request of the user's, which is the one to answer from now on."""
        self.conversation.request = message = _user_message(text)
        await self.conversation.append(message)

    async def _keep_steered(self) -> None:
        """Store what was not read, as far as possible: the run has failed already."""
        try:
            await self._take_steered()
        except Exception:  # noqa: BLE001  the run's own error is the one to raise
            _log.exception("%d messages to a running run are not stored", len(self.steered))

    async def _next_decision(self) -> Decision:
        await self._list_tools()
        request = await self.context.prepare(self.setup.system_prompt, self.tools)
        self._note_sent(request)
        await self.event_sender.send(
            events.TurnStart,
            turn=self.turn,
            context_tokens=None if self.view.counter is None else request.tokens,
        )
        return await self._decide()

    async def _follow(self, decision: Decision) -> None:
        """Store the reply, and run its calls."""
        self.decision = decision
        usage = normalize(decision.usage)
        self.usage += usage
        # Before the calls are run: a limit that is reached refuses them.
        total = self.usage + self.context.usage
        self.limit = self.watch.reached(decision, total, self.turn, self.context.calls)
        self.latest = await self._settle(self._reply(decision))
        self.answers += self.latest
        await self.event_sender.send(
            events.TurnEnd,
            turn=self.turn,
            usage=usage,
            stop_reason=decision.stop_reason,
            stop_word=decision.stop_word,
        )

    async def _list_tools(self) -> None:
        if self.setup.executor is not None:
            definitions = await self.setup.executor.list_tools()
            remedy = "return the definitions from list_tools()"
            self.tools = all_are(ToolDefinition, definitions, "the executor's tools", remedy)

    async def _decide(self) -> Decision:
        """Ask the model; if it has only reasoned, ask it once more."""
        await self.event_sender.send(events.MessageStart, role="assistant")
        decision, attempt = await self._ask_within_window()
        if not _is_reasoning_alone(decision):
            return decision
        # The reply is nothing to go on from, but it was paid for.
        self.usage += normalize(decision.usage)
        self.watch.pay(decision)
        decision = await self._ask(attempt + 1)
        if not _is_reasoning_alone(decision):
            return decision
        _log.warning("the model reasoned and said nothing, also when it was asked again")
        # Without its payload: Anthropic refuses a reply that ends with reasoning.
        return attrs.evolve(decision, stop_reason=StopReason.OTHER, native=None)

    async def _ask_within_window(self) -> tuple[Decision, int]:
        """Ask the model; if the request was too large, once more with a smaller one.

        Return the number of the attempt as well.
        """
        try:
            return await self._ask_again(attempt=1), 1
        except ContextOverflow as overflow:
            smaller = await self.context.shrink(self.sent, overflow)
            if smaller is None:
                raise
        # Once only: if a strictly smaller request is refused as well, the window is not what was
        # assumed, and whoever set it has to act.
        self._note_sent(smaller)
        return await self._ask(attempt=2), 2

    async def _ask_again(self, attempt: int) -> Decision:
        """Ask the model; once more with a readable summary if the provider refuses its own."""
        try:
            return await self._ask(attempt)
        except RequestFailed as refusal:
            if refusal.status not in _REFUSED or not self.view.refuse_native(self.sent):
                raise
        request = await self.context.prepare(self.setup.system_prompt, self.tools)
        self._note_sent(request)
        return await self._ask(attempt + 1)

    async def _ask(self, attempt: int) -> Decision:
        return await self.setup.model.ask(self._input(), attempt, self.event_sender)

    def _input(self) -> Input:
        return Input(
            system_prompt=self.setup.system_prompt,
            user_message=self.user_message,
            history=tuple(self.sent),
            tools=self.tools,
            tool_calls=tuple(answer.call for answer in self.latest),
            tool_results=tuple(answer.result for answer in self.latest),
            turn=self.turn,
            prefix=self.prefix,
        )

    def _note_sent(self, request: Prepared) -> None:
        self.sent = request.messages.copy()  # the history grows, but this list must not
        self.prefix = request.prefix

    def _reply(self, decision: Decision) -> Message:
        calls = make_unique(decision.tool_calls, self.used_ids, self.origin, self.turn)
        reply = decision.to_message(now())
        # The payload holds the provider's ids: if ours differ, they do not match the results.
        return reply if calls == decision.tool_calls else reply.edit(tool_calls=calls)

    async def _settle(self, reply: Message) -> list[CallOutcome]:
        """Store the reply and then a result for each of its calls, whatever happens."""
        calls, refusal = reply.tool_calls, self._refusal()
        keys = [call_key(self.origin, self.turn, index) for index in range(len(calls))]
        batch = ToolBatch(calls, keys, self.event_sender, self.watch)
        results = TurnResults(self.conversation, self.setup.output_limits, calls)
        try:
            await self.conversation.append_reply(reply)
            if calls and self.setup.executor is not None and not refusal:
                await self._start(batch, self.setup.executor)
                if self.setup.summarize_ahead:
                    self.context.begin_ahead(self.setup.system_prompt, self.tools)
                while outcomes := await batch.wait(
                    self.setup.tool_timeout_seconds, self._gather_seconds
                ):
                    await results.store(outcomes)
        finally:
            # Where the reply itself was not stored there is nothing to answer, and the error goes
            # on. Otherwise every call gets a result, or no provider would accept this history
            # again.
            if calls and self.conversation.ends_with(reply, results.number_of_messages):
                refusal = refusal or _CANCELLED_BEFORE
                await results.store(
                    # If no tool has begun, no effect is unknown: the calls read as not run.
                    batch.collect()
                    if batch.began
                    else refuse(calls, refusal, first_announced=batch.announced)
                )
        return results.outcomes

    @property
    def _gather_seconds(self) -> float | None:
        """How long a result may wait for others before it is stored; None for all of them."""
        # An engine keeps the result of each call by itself, and a replay must store the same
        # messages, whichever call ends first.
        is_kept = self.setup.store is not None and not is_replayable()
        return _GATHER_SECONDS if is_kept else None

    def _refusal(self) -> str:
        """Return why no call of this turn may run; empty if they may."""
        # Of a reply that was cut off nobody knows which calls were still to come, or whether the
        # last one is whole.
        if self.decision.stop_reason not in _COMPLETE:
            return _CUT_OFF if self.decision.stop_reason is StopReason.MAX_TOKENS else _WITHHELD
        if self.setup.executor is None:
            return _NO_TOOLS
        if self.limit is None:
            return ""
        return f"the limit of {limit_text(self.limit)} was reached, so this call was not run"

    async def _start(self, batch: ToolBatch, executor: Executor) -> None:
        # All are announced before the first one starts: an event comes before what it tells of.
        for call in batch.calls:
            batch.announced += 1
            await self.event_sender.send(events.ToolExecutionStart, call=call)
        batch.start(executor, [tool.name for tool in self.tools])

    async def _end(
        self, stop_reason: StopReason, error: BaseException | None, incomplete: str = ""
    ) -> None:
        await self.event_sender.send(
            events.AgentEnd,
            reply=self.decision.reply,
            stop_reason=stop_reason,
            usage=self.usage + self.context.usage,
            exhausted=self.exhausted,
            limit=self._limit or "",
            incomplete=incomplete,
            error=error,
        )

    def _result(self) -> Result:
        return Result(
            reply=self.decision.reply,
            history=tuple(self.conversation.history),
            summary=self.context.summary,
            tool_calls=tuple(answer.call for answer in self.answers),
            tool_results=tuple(answer.result for answer in self.answers),
            usage=self.usage + self.context.usage,
            stop_reason=self.decision.stop_reason,
            exhausted=self.exhausted,
            limit=self._limit,
        )

    @property
    def _limit(self) -> RunLimit | None:
        """The limit that ended the run: a reply may also end it as a limit is reached."""
        return self.limit if self.exhausted else None


def _is_reasoning_alone(decision: Decision) -> bool:
    """Return whether a model ended its reply after reasoning, before it said or did anything."""
    is_over = decision.stop_reason in {StopReason.STOP, StopReason.OTHER}
    content = decision.reply.strip() or decision.tool_calls or decision.media
    reasoning = decision.reasoning.strip() or normalize(decision.usage).reasoning
    return is_over and not content and bool(reasoning)


def _digest(message: Message) -> str:
    plain = json.dumps(to_plain(message), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _user_message(text: str) -> Message:
    return Message("user", text, timestamp=now())
