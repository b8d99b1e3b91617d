"""The signals, each next to the record that it carries.

A signal is sent after the state that it reports is stored. The sender is the object that acts: a
Runner, or a Manager that is used on its own. An error in a listener does not affect the sender.
"""

from typing import TYPE_CHECKING, ClassVar

import attrs
from blinker import NamedSignal, Namespace

from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.messages._coverage import SummaryOutcome
from agentic.messages._message import Role
from agentic.protocols import CompactionReason, Decision, Input, InputTransformation
from agentic.usage import StopReason, Usage
from agentic.usage._usage import ReportedCall

if TYPE_CHECKING:
    from agentic import truncate

# Our own: blinker's default one is everybody's, and names such as `message_start` are common.
_namespace = Namespace()


def _signal(name: str, record: "type[Event]") -> NamedSignal:
    # With the record's docstring, so that help() of a signal says what it reports.
    record.signal = _namespace.signal(name, record.__doc__)
    return record.signal


@attrs.frozen(kw_only=True)
class Event:
    """The fields that every record has."""

    signal: ClassVar[NamedSignal]
    """The signal that carries the record."""
    run_id: str
    """Identifies the run; empty if a Manager is used on its own."""


@attrs.frozen(kw_only=True)
class AgentStart(Event):
    """A run has begun."""

    user_message: str
    conversation_id: str = ""
    """The `conversation_id` of the Runner; empty if it has none."""


agent_start = _signal("agent_start", AgentStart)


@attrs.frozen(kw_only=True)
class AgentEnd(Event):
    """A run is over, and every complete message is stored."""

    reply: str
    stop_reason: StopReason
    usage: Usage
    """The total of the run, including summaries."""
    exhausted: bool
    """Whether a limit ended the run."""
    # No RunLimit, which the loop declares: it is above this room.
    limit: str = ""
    """The limit: `turns`, `tokens`, `dollars`, `calls`, `seconds` or `repeated_turns`."""
    incomplete: str
    """Why the reply is not a complete answer, as a sentence. Empty if it is, or if there is an
    error."""
    error: BaseException | None
    """What else ended the run: an error of the decider, of the store or of `list_tools`, or a
    cancellation."""


agent_end = _signal("agent_end", AgentEnd)


@attrs.frozen(kw_only=True)
class TurnStart(Event):
    """The model is about to decide.

    There is no `TurnEnd` if the model fails, the time is up before it has decided, or the run is
    cancelled. `ModelRequestEnd` and `AgentEnd` come in any case.
    """

    turn: int
    """1 for the first turn of a run."""
    context_tokens: int | None
    """The size of the request; None without a counter."""


turn_start = _signal("turn_start", TurnStart)


@attrs.frozen(kw_only=True)
class TurnEnd(Event):
    """The decision and the results of its tools are stored."""

    turn: int
    usage: Usage
    """The usage of this turn's call."""
    stop_reason: StopReason
    """MAX_TOKENS: the reply was cut off; compact, or ask for less."""
    stop_word: str
    """The provider's own word; empty if it sent none."""


turn_end = _signal("turn_end", TurnEnd)


@attrs.frozen(kw_only=True)
class MessageStart(Event):
    """A message begins: a request, a reply, the results of tools.

    A reply that never comes has no `MessageEnd`.
    """

    role: Role


message_start = _signal("message_start", MessageStart)


@attrs.frozen(kw_only=True)
class MessageUpdate(Event):
    """A piece of a streamed reply has arrived."""

    delta: str


message_update = _signal("message_update", MessageUpdate)


@attrs.frozen(kw_only=True)
class MessageEnd(Event):
    """A message is complete and stored."""

    message: Message


message_end = _signal("message_end", MessageEnd)


@attrs.frozen(kw_only=True)
class ModelRequestStart(Event):
    """The decider is about to be asked, for the first time in a turn or again.

    Again after an overflow, and after a reply that had nothing but reasoning.
    """

    request: Input
    """What it is asked: the system prompt, the messages, the tools and the turn."""
    attempt: int
    """1 for the first request of a turn; 2 or 3 for one that follows."""
    streamed: bool
    """Whether the reply is streamed."""
    provider: str
    """The part of the decider's `name` before the colon; empty if it has no `name`."""
    request_model: str
    """The rest of the decider's `name`; empty if it has no `name`."""
    conversation_id: str
    """The `conversation_id` of the Runner; empty if it has none."""


