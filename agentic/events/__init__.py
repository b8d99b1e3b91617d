"""What happens in an agent, as blinker signals.

Start with `context_compaction_end`, `tool_execution_end` and `agent_end`.

A receiver takes the sender and one keyword argument, `event`: the frozen record named after the
signal, such as `AgentEnd` for `agent_end`, which is imported from here as well. Receivers may be
plain or async functions. Connect named functions, because blinker holds only weak references to
them:

>>> from agentic import events
>>> def show(sender, event):
...     print(event.tokens_before, "->", event.tokens_after)
>>> show = events.context_compaction_end.connect(show)
"""

import typing

from agentic._base import _lazy
from agentic.protocols import CompactionReason as CompactionReason

# `as` hands on a name to strict type checkers without listing it (design/layout.md).
if typing.TYPE_CHECKING:
    from agentic.events._running_call import current_call
    from agentic.events._signals import (
        AgentEnd,
        AgentStart,
        ContextChanged,
        ContextCompactionEnd,
        ContextCompactionStart,
        EpochStart,
        Event,
        InputTransformed,
        MessageEnd,
        MessageStart,
        MessageUpdate,
        ModelRequestEnd,
        ModelRequestStart,
        ToolExecutionEnd,
        ToolExecutionProgress,
        ToolExecutionStart,
        ToolOutputTruncated,
        TurnEnd,
        TurnStart,
        agent_end,
        agent_start,
        context_changed,
        context_compaction_end,
        context_compaction_start,
        epoch_start,
        input_transformed,
        message_end,
        message_start,
        message_update,
        model_request_end,
        model_request_start,
        signals,
        tool_execution_end,
        tool_execution_progress,
        tool_execution_start,
        tool_output_truncated,
        turn_end,
        turn_start,
    )

__all__ = [
    "AgentEnd",
    "AgentStart",
    "ContextChanged",
    "ContextCompactionEnd",
    "ContextCompactionStart",
    "EpochStart",
    "Event",
    "InputTransformed",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "ModelRequestEnd",
    "ModelRequestStart",
    "ToolExecutionEnd",
    "ToolExecutionProgress",
    "ToolExecutionStart",
    "ToolOutputTruncated",
    "TurnEnd",
    "TurnStart",
    "agent_end",
    "agent_start",
    "context_changed",
    "context_compaction_end",
    "context_compaction_start",
    "current_call",
    "epoch_start",
    "input_transformed",
    "message_end",
    "message_start",
    "message_update",
    "model_request_end",
    "model_request_start",
    "signals",
    "tool_execution_end",
    "tool_execution_progress",
    "tool_execution_start",
    "tool_output_truncated",
    "turn_end",
    "turn_start",
]

# The records and blinker, which has the signals, take half as long to load as attrs: whoever only
# builds a Runner has no event yet.
_MODULES = {
    "._running_call": ("current_call",),
    "._signals": (
        "AgentEnd",
        "AgentStart",
        "ContextChanged",
        "ContextCompactionEnd",
        "ContextCompactionStart",
        "EpochStart",
        "Event",
        "InputTransformed",
        "MessageEnd",
        "MessageStart",
        "MessageUpdate",
        "ModelRequestEnd",
        "ModelRequestStart",
        "ToolExecutionEnd",
        "ToolExecutionProgress",
        "ToolExecutionStart",
        "ToolOutputTruncated",
        "TurnEnd",
        "TurnStart",
        "agent_end",
        "agent_start",
        "context_changed",
        "context_compaction_end",
        "context_compaction_start",
        "epoch_start",
        "input_transformed",
        "message_end",
        "message_start",
        "message_update",
        "model_request_end",
        "model_request_start",
        "signals",
        "tool_execution_end",
        "tool_execution_progress",
        "tool_execution_start",
        "tool_output_truncated",
        "turn_end",
        "turn_start",
    ),
}
__getattr__, __dir__ = _lazy.load_lazily(
    __name__, {name: module for module, names in _MODULES.items() for name in names}
)
