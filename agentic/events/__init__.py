"""What happens in an agent, as blinker signals.

Start with `context_compaction_end`, `tool_execution_end` and `agent_end`.

A receiver takes the sender and one keyword argument, `event`: the frozen record named after the
signal. Receivers may be plain or async functions. Connect named functions, because blinker holds
only weak references to them:

>>> from agentic import events
>>> def show(sender, event):
...     print(event.tokens_before, "->", event.tokens_after)
>>> show = events.context_compaction_end.connect(show)
"""

from agentic.events._signals import (
    AgentEnd,
    AgentStart,
    CompactionReason,
    ContextChanged,
    ContextCompactionEnd,
    ContextCompactionStart,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelRequestEnd,
    ModelRequestStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolOutputTruncated,
    TurnEnd,
    TurnStart,
    agent_end,
    agent_start,
    context_changed,
    context_compaction_end,
    context_compaction_start,
    message_end,
    message_start,
    message_update,
    model_request_end,
    model_request_start,
    send,
    send_sync,
    signals,
    tool_execution_end,
    tool_execution_start,
    tool_output_truncated,
    turn_end,
    turn_start,
)

__all__ = [
    "AgentEnd",
    "AgentStart",
    "CompactionReason",
    "ContextChanged",
    "ContextCompactionEnd",
    "ContextCompactionStart",
    "Event",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "ModelRequestEnd",
    "ModelRequestStart",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolOutputTruncated",
    "TurnEnd",
    "TurnStart",
    "agent_end",
    "agent_start",
    "context_changed",
    "context_compaction_end",
    "context_compaction_start",
    "message_end",
    "message_start",
    "message_update",
    "model_request_end",
    "model_request_start",
    "send",
    "send_sync",
    "signals",
    "tool_execution_end",
    "tool_execution_start",
    "tool_output_truncated",
    "turn_end",
    "turn_start",
]