model_request_start = _signal("model_request_start", ModelRequestStart)


@attrs.frozen(kw_only=True)
class ModelRequestEnd(Event):
    """The decider has decided, or failed. The decision is not stored yet.

    Each `ModelRequestStart` is followed by one of these, whatever happens.
    """

    decision: Decision | None
    """Names the provider, both models and the reply, as far as they are known. None if it
    failed."""
    attempt: int
    seconds: float
    """How long it took."""
    error: BaseException | None
    """Why there is no decision: an error of the decider, or a cancellation."""


model_request_end = _signal("model_request_end", ModelRequestEnd)


@attrs.frozen(kw_only=True)
class InputTransformed(Event):
    """The provider did not show the whole input to the model: it removed reasoning, for example."""

    transformations: tuple[InputTransformation, ...]
    """At least one."""
    attempt: int


input_transformed = _signal("input_transformed", InputTransformed)


@attrs.frozen(kw_only=True)
class ToolExecutionStart(Event):
    """A tool is about to run."""

    call: ToolCall


tool_execution_start = _signal("tool_execution_start", ToolExecutionStart)


@attrs.frozen(kw_only=True)
class ToolExecutionProgress(Event):
    """A running tool has reported how far it is (see `RunningCall.report_progress`)."""

    call: ToolCall
    progress: float
    """It increases from one report of a call to the next, in a unit that the tool chooses."""
    total: float | None
    """What `progress` reaches at the end; None if the tool does not know."""
    message: str


tool_execution_progress = _signal("tool_execution_progress", ToolExecutionProgress)


@attrs.frozen(kw_only=True)
class ToolExecutionEnd(Event):
    """A call is answered, and the results of its turn are stored."""

    call: ToolCall
    result: ToolResult
    """The result as stored in the history: truncated, with its notice."""
    seconds: float
    """How long the tool ran; 0 for a call that was not run."""


tool_execution_end = _signal("tool_execution_end", ToolExecutionEnd)


@attrs.frozen(kw_only=True)
class ToolOutputTruncated(Event):
    """A tool's output was shortened before it entered the history."""

    call: ToolCall
    # Only typed: whoever listens to something else need not load the room.
    truncation: "truncate.Result"


tool_output_truncated = _signal("tool_output_truncated", ToolOutputTruncated)


@attrs.frozen(kw_only=True)
class ContextCompactionStart(Event):
    """A compaction is about to be attempted."""

    reason: CompactionReason
    tokens_before: int
    messages: int
    """The number of messages to be summarized."""


context_compaction_start = _signal("context_compaction_start", ContextCompactionStart)


@attrs.frozen(kw_only=True)
class ContextCompactionEnd(Event, SummaryOutcome):
    """A compaction succeeded and is stored, or nothing was changed."""

    summary: ContextSummary | None
    """None if nothing was changed."""
    tokens_before: int
    tokens_after: int
    dropped: tuple[Message, ...]
    reason: CompactionReason
    error: BaseException | None
    declined: str = ""
    """Why nothing was changed although nothing failed: the summary was of no use."""
    calls: tuple[ReportedCall, ...] = ()
    """The summary's model calls that reported their usage, even if the summary failed."""
    fallbacks: tuple[str, ...] = ()
    """Why the compactors that were tried before wrote no summary, in order."""


context_compaction_end = _signal("context_compaction_end", ContextCompactionEnd)


@attrs.frozen(kw_only=True)
class ContextChanged(Event):
    """A strategy has changed what is sent of the history. Sizes are numbers of messages.

    It is sent once, with the first request of which this is true, and not for those that extend it.
    """

    messages_before: int
    messages_after: int


context_changed = _signal("context_changed", ContextChanged)


@attrs.frozen(kw_only=True)
class EpochStart(Event):
    """A request does not extend the last one: what was sent before has changed.

    Sizes are in tokens by the counter. The prompt cache covers `reused_tokens` of `tokens`; the
    rest is written to it again.
    """

    changes: tuple[str, ...]
    """Why, as in `context.view.Prepared.changes`."""
    reused_tokens: int
    """The size of the start that the request shares with the last one."""
    tokens: int
    """The size of the request; 0 without a counter."""
    stale_replies: int
    """How many replies are sent without their reasoning, because what precedes them has
    changed."""


epoch_start = _signal("epoch_start", EpochStart)

signals: dict[str, NamedSignal] = dict(_namespace)
"""Every signal by name: for a recorder, or to log everything."""
