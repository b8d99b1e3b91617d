"""The capability that keeps an agent's requests within the window."""

import contextlib
import copy
import dataclasses
import itertools
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelContextWindowExceededError, RetryModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters

from agentic._validate import is_whole
from agentic._waiting import LoopLock, off_loop
from agentic.bridges._view_parts import ViewParts, log_notes, tools_as_one
from agentic.bridges.pydantic_ai._history import History
from agentic.bridges.pydantic_ai._read import METADATA_KEY
from agentic.context.budget import CompactionTarget, Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared, Removal, View
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.providers.kit import at
from agentic.providers.overflow import is_context_overflow
from agentic.tokens import Counter
from agentic.tools import ToolDefinition

_Deps = TypeVar("_Deps")


_log = logging.getLogger(__name__)


@attrs.define(eq=False)
class _KnownConversation:
    """What is remembered of one conversation."""

    view: View
    history: History = attrs.field(factory=History)
    latest: Prepared | None = None
    """The decision about the latest request, of whichever run."""
    adopted: Any = None
    """The state in the messages that the View began with, or that it wrote."""
    described: Any = None
    """The tools of the latest request, as the framework describes them."""
    tools: tuple[ToolDefinition, ...] = ()
    """The same, as a View measures them."""
    lock: LoopLock = attrs.field(factory=LoopLock)


@attrs.define(eq=False)
class _RunRequest:
    """The latest request of one run."""

    given: list[ModelMessage]
    """The messages that it was made from, without a paused reply."""
    paused: list[ModelMessage]
    """The reply that is continued, if one is: it stays the last message."""
    prepared: Prepared
    smaller: list[ModelMessage] | None = None
    """What to send in the next attempt, after this one was refused as too large."""


