"""The signals, each beside the record that it carries, and how one is sent.

A fact is sent after the state that it reports is stored. The sender is the object that acts: a
Runner, or a Manager that is used alone. No listener can harm it.
"""

import enum
import inspect
import logging
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any

import attrs
from blinker import NamedSignal, Namespace, Signal

from agentic._lazy import asyncio
from agentic.messages import ContextSummary, Message, Role, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

if TYPE_CHECKING:
    from agentic import truncate

_namespace = Namespace()
_log = logging.getLogger(__name__)
_sending: "set[asyncio.Task[None]]" = set()
"""The loop holds its tasks only weakly: https://docs.python.org/3/library/asyncio-task.html."""


@attrs.frozen(kw_only=True)
class Event:
    """What every record carries."""

    run_id: str
    """Names the run; empty where a Manager is used alone."""


@attrs.frozen(kw_only=True)
class AgentStart(Event):
    """A run has begun."""

    user_message: str


agent_start: NamedSignal = _namespace.signal("agent_start", AgentStart.__doc__)


@attrs.frozen(kw_only=True)
class AgentEnd(Event):
    """A run is over, and everything complete in it is stored."""

    reply: str
    stop_reason: StopReason
    usage: Usage
    """The sum over the run, summaries included."""
    exhausted: bool
    """The turn limit ended it."""
    incomplete: str
    """Why the reply is no complete answer, in words. Empty if it is one, and beside an error."""
    error: BaseException | None
    """What ended it otherwise: an error of the decider, of the store or of `list_tools`, or a
    cancellation."""


agent_end: NamedSignal = _namespace.signal("agent_end", AgentEnd.__doc__)


@attrs.frozen(kw_only=True)
class TurnStart(Event):
    """The model is about to decide."""

    turn: int
    """1 for the first of a run."""
    context_tokens: int | None
    """The size of what is sent; None where nothing counts."""


turn_start: NamedSignal = _namespace.signal("turn_start", TurnStart.__doc__)


@attrs.frozen(kw_only=True)
class TurnEnd(Event):
    """The decision and the results of its tools are stored."""

    turn: int
    usage: Usage
    """Of this turn's call."""
    stop_reason: StopReason
    """MAX_TOKENS: the reply was cut off; compact, or ask for less."""
    stop_word: str
    """The provider's own word, empty where it gave none."""


turn_end: NamedSignal = _namespace.signal("turn_end", TurnEnd.__doc__)


@attrs.frozen(kw_only=True)
class MessageStart(Event):
    """A message begins: a request, a reply, the results of tools."""

    role: Role


message_start: NamedSignal = _namespace.signal("message_start", MessageStart.__doc__)


@attrs.frozen(kw_only=True)
class MessageUpdate(Event):
    """A piece of a streamed reply has arrived."""

    delta: str


message_update: NamedSignal = _namespace.signal("message_update", MessageUpdate.__doc__)


@attrs.frozen(kw_only=True)
class MessageEnd(Event):
    """A message is complete and stored."""

    message: Message


message_end: NamedSignal = _namespace.signal("message_end", MessageEnd.__doc__)


@attrs.frozen(kw_only=True)
class ToolExecutionStart(Event):
    """A tool is about to run."""

    call: ToolCall


tool_execution_start: NamedSignal = _namespace.signal(
    "tool_execution_start", ToolExecutionStart.__doc__
)


@attrs.frozen(kw_only=True)
class ToolExecutionEnd(Event):
    """A call is answered, and the results of its turn are stored."""

    call: ToolCall
    result: ToolResult
    """As it stands in the history: truncated, with its notice."""
    seconds: float
    """How long the tool ran; 0 for a call that was not run."""


tool_execution_end: NamedSignal = _namespace.signal("tool_execution_end", ToolExecutionEnd.__doc__)


@attrs.frozen(kw_only=True)
class ToolOutputTruncated(Event):
    """A tool's output entered the history shorter than it was."""

    call: ToolCall
    truncation: "truncate.Result"


