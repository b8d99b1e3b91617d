"""The small interfaces between the parts of an agent, and what they pass to each other.

Start with `Decider`, `Executor`, `Store`, `Compactor` and `Counter`.

An implementation does not inherit from a protocol; it has its one or two methods. What takes a part
asks for the smallest protocol that it needs, and a further ability is a further protocol: a `Store`
that can also replace its history is a `Rewriter`, and one that loses nothing is an `Archive`.
Rooms hand on the protocols that belong to them: `loop.Decider` is `protocols.Decider`.
"""

import enum
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol, runtime_checkable

import attrs

from agentic._base._lazy import hashlib
from agentic._base._short_repr import short_repr
from agentic._base._validate import all_are, must_be
from agentic.errors import ConfigError
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolResult
from agentic.usage import StopReason, Usage
from agentic.usage._usage import of_last_request

__all__ = [
    "Archive",
    "ChangeWriter",
    "CompactionContext",
    "CompactionReason",
    "Compactor",
    "ContextualCompactor",
    "Counter",
    "Decider",
    "Decision",
    "Executor",
    "GuidedCompactor",
    "Input",
    "InputTransformation",
    "LastRequest",
    "NativeSummarizer",
    "OutputStore",
    "RequestCodec",
    "RequestPrefix",
    "Rewriter",
    "Store",
    "ToolDefinition",
]

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""The most permissive rule, https://modelcontextprotocol.io/specification/2025-11-25/server/tools
(2026-11).

