"""What goes into a run, and what comes out of it."""

from collections.abc import Iterable

import attrs

from agentic._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

__all__ = ["Request", "Result"]


_INCOMPLETE = {
    StopReason.MAX_TOKENS: "the reply was cut off at the limit of tokens",
    StopReason.CONTENT_FILTER: "the reply was withheld or refused",
    StopReason.ABORT: "the reply was broken off",
    StopReason.ERROR: "the provider failed in the middle of the reply",
}


def _messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return all_are(Message, messages, "Request.history")


@attrs.frozen
class Request:
    """One user request.

    Raises:
        ConfigError: a text with nothing in it, a history that does not consist of messages.
    """

    user_message: str = attrs.field(validator=must_be(str))
    """With more than white space in it: a provider refuses an empty message."""
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    """Instead of the Runner's, for this run."""
    history: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    """What was said before, for a Runner without a store; with one, the start of a new session."""

    @user_message.validator
    def _check_user_message(self, _: object, value: str) -> None:
        if not value.strip():
            raise ConfigError(
                "Request.user_message",
                value,
                "a text that is not blank",
                "pass what the user asks; to have a history answered, pass its last user message "
                "here and the messages before it as history",
            )


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
    """The sum over the run: of its decisions, and of its summaries as far as they report it."""
    stop_reason: StopReason
    """Why the last reply ended; MAX_TOKENS says that it was cut off."""
    exhausted: bool
    """Whether the turn limit ended the run."""

    @property
    def incomplete(self) -> str:
        """Why the reply is no complete answer, in words; empty if it is one.

        >>> Result(reply="", history=(), summary=None, tool_calls=(), tool_results=(),
        ...        usage=Usage(), stop_reason=StopReason.STOP, exhausted=False).incomplete
        'the model said nothing'
        """
        if self.exhausted:
            return "the limit of turns was reached before the model was done"
        silent = "" if self.reply.strip() else "the model said nothing"
        return _INCOMPLETE.get(self.stop_reason, silent)
