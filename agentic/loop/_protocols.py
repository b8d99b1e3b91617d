"""What goes into a run and comes out of it, and what the loop asks of a model on the way."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

import attrs

from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Message, ProviderPayload, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

__all__ = ["Decider", "Decision", "Input", "Request", "Result", "StreamingDecider"]
_INCOMPLETE = {
    StopReason.MAX_TOKENS: "the reply was cut off at the limit of tokens",
    StopReason.CONTENT_FILTER: "the reply was withheld or refused",
    StopReason.ABORT: "the reply was broken off",
    StopReason.ERROR: "the provider failed in the middle of the reply",
}


@attrs.frozen(kw_only=True)
class Input:
    """What a model is to decide on.

    `history` is complete: it ends with the current request, or with the results of the last turn.
    The other fields repeat parts of it for deciders that need no more.
    """

    system_prompt: str
    user_message: str
    """The text of the current request."""
    history: tuple[Message, ...]
    """The view: everything to send, the system prompt excepted."""
    tools: tuple[ToolDefinition, ...]
    tool_calls: tuple[ToolCall, ...]
    """The calls of the last turn; none in the first."""
    tool_results: tuple[ToolResult, ...]
    """Their results."""
    turn: int
    """1 for the first decision of a run."""


def _calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return all_are(ToolCall, calls, "Decision.tool_calls")


def _stop(reason: StopReason | str) -> StopReason:
    try:
        return StopReason(reason)
    except ValueError as error:
        raise ConfigError(
            "Decision.stop_reason",
            reason,
            f"one of {', '.join(StopReason)}",
            "map the provider's word by a usage.StopWords, and keep it in stop_word",
        ) from error


@attrs.frozen
class Decision:
    """What a model decided: a reply, calls of tools, or both.

    >>> Decision("Done.").stop_reason
    <StopReason.STOP: 'stop'>
    >>> Decision(tool_calls=[ToolCall("c1", "read")]).stop_reason
    <StopReason.TOOL: 'tool'>

    Raises:
        ConfigError: a field that holds what it cannot mean.
    """

    reply: str = attrs.field(default="", validator=must_be(str))
    tool_calls: tuple[ToolCall, ...] = attrs.field(default=(), converter=_calls)
    """An id may be empty or used before: the loop makes it a new one."""
    usage: Usage | None = attrs.field(default=None, validator=must_be(Usage, optional=True))
    """What the call used; None where the provider does not say."""
    stop_reason: StopReason = attrs.field(
        default=attrs.Factory(
            lambda self: StopReason.TOOL if self.tool_calls else StopReason.STOP, takes_self=True
        ),
        converter=_stop,
    )
    native: ProviderPayload | None = attrs.field(
        default=None, validator=must_be(ProviderPayload, optional=True)
    )
    """The provider's own items, to be sent back to it as they are."""
    stop_word: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The provider's own word for `stop_reason`."""
    reasoning: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """Visible thinking."""


class Decider(Protocol):
    """A model, or whatever decides in its place."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide on the next step.

        Raises:
            ContextOverflow: the request is larger than the window: the loop compacts and retries.
            Exception: anything else ends the run, with all that is complete stored.
        """
        ...


class StreamingDecider(Decider, Protocol):
    """A decider whose reply can be watched as it comes. The loop prefers `stream` to `decide`."""

    def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Return pieces of the reply as they come, and the Decision last; raises as `decide`."""
        ...


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
                "pass the user's request; to continue a history, pass its last user message "
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