Providers are stricter: Anthropic allows no dot, OpenAI no dot and at most 64 characters.
"""
_WITHHOLD = "to withhold a tool from everybody, do not register it"


def _no_parameters() -> dict[str, Any]:
    # With properties, which OpenAI demands: see `tool_parameters` of the providers.
    return {"type": "object", "properties": {}}


def _callers(callers: Iterable[str]) -> tuple[str, ...]:
    # `tuple` would split a str into its letters.
    items = (callers,) if isinstance(callers, str) else callers
    return all_are(str, items, "ToolDefinition.allowed_callers", _WITHHOLD)


@short_repr
@attrs.frozen
class ToolDefinition:
    """A tool as it is described to the model.

    >>> ToolDefinition("now", "Tell the time.").parameters
    {'type': 'object', 'properties': {}}

    Raises:
        ConfigError: no provider accepts the name, the parameters are not a JSON Schema of an
            object, there are no callers, or `retry` is neither `always` nor `never`.
    """

    DIRECT: ClassVar[str] = "direct"
    """The model itself, in its reply: the name that Anthropic and OpenAI both use for this caller.

    https://platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling,
    https://openai.github.io/openai-agents-js/openai/agents/type-aliases/toolallowedcaller (2026-11)
    """

    name: str = attrs.field()
    description: str = attrs.field(default="", validator=must_be(str))
    # Not part of the hash, because a dict has none; equal definitions still have equal hashes.
    parameters: Mapping[str, Any] = attrs.field(factory=_no_parameters, hash=False)
    """The arguments, as a JSON Schema of type object. Treat it as read-only."""
    allowed_callers: tuple[str, ...] = attrs.field(
        default=(DIRECT,), kw_only=True, converter=_callers
    )
    """Who may call it: `direct` is the model itself; any other name is one of the host's
    callers."""

    annotations: Mapping[str, Any] = attrs.field(
        factory=dict, kw_only=True, hash=False, validator=must_be(Mapping)
    )
    """What the tool's author says about its effects, for policies and never sent to a model: by the
    names of MCP, `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint` and `title`.
    A claim, not a guarantee: rely on it only if you trust the author.
    https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations (2026-11)"""

    retry: str = attrs.field(default="always", kw_only=True)
    """What a durable run does with a call whose result was lost when its process died. `always`
    makes the call again. `never` does not: the model reads that the outcome is unknown."""

    @name.validator
    def _check_name(self, _: object, name: object) -> None:
        # Not `match` with `$`, which would accept a line feed after the name.
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise ConfigError(
                "ToolDefinition.name",
                name,
                "1 to 128 of the characters A-Z a-z 0-9 _ . -",
            )

    @parameters.validator
    def _check_parameters(self, _: object, parameters: object) -> None:
        if not (isinstance(parameters, Mapping) and parameters.get("type") == "object"):
            raise ConfigError(
                "ToolDefinition.parameters",
                parameters,
                'a JSON Schema with "type": "object"',
                "wrap a single value into an object with one property",
            )
        try:
            _canonical(parameters)
        # A server may send any schema; one that is nested too deeply is a RecursionError.
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                "ToolDefinition.parameters",
                parameters,
                "JSON data",
                f"{error}",
            ) from error

    @allowed_callers.validator
    def _check_callers(self, _: object, callers: tuple[str, ...]) -> None:
        if not callers or not all(callers):
            raise ConfigError(
                "ToolDefinition.allowed_callers",
                callers,
                f"one caller or more, such as {self.DIRECT!r} for the model itself",
                _WITHHOLD,
            )

    @retry.validator
    def _check_retry(self, _: object, retry: object) -> None:
        if retry not in ("always", "never"):
            remedy = "write never for a tool that must not act twice"
            raise ConfigError("ToolDefinition.retry", retry, "always or never", remedy)

    @property
    def schema_hash(self) -> str:
        """The SHA-256, in hex, of the name and the parameters that a call was written for.

        Neither the order of keys nor the wording of the tool's description affects it.

        >>> told, untold = ToolDefinition("now", "Tell the time."), ToolDefinition("now")
        >>> told.schema_hash == untold.schema_hash
        True
        """
        canonical = _canonical({"name": self.name, "parameters": self.parameters})
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _canonical(value: object) -> str:
    # Without NaN, which is no JSON, and without spaces: every process has the same hash.
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_dict
    )


def _as_dict(value: object) -> dict[str, Any]:
    # The json module writes no Mapping but dict, and a shared schema may be a MappingProxyType.
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot represent {type(value).__name__}")


@attrs.frozen
class RequestPrefix:
    """What precedes the messages of a request."""

    system_prompt: str = ""
    tools: tuple[ToolDefinition, ...] = ()


@short_repr
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
    prefix: RequestPrefix | None = attrs.field(
        default=None, validator=must_be(RequestPrefix, optional=True)
    )
    """What to send in front of the history, if messages in it say what has changed since: see
    `ChangeWriter`. None if that is `system_prompt` and `tools`."""

    @property
    def front(self) -> RequestPrefix:
        """Return what precedes the history on the wire."""
        return self.prefix or RequestPrefix(self.system_prompt, self.tools)


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


def _calls(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    return all_are(ToolCall, calls, "Decision.tool_calls")


def _media(media: Iterable[Media]) -> tuple[Media, ...]:
    return all_are(Media, media, "Decision.media")


def _transformations(items: Iterable[InputTransformation]) -> tuple[InputTransformation, ...]:
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


@short_repr
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

    def to_message(self, timestamp: datetime | None = None) -> Message:
        """Return the reply as a history keeps it, with the calls as the model made them.

        >>> Decision("Done.", media=[Media("image/png", b"...")]).to_message().content
        'Done.'
        """
        return Message(
            "assistant",
            self.reply,
            reasoning=self.reasoning,
            tool_calls=self.tool_calls,
            media=self.media,
            usage=self.usage,
            last_request=self.last_request,
            native=self.native,
            timestamp=timestamp,
        )


class Counter(Protocol):
    """Counts the tokens of a text.

    Deterministic, so that a cut never moves by itself. Never raises, whatever the text.
    """

    def count(self, text: str, /) -> int:
        """Return the number of tokens; 0 for an empty text."""
        ...


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


class Executor(Protocol):
    """The tools of an agent. `tools.Registry` is an example."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """Return what the model may call, in a stable order."""
        ...

    # By position, here and in every protocol, so that an implementation names it as it likes.
    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run one call. An exception becomes a result that the model can read."""
        ...


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


class RequestCodec(Protocol):
    """The form in which somebody's own function takes requests and returns replies."""

    def write_request(self, request: Input, /) -> Any:
        """Return a request in that form; all of it that was sent before is written as it was."""
        ...

    def read_reply(self, reply: Any, /) -> Decision:
        """Return what a reply says."""
        ...


