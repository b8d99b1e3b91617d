"""The capability that keeps an agent's requests within the window."""

import contextlib
import copy
import dataclasses
import itertools
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import attrs
from pydantic_ai import RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters

from agentic._base._validate import is_whole
from agentic._base._waiting import LoopLock
from agentic.bridges._asking import decision_of
from agentic.bridges.kit import ListView
from agentic.bridges.kit._view_parts import ViewParts, read_refusal
from agentic.bridges.pydantic_ai._form import PydanticForm
from agentic.bridges.pydantic_ai._read import METADATA_KEY, ours, read
from agentic.bridges.pydantic_ai._usage import usage
from agentic.context.budget import Compactor, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared
from agentic.context.view._explain import Removal
from agentic.errors import ConfigError, ContextOverflow
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.providers.kit import at
from agentic.tokens import Counter

_Deps = TypeVar("_Deps")


_log = logging.getLogger(__name__)


@attrs.define(eq=False)
class _Remembered:
    """What is remembered of one conversation."""

    view: ListView
    adopted: Any = None
    """The state in the messages that the View began with, or that it wrote."""
    lock: LoopLock = attrs.field(factory=LoopLock)
    """For the two steps after a refusal, between which no other request may be."""


@attrs.define(eq=False)
class _RunRequest:
    """The latest request of one run."""

    given: list[ModelMessage]
    """The messages that it was made from, without a paused reply."""
    paused: list[ModelMessage]
    """The reply that is continued, if one is: it stays the last message."""
    prepared: Prepared | None
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
    """Writes the summaries; by default a Digest, which needs no model. A `Continuation()` asks the
    agent's own model."""
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
    _conversations: dict[str, _Remembered] = dataclasses.field(
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
        history = list(request_context.messages)
        # Here, and not in `prepare_model_request`, which runs for each attempt. A paused reply is
        # continued: it stays the last message, after the request it began with.
        tail = [history.pop()] if isinstance(history[-1], ModelResponse) else []
        conversation = self._conversation(ctx)
        async with conversation.lock:
            messages = await self._fit(conversation, ctx, history, request_context)
            self._request = _RunRequest(history, tail, conversation.view.latest)
            # Another list: applications store `new_messages()`, which must not have a gap.
            request_context.messages = [*messages, *tail]
        return request_context

    async def on_model_request_error(
        self, ctx: RunContext[_Deps], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """If a request was refused as too large, try once more with a strictly smaller one."""
        conversation, request = self._conversation(ctx), self._request
        refusal = read_refusal(error, ModelContextWindowExceededError)
        # One retry for each request, as in every other bridge.
        if refusal is None or request is None or request.smaller is not None:
            raise error
        async with conversation.lock:
            if conversation.view.latest is not request.prepared:
                # A parallel run was served meanwhile, and a View shrinks what it prepared last.
                await self._fit(conversation, ctx, request.given, request_context)
            try:
                messages = await self._fit(
                    conversation, ctx, request.given, request_context, refused=refusal
                )
            except ContextOverflow:
                raise error from None
            request.smaller = [*messages, *request.paused]
        retry = getattr(exceptions, "RetryModelRequest", None)
        if retry is not None:
            raise retry from error
        # Before 2.64 a request is not made anew. Its reply can be given here, but not its stream.
        if request_context.streaming:
            raise error
        return await request_context.model.request(
            request.smaller,
            request_context.model_settings,
            request_context.model_request_parameters,
        )

    async def prepare_model_request(
        self, ctx: RunContext[_Deps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """After such a refusal, put the smaller request into the next attempt."""
        if self._request is not None and self._request.smaller is not None:
            request_context.messages = list(self._request.smaller)
        return request_context

    def latest(self, conversation_id: str) -> Prepared | None:
        """Return the decision about a conversation's latest request: its size, whether it fits.

        Its messages and positions are those of the View. None if the conversation is not known.
        """
        conversation = self._conversations.get(conversation_id)
        return None if conversation is None else conversation.view.latest

    def explain(self, conversation_id: str) -> list[Removal]:
        """Return what is missing from a conversation's latest request or shortened in it, and why.

        Positions refer to the framework's messages.
        """
        conversation = self._conversations.get(conversation_id)
        return [] if conversation is None else conversation.view.explain()

    def _conversation(self, ctx: RunContext[_Deps]) -> _Remembered:
        name = ctx.conversation_id or ""
        conversation = self._conversations.pop(name, None) or self._new_conversation()
        # By use: a dict keeps the order of insertion, so the first one was idle longest.
        self._conversations[name] = conversation
        while len(self._conversations) > self.max_conversations:
            del self._conversations[next(iter(self._conversations))]
        return conversation

    def _new_conversation(self) -> _Remembered:
        view = ListView(PydanticForm(), self._parts, check=lambda: self._adopt(conversation))
        conversation = _Remembered(view)
        return conversation

    async def _fit(
        self,
        conversation: _Remembered,
        ctx: RunContext[_Deps],
        history: list[ModelMessage],
        request_context: ModelRequestContext,
        *,
        refused: object = False,
    ) -> list[ModelMessage]:
        """Return what to send of a run's messages."""
        parameters = request_context.model_request_parameters
        view = conversation.view.view
        view.model = request_context.model.model_name
        view.server_drops = _asks_to_drop(request_context.model_settings)

        async def ask(aside: Input) -> Decision:
            messages = conversation.view.write_aside(list(aside.history))
            return await _ask(messages, history, request_context)

        view.ask = ask
        messages = await conversation.view.fit_async(
            history,
            system_prompt=_instructions(parameters),
            tools=_describe_tools(ctx, parameters),
            target=self._target(conversation, ctx),
            refused=refused,
        )
        compaction = conversation.view.latest and conversation.view.latest.compaction
        # In the metadata of the request, which is stored with it and never sent: so it survives the
        # framework's serializer, and another process has nothing to be given. With `rewrite`, the
        # summary is one of the messages, and has its state in its own metadata.
        if compaction and compaction.changed and not self.rewrite:
            conversation.adopted = conversation.view.state()["view"]
            latest = ctx.messages[-1]
            latest.metadata = {**(latest.metadata or {}), METADATA_KEY: conversation.adopted}
        return messages

    def _adopt(self, conversation: _Remembered) -> None:
        """Go on from a summary that another process noted in the messages that are new."""
        mirror = conversation.view.mirror
        states = (ours(item.metadata) for item in reversed(mirror.items[mirror.fresh_from :]))
        state = next((each for each in states if isinstance(each, dict)), None)
        # Once: going back to it after a later summary would mean a summary at every request.
        if state is None or state == conversation.adopted:
            return
        conversation.adopted = state
        # Whoever wrote the messages wrote their metadata: anything may be in it. A forged one could
        # make a View leave out the system prompt.
        with contextlib.suppress(ConfigError, TypeError, AttributeError):
            if _keeps_prompts(state, mirror.messages):
                conversation.view.restore(state)
                return
        # What is wrong would quote the summary.
        _log.warning("a summary's state is not used: it is damaged, or of another version")

    def _target(self, conversation: _Remembered, ctx: RunContext[_Deps]) -> CompactionTarget | None:
        if not self.rewrite:
            return None

        async def replace(_: list[Message], after: list[Message]) -> list[Message]:
            # In place: the run goes on with this very list.
            ctx.messages[:] = conversation.view.mirror.write(after)
            return after

        return CompactionTarget(self._shared, ctx.run_id or "", replace)


def _describe_tools(ctx: RunContext[Any], parameters: ModelRequestParameters) -> list[Any]:
    """Return what the model is told about tools and outputs, to be measured."""
    descriptions: list[Any] = [
        (tool.name, tool.description, tool.parameters_json_schema)
        for tool in (*parameters.function_tools, *parameters.output_tools)
        # A deferred tool is only sent after the model has found it.
        if not tool.defer_loading or tool.name in ctx.discovered_tool_names
    ]
    if parameters.output_object is not None:
        descriptions.append(("", "", parameters.output_object.json_schema))
    return descriptions


async def _ask(
    messages: list[ModelMessage],
    history: Sequence[ModelMessage],
    request_context: ModelRequestContext,
) -> Decision:
    """Ask the agent's model for a summary, by a request like the others of the run."""
    latest, last = messages[-1], history[-1]
    # The framework takes the instructions from the latest request.
    if isinstance(latest, ModelRequest) and isinstance(last, ModelRequest):
        messages = [*messages[:-1], dataclasses.replace(latest, instructions=last.instructions)]
    model, parameters = request_context.model, request_context.model_request_parameters
    # As the framework does before each request, so that all is sent as it was before. Older
    # versions have no such step.
    prepare = getattr(model, "prepare_messages", None)
    messages = messages if prepare is None else prepare(messages, parameters)
    response = await model.request(messages, request_context.model_settings, parameters)
    (reply,) = (reading.message for reading in read(response, of_view=True))
    return decision_of(attrs.evolve(reply, usage=usage(response.usage)), response.finish_reason)


def _asks_to_drop(settings: Any) -> bool:
    """Return whether the caller lets the provider drop stale reasoning.

    The framework asks for it after a refusal, once, and warns: with its first retry the running
    turn is without its reasoning, so that turn is better sent as text.
    """
    thinking = at(settings, "anthropic_thinking"), at(settings, "extra_body", "thinking")
    behaviors = (at(each, "block_binding", "prefix_mismatch_behavior") for each in thinking)
    return "drop_block" in behaviors


def _keeps_prompts(state: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Return whether a state keeps what a View always keeps; a client may have written it."""
    compaction = state.get("compaction") or {}
    prompts = itertools.takewhile(lambda each: each.role == "system" and not each.summary, messages)
    length: int = min(sum(1 for _ in prompts), compaction.get("covered", 0))
    return set(range(length)) <= set(compaction.get("kept", ()))


def _instructions(parameters: ModelRequestParameters) -> str:
    return "\n\n".join(part.content for part in parameters.instruction_parts or ())
