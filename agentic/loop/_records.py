"""What goes into a run, and what comes out of it."""

from collections.abc import Iterable

import attrs

from agentic._given import all_are, must_be
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

__all__ = ["Request", "Result"]


def _messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return all_are(Message, messages, "Request.history")


@attrs.frozen
class Request:
    """One user request.

    Raises:
        ConfigError: a text that is none, a history that does not consist of messages.
    """

    user_message: str = attrs.field(validator=must_be(str))
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    """Instead of the Runner's, for this run."""
    history: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    """What was said before, for a Runner without a store; with one, the start of a new session."""


@attrs.frozen(kw_only=True)
class Result:
    """What became of a run."""

    reply: str
    """The last text of the model."""
    history: tuple[Message, ...] = attrs.field(repr=lambda history: f"<{len(history)} messages>")
    """The whole history after the run, compacted if it was."""
    summary: ContextSummary | None
    """The latest summary, if this run compacted."""
    tool_calls: tuple[ToolCall, ...]
    """Every call of the run, in order."""
    tool_results: tuple[ToolResult, ...] = attrs.field(
        repr=lambda results: f"<{len(results)} results>"
    )
    """Their results, as they stand in the history."""
    usage: Usage
    """The sum over the run."""
    stop_reason: StopReason
    """Why the last reply ended; MAX_TOKENS says that it was cut off."""
    exhausted: bool
    """Whether the turn limit ended the run."""