@dataclasses.dataclass(eq=False)
class ContextBudget(AbstractCapability[_Deps]):
    """Keeps each request of an agent within a model's window.

    One object serves all conversations of an agent. They are told apart by the `conversation_id`
    that the framework writes into the messages. By default the messages of a run stay as they are:
    only the request is shorter, and the state of the summary is noted in the metadata of the
    request that it was made for. It survives `ModelMessagesTypeAdapter`.

    >>> import asyncio
    >>> from pydantic_ai import Agent
    >>> from pydantic_ai.models.test import TestModel
    >>> agent = Agent(TestModel(), capabilities=[ContextBudget(8_000)])
    >>> asyncio.run(agent.run("Why is the build red?")).output
    'success (no tool calls)'

    Raises:
        ConfigError: the model's window is unknown, or `max_conversations` is below 1.
    """

    window: Policy | int | str
    """The name of a model, the size of its window in tokens, or a complete Policy."""
    _: dataclasses.KW_ONLY
    compactor: Compactor | None = None
    """Writes the summaries; by default a Digest, which needs no model."""
    strategies: Chain | Sequence[ContextStrategy] = ()
    """Applied to the messages when an epoch begins."""
    counter: Counter | None = None
    """By default the best one installed for the model, otherwise an estimate."""
    rewrite: bool = False
    """Whether a summary also replaces the old messages of the run itself, which `all_messages()`
    then lacks."""
    max_conversations: int = 100
    """How many conversations are remembered. The state of any other is read from its messages."""
    _parts: ViewParts = dataclasses.field(init=False, repr=False)
    _conversations: dict[str, _KnownConversation] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )
    _request: _RunRequest | None = dataclasses.field(default=None, init=False, repr=False)
    """Only in the copy that serves one run."""
    _shared: "ContextBudget[_Deps]" = dataclasses.field(init=False, repr=False)
    """The object that the caller has, also in such a copy."""

    def __post_init__(self) -> None:
        """Check the arguments."""
        self._shared = self
        parts = ViewParts.of(self.window, self.compactor, self.strategies, self.counter)
        self._parts, self.counter, self.compactor = parts, parts.counter, parts.compactor
        is_whole(1, self.max_conversations, "max_conversations", "leave it at 100")
        parts.view(None)  # raises now for what a View does not accept

    async def for_run(self, ctx: RunContext[_Deps]) -> "ContextBudget[_Deps]":
        """Return a copy for one run, which shares all conversations with this object."""
        # Runs of one conversation may be parallel, and each of them retries its own request.
        return copy.copy(self)

    async def before_model_request(
        self, ctx: RunContext[_Deps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the messages that fit into the request."""
        given = list(request_context.messages)
        # Here, and not in `prepare_model_request`, which runs for each attempt. A paused reply is
        # continued: it stays the last message, after the request it began with.
        paused = [given.pop()] if isinstance(given[-1], ModelResponse) else []
        known = self._conversation(ctx)
        async with known.lock:  # a View decides about one request at a time
            prepared = await self._prepare(known, ctx, given, request_context)
            self._request = _RunRequest(given, paused, prepared)
            # Another list: applications store `new_messages()`, which must not have a gap.
            messages = await off_loop(len(given), self._take, known, ctx, prepared)
            request_context.messages = [*messages, *paused]
        return request_context

    async def on_model_request_error(
        self, ctx: RunContext[_Deps], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """After a context overflow, try once more with a strictly smaller request."""
        known, request = self._conversation(ctx), self._request
        refused = isinstance(error, ModelContextWindowExceededError) or is_context_overflow(error)
        # One retry for each request, as in every other bridge.
        if not refused or request is None or request.smaller is not None:
            raise error
        async with known.lock:
            if known.latest is not request.prepared:
                # A parallel run was served meanwhile, and a View shrinks what it prepared last.
                await self._prepare(known, ctx, request.given, request_context)
            target = self._target(known, ctx)
            prepared = await known.view.shrink(request.prepared.messages, target=target)
            if prepared is None:
                raise error
            messages = await off_loop(len(request.given), self._take, known, ctx, prepared)
            request.smaller = [*messages, *request.paused]
        raise RetryModelRequest from error

    async def prepare_model_request(
        self, ctx: RunContext[_Deps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """After a context overflow, put the smaller request into the next attempt."""
        if self._request is not None and self._request.smaller is not None:
            request_context.messages = list(self._request.smaller)
        return request_context

    def latest(self, conversation_id: str) -> Prepared | None:
        """Return the decision about a conversation's latest request: its size, whether it fits.

        Its messages and positions are those of the View. None if the conversation is not known.
        """
        known = self._conversations.get(conversation_id)
        return None if known is None else known.latest

    def explain(self, conversation_id: str) -> list[Removal]:
        """Return what is missing from a conversation's latest request or shortened in it, and why.

        Positions refer to the framework's messages.
        """
        known = self._conversations.get(conversation_id)
        if known is None:
            return []
        unit_of = known.history.unit_of
        return [
            attrs.evolve(each, positions=tuple(dict.fromkeys(map(unit_of, each.positions))))
            for each in known.view.explain()
        ]

    def _conversation(self, ctx: RunContext[_Deps]) -> _KnownConversation:
        name = ctx.conversation_id or ""
        known = self._conversations.pop(name, None) or _KnownConversation(self._parts.view(None))
        # By use: a dict keeps the order of insertion, so the first one was idle longest.
        self._conversations[name] = known
        while len(self._conversations) > self.max_conversations:
            del self._conversations[next(iter(self._conversations))]
        return known

    async def _prepare(
        self,
        known: _KnownConversation,
        ctx: RunContext[_Deps],
        given: list[ModelMessage],
        request_context: ModelRequestContext,
    ) -> Prepared:
        """Return what the conversation's View decides about a run's messages."""
        await off_loop(len(given), self._read, known, given)
        known.view.model = request_context.model.model_name
        known.view.server_drops = _asks_to_drop(request_context.model_settings)
        return await known.view.prepare(
            known.history.messages,
            system_prompt=_instructions(request_context.model_request_parameters),
            tools=self._tools(known, ctx, request_context.model_request_parameters),
            target=self._target(known, ctx),
        )

    def _read(self, known: _KnownConversation, given: list[ModelMessage]) -> None:
        """Read the messages; a summary that another process noted in them is used."""
        known.history.read(given, known.view.covered)
        state = known.history.new_state
        # Once: going back to it after a later summary would mean a summary at every request.
        if state is None or state == known.adopted:
            return
        known.adopted = state
        view: View | None = None
        # Whoever wrote the messages wrote their metadata: anything may be in it.
        with contextlib.suppress(ConfigError, TypeError, AttributeError):
            # A forged one could make a View leave out the system prompt.
            if _keeps_prompts(state, known.history.messages):
                view = self._parts.view(state)
        if view is None:  # what is wrong would quote the summary
            _log.warning("a summary's state is not used: it is damaged, or of another version")
        else:
            known.view = view

    def _target(self, known: _KnownConversation, ctx: RunContext[_Deps]) -> CompactionTarget | None:
        if not self.rewrite:
            return None

        async def replace(_: list[Message], after: list[Message]) -> list[Message]:
            # In place: the run goes on with this very list.
            ctx.messages[:] = known.history.write(after)
            return after

        return CompactionTarget(self._shared, ctx.run_id or "", replace)

    def _take(
        self, known: _KnownConversation, ctx: RunContext[_Deps], prepared: Prepared
    ) -> list[ModelMessage]:
        known.latest = prepared
        log_notes(_log, prepared)
        compaction = prepared.compaction
        # In the metadata of the request, which is stored with it and never sent: so it survives the
        # framework's serializer, and another process has nothing to be given. With `rewrite`, the
        # summary is one of the messages, and has its state in its own metadata.
        if compaction is not None and compaction.changed and not self.rewrite:
            known.adopted = known.view.state()
            latest = ctx.messages[-1]
            latest.metadata = {**(latest.metadata or {}), METADATA_KEY: known.adopted}
        return known.history.write(prepared.messages)

    def _tools(
        self, known: _KnownConversation, ctx: RunContext[_Deps], parameters: ModelRequestParameters
    ) -> tuple[ToolDefinition, ...]:
        """Return the tools of a request, as a View measures them."""
        described = [
            (tool.name, tool.description, tool.parameters_json_schema)
            for tool in (*parameters.function_tools, *parameters.output_tools)
            # A deferred tool is only sent after the model has found it.
            if not tool.defer_loading or tool.name in ctx.discovered_tool_names
        ]
        if parameters.output_object is not None:
            described.append(("", "", parameters.output_object.json_schema))
        if described != known.described:
            known.described = described
            known.tools = tools_as_one(described)
        return known.tools


def _asks_to_drop(settings: Any) -> bool:
    """Return whether the caller lets the provider drop stale reasoning.

    The framework asks for it after a refusal, once, and warns: with its first retry the running
    turn is without its reasoning, so that turn is better sent as text.
    """
    thinking = at(settings, "anthropic_thinking"), at(settings, "extra_body", "thinking")
    asked = (at(each, "block_binding", "prefix_mismatch_behavior") for each in thinking)
    return "drop_block" in asked


def _keeps_prompts(state: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Return whether a state keeps what a View always keeps; a client may have written it."""
    compaction = state.get("compaction") or {}
    prompts = itertools.takewhile(lambda each: each.role == "system" and not each.summary, messages)
    covered: int = min(sum(1 for _ in prompts), compaction.get("covered", 0))
    return set(range(covered)) <= set(compaction.get("kept", ()))


def _instructions(parameters: ModelRequestParameters) -> str:
    return "\n\n".join(part.content for part in parameters.instruction_parts or ())
