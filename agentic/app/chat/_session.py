"""A conversation with an agent: its requests, what they cost, and what the user does between."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from decimal import Decimal
from types import FrameType
from typing import Any, TypeVar

import attrs
import click

from agentic import events, usage
from agentic.app.chat._input import ChatApprover
from agentic.app.chat._screen import Screen, describe_size
from agentic.app.cli._output import describe_failure
from agentic.app.config import AgentConfig, ConfigProblems
from agentic.loop import Decision, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.session import Session, Status
from agentic.tokens._models import ModelCounter
from agentic.usage._usage import ReportedCall

BROKEN_OFF = "[The reply was broken off here.]"
"""Ends what is kept of a reply, so that the model does not take it for a whole one."""
_T = TypeVar("_T")
_SHOWN = (
    events.turn_start,
    events.model_request_start,
    events.model_request_end,
    events.message_update,
    events.message_end,
    events.tool_execution_start,
    events.tool_execution_end,
    events.context_compaction_start,
    events.context_compaction_end,
)


@attrs.frozen
class Outcome:
    """A tool call and its result, which /open shows."""

    call: ToolCall
    result: ToolResult


@attrs.define(eq=False)
class Spending:
    """A sum in dollars, and the tokens that no price is known for."""

    dollars: Decimal = Decimal(0)
    used: usage.Usage = attrs.field(factory=usage.Usage)
    """Everything that was reported, priced or not."""
    is_complete: bool = True
    """Whether every request had a price."""

    def add(self, decision: Decision | None) -> None:
        """Add a request to a model; one that failed is not known to cost anything."""
        if decision is None or decision.usage is None:
            return
        model = decision.response_model or decision.request_model
        self.add_call(ReportedCall(decision.usage, model, decision.provider))

    def add_call(self, call: ReportedCall) -> None:
        """Add a call that reported its usage, such as one that wrote a summary."""
        self.used += call.usage
        cost = _price(call)
        if cost is None:
            self.is_complete = False
        else:
            self.dollars += cost

    def describe(self) -> str:
        """Return the sum; empty before anything was reported.

        >>> spending = Spending()
        >>> spending.add(Decision("Done.", usage=usage.Usage(input=1_200, output=80)))
        >>> spending.describe()
        '1,280 tokens used'
        >>> used = usage.Usage(input=1_200, output=80)
        >>> spending.add(Decision("Done.", usage=used, request_model="gpt-4o"))
        >>> spending.describe()
        'at least $0.0038'
        """
        if self.dollars:
            least = "" if self.is_complete else "at least "
            return f"{least}${self.dollars:.4f}"
        total = self.used.input + self.used.output
        return f"{total:,} tokens used" if total else ""


@attrs.define(eq=False)
class ChatSession:
    """One session of one agent, on one screen."""

    agent: AgentConfig
    screen: Screen
    session: Session
    runner: Runner
    counter: ModelCounter
    """Estimates how much of a reply has arrived."""
    approver: ChatApprover | None = None
    """Who is asked before a tool runs; None in a pipe, where nobody can be."""
    outcomes: list[Outcome] = attrs.field(factory=list)
    """Every tool call of the session, in order."""
    spending: Spending = attrs.field(factory=Spending)
    status: Status | None = None
    """The size of the context after the latest exchange."""
    was_stopped: bool = False
    """Whether Ctrl-C ended what the latest line had started."""
    has_failed: bool = False
    """Whether any request received no reply."""
    _arrived: str = ""
    """What has arrived of a reply that is not stored yet."""
    _task: asyncio.Task[Any] | None = None
    """The work that Ctrl-C stops."""

    @classmethod
    async def begin(
        cls,
        agent: AgentConfig,
        session_id: str,
        screen: Screen,
        approver: ChatApprover | None = None,
    ) -> "ChatSession":
        """Open a session, and connect to its model.

        Raises:
            ConfigError: something that the agent's file names cannot be used.
            ImportError: the provider's SDK is not installed.
        """
        talk = cls(agent, screen, *_made(agent, session_id, approver), agent.counter(), approver)
        await talk.session.__aenter__()
        talk._listen()
        await talk.measure()
        return talk

    async def use(self, agent: AgentConfig) -> None:
        """Continue with another agent or model; if it cannot be used, nothing changes."""
        # Create the new Runner before ending the current one, in case the model cannot be used.
        session, runner = _made(agent, self.session.session_id, self.approver)
        await self.end()
        self.agent, self.session, self.runner = agent, session, runner
        self.counter = agent.counter()
        await self.session.__aenter__()
        self._listen()
        await self.measure()

    async def ask(self, text: str) -> None:
        """Serve one request, whether or not it succeeds."""
        self._arrived = ""
        result = await self.do(self.runner.run(text))
        # Kept for the exit status of a pipe, whatever later requests come to.
        self.has_failed = self.has_failed or result is None
        if result is None:
            await self.do(self._keep_arrived())
        elif result.incomplete:
            go_on = " Ask it to continue." if result.exhausted else ""
            self.screen.warn(f"{result.incomplete[0].upper()}{result.incomplete[1:]}.{go_on}")
        await self.do(self._compact())
        await self.do(self.measure())
        if self.status is not None and self.screen.live is None:  # a status line shows it otherwise
            self.screen.note(f"[{describe_size(self.status)}]")

    async def measure(self) -> Status:
        """Return the size of the context, and keep it for the status line."""
        self.status = await self.session.status()
        return self.status

    async def undo(self) -> int:
        """Take back the last exchange, and return how many messages it had."""
        count = len((await self.session.undo_exchange()).dropped)
        await self.measure()
        return count

    def stop(self) -> None:
        """Stop the work that is under way, as Ctrl-C does."""
        if self._task is not None:
            self._task.cancel()

    async def do(self, work: Coroutine[Any, Any, _T]) -> _T | None:
        """Wait for work that Ctrl-C can stop; if it fails, print the problem and return None."""
        # Run it in a separate task: Ctrl-C stops the work, not the loop that reads the next line.
        task = asyncio.create_task(_staying(work))
        self._task = task
        try:
            with _stopped_by_ctrl_c(task), self.screen.working():
                return await task
        except asyncio.CancelledError:
            self.was_stopped = True
            self.screen.end_line()
            self.screen.warn("Stopped. What has arrived is kept.")
        except Exception as problem:  # noqa: BLE001  the chat continues, whatever a decider raised
            self.screen.warn(describe_failure(problem) or f"{type(problem).__name__}: {problem}")
        finally:
            # Whatever the work came to, a screen that is gone ends the chat.
            self.screen.check()
        return None

    async def end(self) -> None:
        """Close the session, so that others may write it."""
        await self.session.__aexit__(None, None, None)

    async def _compact(self) -> None:
        """Summarize if the exchange that has ended makes this due, as `/context` predicted."""
        # Between two runs, the session is the sender.
        start, end = events.context_compaction_start, events.context_compaction_end
        with (
            start.connected_to(self._hear, sender=self.session),
            end.connected_to(self._hear, sender=self.session),
        ):
            await self.session.compact_if_due()

    async def _keep_arrived(self) -> None:
        """Store what was seen of a reply that broke off: the user may refer to it."""
        if text := self._arrived.strip():
            self._arrived = ""
            await self.session.append(Message("assistant", f"{text}\n\n{BROKEN_OFF}"))

    def _listen(self) -> None:
        for each in _SHOWN:
            # Of this Runner only: a tool may run an agent of its own.
            each.connect(self._hear, sender=self.runner)
        # The Runner summarizes within a run, the session between two and at /summarize.
        for sender in (self.runner, self.session):
            events.context_compaction_end.connect(self._pay, sender=sender)

    def _pay(self, _: object, event: events.ContextCompactionEnd) -> None:
        """Add what a summary used, also one that failed."""
        for call in event.calls:
            self.spending.add_call(call)

    def _hear(self, _: object, event: events.Event) -> None:
        """Show an event, and remember what is asked about later."""
        match event:
            case events.ModelRequestStart():
                self._arrived = ""
            case events.ModelRequestEnd():
                self.spending.add(event.decision)
            case events.MessageUpdate():
                self._arrived += event.delta
                if self.screen.live is not None:
                    self.screen.live.received += self.counter.count(event.delta)
            # What is stored need not be kept here.
            case events.MessageEnd():
                self._arrived = ""
            case events.ToolExecutionEnd():
                self.outcomes.append(Outcome(event.call, event.result))
        self.screen.show(event, len(self.outcomes))


@contextlib.contextmanager
def blaming(who: str) -> Iterator[None]:
    """Attribute a wrong model name to its source `who`, rather than to a line of the file."""
    try:
        yield
    except ConfigProblems as mistaken:
        raise ConfigProblems(
            attrs.evolve(each, file=who, line=0) if each.key == "model" else each
            for each in mistaken.problems
        ) from mistaken


@contextlib.contextmanager
def _stopped_by_ctrl_c(task: asyncio.Task[Any]) -> Iterator[None]:
    """Cancel a task at Ctrl-C; at the next Ctrl-C, interrupt code that blocks the event loop."""
    loop = asyncio.get_running_loop()
    waiting: list[bool] = []

    def stop() -> None:
        waiting.clear()
        task.cancel()

    def interrupt(_: int, __: FrameType | None) -> None:
        if waiting:  # the task cannot be cancelled: a decider or a tool is blocking the loop
            raise KeyboardInterrupt
        waiting.append(True)
        loop.call_soon_threadsafe(stop)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _staying(work: Coroutine[Any, Any, _T]) -> _T:
    """Do some work that must not end the program if it fails."""
    try:
        return await work
    except SystemExit as exit_:
        raise click.ClickException(
            f"sys.exit({exit_.code!r}) was called instead of a reply: the chat continues."
        ) from exit_


def _made(
    agent: AgentConfig, session_id: str, approver: ChatApprover | None
) -> tuple[Session, Runner]:
    session = agent.session(session_id, read_again=True)
    return session, agent.runner(session, approver=approver)


def _price(call: ReportedCall) -> Decimal | None:
    if not call.model:
        return None
    try:
        cost = usage.cost(call.usage, call.model, provider=call.provider)
    except ImportError:  # the extra `prices` is not installed
        return None
    return None if cost is None else cost.total