tool_output_truncated: NamedSignal = _namespace.signal(
    "tool_output_truncated", ToolOutputTruncated.__doc__
)


class CompactionReason(enum.StrEnum):
    """What asked for a compaction."""

    WINDOW = "window"
    """The context is over the window less the reserve."""
    TOKENS = "tokens"
    """It has reached `Policy.max_tokens`."""
    MESSAGES = "messages"
    """`Policy.max_messages` came since the last summary."""
    FORCE = "force"
    """Somebody asked for one now."""


@attrs.frozen(kw_only=True)
class ContextCompactionStart(Event):
    """A compaction is about to be tried."""

    reason: CompactionReason
    tokens_before: int
    messages: int
    """How many messages are to be summarized."""


context_compaction_start: NamedSignal = _namespace.signal(
    "context_compaction_start", ContextCompactionStart.__doc__
)


@attrs.frozen(kw_only=True)
class ContextCompactionEnd(Event):
    """A compaction succeeded and is stored, or it changed nothing."""

    summary: ContextSummary | None
    """None where it changed nothing."""
    tokens_before: int
    tokens_after: int
    dropped: tuple[Message, ...]
    reason: CompactionReason
    error: BaseException | None
    declined: str = ""
    """Why it changed nothing although nothing failed: its summary was of no use."""
    usage: Usage = attrs.field(factory=Usage)
    """What the model calls of the summary used, as they reported it; also where it failed."""


context_compaction_end: NamedSignal = _namespace.signal(
    "context_compaction_end", ContextCompactionEnd.__doc__
)


@attrs.frozen(kw_only=True)
class ContextChanged(Event):
    """A strategy made the view differ from the history. Sizes in messages."""

    messages_before: int
    messages_after: int


context_changed: NamedSignal = _namespace.signal("context_changed", ContextChanged.__doc__)

signals: dict[str, NamedSignal] = dict(_namespace)
"""Every signal by its name: for a recorder, or a log of everything."""


async def send(signal: Signal, sender: object, record: type[Event], **fields: Any) -> None:
    """Build the record if somebody listens, and hand it to each in turn.

    A receiver that raises is logged; the others still hear of it. A cancellation of the sender
    passes.
    """
    if signal.is_muted:
        return
    event: Event | None = None
    for receiver in signal.receivers_for(sender):
        if event is None:  # only now: where nobody listens, an event costs nothing
            event = record(**fields)
        try:
            answer = receiver(sender, event=event)
            if inspect.isawaitable(answer):
                await answer
        except (Exception, asyncio.CancelledError) as error:
            # A receiver may raise CancelledError by itself: only one for this task is passed on.
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            _log.exception("a receiver of %s raised; the run goes on", record.__name__)


def send_sync(signal: Signal, sender: object, record: type[Event], **fields: Any) -> None:
    """Do what `send` does, where nobody awaits.

    What an async receiver has to do is done before this returns, or, where an event loop is
    running, in a task of that loop.
    """
    if signal.is_muted:
        return
    event: Event | None = None
    waiting: list[Awaitable[Any]] = []
    for receiver in signal.receivers_for(sender):
        if event is None:
            event = record(**fields)
        try:
            answer = receiver(sender, event=event)
        except Exception:  # noqa: BLE001  a receiver is anybody's code
            _log.exception("a receiver of %s raised; the run goes on", record.__name__)
        else:
            waiting += [answer] if inspect.isawaitable(answer) else []
    if waiting:
        _run(_wait_for(waiting, record.__name__))


async def _wait_for(waiting: list[Awaitable[Any]], name: str) -> None:
    for answer in waiting:
        try:
            await answer
        except Exception:  # noqa: BLE001  a receiver is anybody's code
            _log.exception("a receiver of %s raised; the run goes on", name)


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    task = loop.create_task(work)
    _sending.add(task)
    task.add_done_callback(_sending.discard)
