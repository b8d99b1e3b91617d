"""What rooms share: what a decider is given and returns, and the protocols of the other parts.

Each is declared here once and is public in the room that it belongs to, so that a room can use it
without importing that room. `for_conversation` is the only user of one optional method.
"""

import enum
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs

from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolResult
from agentic.usage import StopReason, Usage, of_last_request


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


def _media(media: Iterable[Media]) -> tuple[Media, ...]:
    return all_are(Media, media, "Decision.media")


def _transformations(
    items: "Iterable[InputTransformation]",
) -> "tuple[InputTransformation, ...]":
    return all_are(InputTransformation, items, "Decision.input_transformations")


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


@attrs.frozen(kw_only=True)
class InputTransformation:
    """A part of the input that the provider did not show to the model as it was sent.

    >>> InputTransformation(kind="thinking_dropped", place="messages.1.content.0").removed
    True
    """

    kind: str = attrs.field(default="", validator=must_be(str))
    """In the provider's words: `thinking_dropped` or `thinking_mismatch_allowed` of Anthropic,
    `reasoning_removed` of OpenAI."""
    place: str = attrs.field(default="", validator=must_be(str))
    """Where it is in the request, such as `messages.1.content.0`, or the id of the item."""
    reason: str = attrs.field(default="", validator=must_be(str))
    """In the provider's words: `prefix_binding_mismatch`, `model_mismatch`."""

    @property
    def removed(self) -> bool:
        """Return whether the model did not see it."""
        return not self.kind.endswith("allowed")


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
    """What this decision used, and is billed for; None if the provider does not report it."""
    # By the calls, unless it is given: a decider written by hand seldom says it.
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
    media: tuple[Media, ...] = attrs.field(default=(), kw_only=True, converter=_media)
    """The images, sounds and documents that the model made."""
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
    input_transformations: tuple[InputTransformation, ...] = attrs.field(
        default=(), kw_only=True, converter=_transformations
    )
    """What the provider removed from the input, such as reasoning behind a change; not stored."""
    last_request: Usage | None = attrs.field(
        default=None, kw_only=True, validator=must_be(Usage, optional=True)
    )
    """The part of `usage` that belongs to the last request, if the decision took several: those of
    a paused turn, or of tools that the provider runs. None if it took one, or if only the sum is
    known, which `usage.summed` says."""

    @property
    def request_usage(self) -> Usage | None:
        """How large the last request was, and its reply; None if only a sum is known."""
        return of_last_request(self.usage, self.last_request)


# Not in the room of events: a budget compares it, and would load blinker.
class CompactionReason(enum.StrEnum):
    """The trigger of a compaction."""

    WINDOW = "window"
    """The context exceeds the window less the reserve."""
    TOKENS = "tokens"
    """The context has reached `Policy.max_tokens`."""
    MESSAGES = "messages"
    """There have been `Policy.max_messages` messages since the last summary."""
    FORCE = "force"
    """It was requested explicitly."""


class Compactor(Protocol):
    """Summarizes the messages that a compaction replaces."""

    # Not `async def`: a method that returns any other awaitable fits, too.
    def compact(self, messages: list[Message], /) -> Awaitable[str]:
        """Return the text of a summary that replaces `messages`.

        The first of them may be the former summary, which must be merged into the new one. The call
        may fail or take long: the caller then continues with an unchanged history.

        If the next summary needs more than the text, return it as the notes of a
        `messages.SummaryText`. They are passed back in `message.summary.notes` if that summary was
        this compactor's. Otherwise that may hold another compactor's notes, or none.
        """
        ...


class GuidedCompactor(Compactor, Protocol):
    """A compactor that accepts instructions for a summary."""

    def compact_with(self, messages: list[Message], instructions: str, /) -> Awaitable[str]:
        """Summarize as `compact` does, with regard to `instructions`."""
        ...


class Executor(Protocol):
    """The tools of an agent. `tools.Registry` is an example."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """Return what the model may call, in a stable order."""
        ...

    # By position, here and in every protocol, so that an implementation names it as it likes.
    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run one call. An exception becomes a result that the model can read."""
        ...


@runtime_checkable
class Store(Protocol):
    """Stores a conversation."""

    async def append(self, message: Message, /) -> None:
        """Store a message after all others; once this returns, the message is not lost.

        An append that raises or is cancelled has stored the whole message or nothing.
        """
        ...

    async def load(self) -> list[Message]:
        """Return the history repaired by `close_open_rounds`, so that a provider accepts it.

        The list belongs to the caller. What is stored is not repaired: a result that is appended
        later replaces the synthetic one.
        """
        ...


# Checked at run time, because a store that cannot replace is one all the same.
@runtime_checkable
class Rewriter(Store, Protocol):
    """A store whose history can be replaced, which is what a compaction does."""

    async def replace(self, messages: Sequence[Message], /, *, replaces: int | None = None) -> None:
        """Make these messages the history, completely or not at all.

        With `replaces`, they replace only that many messages, counted in the list that this store
        loaded last, followed by what this store has appended since. All other messages are kept
        after the new ones, whoever appended them, even one that arrives during the call. Raises
        `HistoryConflict` if the history was replaced or restored since that load.

        Results that `load` made up are not stored, so that a real one can still replace them.
        """
        ...


def for_conversation(part: Any, recall: str | None) -> Any:
    """Return a part adapted to one conversation.

    A strategy or compactor may have `for_conversation(*, recall)`. It returns one that knows
    nothing of other conversations, and that mentions the recall tool, if there is one, in the text
    it writes. Other parts are used as they are.
    """
    # Optional: a plain callable is a strategy, too.
    adapt = getattr(part, "for_conversation", None)
    return part if adapt is None else adapt(recall=recall)