class NativeSummarizer(Protocol):
    """A model whose provider compacts a conversation by itself. Some deciders are one."""

    @property
    def name(self) -> str:
        """The adapter and the model, as in `anthropic:claude-opus-5-5`."""
        ...

    async def compact_natively(self, request: Input, instructions: str, /) -> Decision:
        """Return a reply whose payload is the provider's compaction of a whole request.

        Raises:
            CompactionRefused: the provider made none.
            Exception: whatever else a request fails with; nothing was changed.
        """
        ...


class ChangeWriter(Protocol):
    """Writes a changed system prompt or changed tools as messages. Some deciders are one.

    A provider reads a request whose system prompt or tools have changed as another one: nothing of
    it is in the cache, and reasoning that is bound to it is stale. What is appended changes
    nothing.
    """

    def write_change(
        self, before: RequestPrefix, after: RequestPrefix, /
    ) -> Sequence[Message] | None:
        """Return the messages that say what has changed; none if the wire shows no difference.

        They are sent behind a user message or results, and stay there. Return None if the provider
        has no form for the change: it then begins an epoch.
        """
        ...


@attrs.frozen(kw_only=True)
class LastRequest:
    """The last request of a conversation as it was sent, and all that followed it."""

    messages: tuple[Message, ...] = attrs.field(repr=lambda messages: f"<{len(messages)}>")
    system_prompt: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    model: str = ""
    """The model that it was sent to; empty if it is not known."""
    tokens: int = 0
    """The size of all of it, with system prompt and tools."""
    age_seconds: float | None = None
    """How long ago it was sent; None if that is not known."""


@attrs.frozen(kw_only=True)
class CompactionContext:
    """What a compactor can know besides the messages that it summarizes."""

    instructions: str = ""
    """What the summary should focus on."""
    last_request: LastRequest | None = None
    """Up to the calls that are not answered yet; None if the conversation does not continue what
    was sent last."""
    model: str = ""
    """The model that the next request is for; empty if it is not known."""
    context_window: int = 0
    """The window of that model, in tokens; 0 if it is not known."""
    max_tokens: int | None = None
    """The largest size of a summary that is shown whole; None if nothing is known of it."""
    ask: Callable[[Input], Awaitable[Decision]] | None = None
    """Asks the model of the conversation; None if nobody said how."""
    native: NativeSummarizer | None = None
    """The model of the conversation, if its provider compacts by itself."""
    execute: Callable[[ToolCall], Awaitable[ToolResult]] | None = None
    """Carries out a call by the agent's own tools; None if nobody said how."""
    kept: tuple[Message, ...] = attrs.field(default=(), repr=False)
    """The messages that will follow the summary."""
    codec: RequestCodec | None = None
    """The form in which a caller's own function is asked; None for `Input` and `Decision`."""
    failures: list[str] = attrs.field(factory=list, eq=False)
    """Why compactors that were tried first wrote no summary, in order. Each compactor that tries
    another one adds to it."""
    covered: list[int] = attrs.field(factory=list, eq=False)
    """How many messages of the last request a provider's compaction stands for, if it was made of
    just these: reasoning behind them stays valid behind the compaction."""


class ContextualCompactor(Compactor, Protocol):
    """A compactor that uses what is known besides the messages."""

    def compact_in(self, messages: list[Message], context: CompactionContext, /) -> Awaitable[str]:
        """Summarize as `compact` does, in a conversation with this context."""
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


@runtime_checkable
class Archive(Rewriter, Protocol):
    """A rewriter that never loses a message."""

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order, including replaced ones.

        A message that only a replace added, such as a summary, is not included.
        """
        ...

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet; another call undoes the one before.

        The history is then as if that replace had never happened: what was appended after it
        follows the earlier history. Raises `NothingToRestore` if there is no replace to undo.
        """
        ...


@runtime_checkable
class OutputStore(Protocol):
    """A store that keeps whole tool outputs, for those that the history holds cut."""

    async def put(self, output: str, /) -> str:
        """Store an output and return its reference; once this returns, the output is not lost.

        The reference depends only on the text, so equal outputs are stored once.
        """
        ...

    async def get(self, ref: str, /) -> str:
        """Return a stored output, whole. Raises `OutputNotFound` if it was never stored here."""
        ...


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
