"""What a decider is given and what it returns: an `Input` and a `Decision`.

Both are public in `agentic.loop`. They are declared here so that events can carry them.
"""

from collections.abc import Iterable

import attrs

from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.usage import StopReason, Usage

__all__ = ["Decision", "Input"]


@attrs.frozen(kw_only=True)
class Input:
    """What a model bases its decision on.

    `history` is complete: it ends with the current request, or with the results of the last turn.
    The other fields repeat parts of it, for deciders that need only those.
    """

    system_prompt: str = ""
    user_message: str
    """The text of the current request."""
    history: tuple[Message, ...]
    """The view: everything to send except the system prompt."""
    tools: tuple[ToolDefinition, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls of the last turn; empty in the first turn."""
    tool_results: tuple[ToolResult, ...] = ()
    """The results of `tool_calls`."""
    turn: int = 1
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
    """What a model decided: a reply, tool calls, or both.

    >>> Decision("Done.").stop_reason
    <StopReason.STOP: 'stop'>
    >>> Decision(tool_calls=[ToolCall("c1", "read")]).stop_reason
    <StopReason.TOOL: 'tool'>

    Raises:
        ConfigError: a field has a value of the wrong type or kind.
    """

    reply: str = attrs.field(default="", validator=must_be(str))
    tool_calls: tuple[ToolCall, ...] = attrs.field(default=(), converter=_calls)
    """An id may be empty or already used: the loop then assigns a new one."""
    usage: Usage | None = attrs.field(default=None, validator=must_be(Usage, optional=True))
    """The usage of this call; None if the provider does not report it."""
    stop_reason: StopReason = attrs.field(
        default=attrs.Factory(
            lambda self: StopReason.TOOL if self.tool_calls else StopReason.STOP, takes_self=True
        ),
        converter=_stop,
    )
    native: ProviderPayload | None = attrs.field(
        default=None, validator=must_be(ProviderPayload, optional=True)
    )
    """The provider's own items, sent back to it unchanged."""
    stop_word: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The provider's own word for `stop_reason`."""
    reasoning: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """Visible thinking."""
    provider: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """Who was asked, as in a decider's `name`: `anthropic`, `openai_chat`. This field and the next
    three are for events and traces, are not stored, and are empty where they are unknown."""
    request_model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The model that was asked for."""
    response_model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The model that replied, in the provider's words. It may be more specific than
    `request_model`."""
    response_id: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The provider's own id of the reply."""
