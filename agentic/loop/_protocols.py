"""The input and the result of a run, and the protocol of the model that decides its turns."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

import attrs

from agentic._protocols import Decision, Input
from agentic._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.loop._limits import RunLimit, limit_text
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

_INCOMPLETE = {
    StopReason.MAX_TOKENS: "the reply was cut off at the limit of tokens",
    StopReason.CONTENT_FILTER: "the reply was withheld or refused",
    StopReason.ABORT: "the reply was broken off",
    StopReason.ERROR: "the provider failed in the middle of the reply",
}


class Decider(Protocol):
    """A model, or anything that decides in its place."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide on the next step.

        Raises:
            ContextOverflow: the request is larger than the window. The loop compacts and
                retries.
            Exception: any other error ends the run; every complete message is stored.
        """
        ...


class StreamingDecider(Decider, Protocol):
    """A decider whose reply can be watched as it arrives. The loop prefers `stream` to `decide`."""

    def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Yield pieces of the reply as they arrive, then the Decision.

        Raises what `decide` raises.
        """
        ...


def provider_and_model(decider: Decider) -> tuple[str, str]:
    """Return what a decider's optional `name` says, as in `anthropic:claude-opus-4-5`.

    Without a colon it is the model. What is unknown is empty.
    """
    name = getattr(decider, "name", "")
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    return (provider, model) if colon else ("", provider)


def _messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return all_are(Message, messages, "Request.history")


@attrs.frozen
class Request:
    """One user request.

    Raises:
        ConfigError: a text is empty or blank, or the history contains other objects than messages.
    """

    user_message: str = attrs.field(validator=must_be(str))
    """Must not be blank: providers refuse an empty message."""
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    """Replaces the Runner's system prompt for this run."""
    history: tuple[Message, ...] = attrs.field(default=(), converter=_messages)
    """The earlier conversation, if the Runner has no store; otherwise the start of a new
    session."""

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
    """The outcome of a run."""

    reply: str
    """The last text from the model."""
    history: tuple[Message, ...] = attrs.field(repr=lambda history: f"<{len(history)} messages>")
    """The complete history after the run; it begins with a summary if it was compacted."""
    summary: ContextSummary | None
    """The latest summary, if this run compacted."""
    tool_calls: tuple[ToolCall, ...]
    """Every call of the run, in order."""
    tool_results: tuple[ToolResult, ...] = attrs.field(
        repr=lambda results: f"<{len(results)} results>"
    )
    """The results of `tool_calls`, as stored in the history."""
    usage: Usage
    """The total of the run: its decisions, and its summaries as far as they report usage."""
    stop_reason: StopReason
    """Why the last reply ended; MAX_TOKENS means that it was cut off."""
    exhausted: bool
    """Whether a limit ended the run: the turns, or one of `RunLimits`. `Runner.resume` goes on."""
    limit: RunLimit | None = None
    """The limit that ended the run."""

    @property
    def incomplete(self) -> str:
        """Why the reply is not a complete answer, as a sentence; empty if it is complete.

        >>> Result(reply="", history=(), summary=None, tool_calls=(), tool_results=(),
        ...        usage=Usage(), stop_reason=StopReason.STOP, exhausted=False).incomplete
        'the model said nothing'
        """
        if self.exhausted:
            return f"the limit of {limit_text(self.limit)} was reached before the model was done"
        if self.reply.strip():
            return _INCOMPLETE.get(self.stop_reason, "")
        # A run asks once more after a reply of reasoning alone.
        reasoned = (
            self.stop_reason is StopReason.OTHER and self.history and self.history[-1].reasoning
        )
        again = " but reasoned, also when it was asked again" if reasoned else ""
        return _INCOMPLETE.get(self.stop_reason, f"the model said nothing{again}")
