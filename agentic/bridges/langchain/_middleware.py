"""Middleware that keeps every conversation of an agent within its budget.

`create_agent` calls `before_model` in a step of its own, which is stored by the checkpointer, and
`wrap_model_call` around the call of the model. Only the second one knows the system prompt and the
tools, and may repeat the call. So a request is always made there; `before_model` only replaces the
messages of the state by a summary. It is defined in a subclass because an agent has that step as
soon as a middleware has the method.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any, Literal, NotRequired, Self

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import RemoveMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from agentic._base._validate import is_whole
from agentic._base._waiting import off_loop
from agentic.bridges._asking import decision_of
from agentic.bridges.kit._lists import are_same
from agentic.bridges.kit._view_parts import ViewParts, read_refusal
from agentic.bridges.langchain._conversation import ConversationPool, LangchainConversation
from agentic.bridges.langchain._messages import read_message
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.errors import ConfigError, ContextOverflow
from agentic.loop import Decision, Input
from agentic.providers.kit import at
from agentic.tokens import Counter

_log = logging.getLogger(__name__)

_KEY = "agentic_context"
_OPTIONS = ("model_kwargs", "additional_model_request_fields")
"""The fields of a chat model that may hold the `thinking` of a request."""
_HOOKS = ("wrap_model_call", "before_model")

_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class _ContextState(AgentState[Any]):
    """The state of an agent, with what a View remembers of the conversation."""

    # Callers neither pass it nor get it back from `invoke`. LangGraph streams every channel of a
    # state all the same, unless it is asked for some `output_keys` (1.2.24, 2026-11).
    agentic_context: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class ContextMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps the requests of an agent within the model's window. One serves many conversations.

    >>> from langchain.agents import create_agent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> model = FakeListChatModel(responses=["All green."])
    >>> agent = create_agent(model, middleware=[ContextMiddleware(8_000)])
    >>> remarks = [("user", f"Remark {n}: " + "so it goes. " * 90) for n in range(40)]
    >>> len(agent.invoke({"messages": remarks})["messages"])  # the model got fewer
    41

    What the View remembers, a few kilobytes, is stored in the agent's state, so that a checkpointer
    carries it into another process. If a provider refuses a request as too large, a smaller one is
    sent once.

    Args:
        window: the name of a model, the size of its window in tokens, or a complete Policy.
        hook: `wrap_model_call` leaves the messages of the state alone; `before_model` replaces
            those that were summarized by the summary.
        compactor: writes the summaries; by default a Digest, which needs no model. A
            `Continuation()` asks the agent's own model, with the hook `wrap_model_call`.
        strategies: applied to the history when an epoch begins; never stored.
        counter: by default the best one installed for the model, otherwise an estimate.
        max_conversations: how many conversations are kept in memory. Any other one is read again
            from the state when it continues.

    Raises:
        ConfigError: the hook is unknown, or the model's window.
    """

    state_schema = _ContextState

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Return a middleware that has `before_model` only if that hook was chosen."""
        if options.get("hook") == "before_model" and not issubclass(cls, _RewritesState):
            cls = type(cls.__name__, (_RewritesState, cls), {})  # noqa: PLW0642  keeps the name
        return super().__new__(cls)

    def __init__(
        self,
        window: Policy | int | str,
        *,
        hook: Literal["wrap_model_call", "before_model"] = "wrap_model_call",
        compactor: Compactor | None = None,
        strategies: Chain | Sequence[ContextStrategy] = (),
        counter: Counter | None = None,
        max_conversations: int = 64,
    ) -> None:
        super().__init__()
        if hook not in _HOOKS:
            raise ConfigError("hook", hook, " or ".join(_HOOKS))
        is_whole(1, max_conversations, "max_conversations", "leave it at 64")
        parts = ViewParts.of(window, compactor, strategies, counter)
        self.policy, self.strategies = parts.policy, parts.strategies
        self.counter, self.compactor = parts.counter, parts.compactor
        self._pool = ConversationPool(parts, max_conversations)
        parts.view(None)  # raises if a part cannot be used
        self._tools: tuple[tuple[Any, ...], list[Any]] = ((), [])

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> ExtendedModelResponse[Any]:
        """Send what fits. If it is refused as too large, send less, once."""
        with self._conversation(request.messages, request.state) as conversation:

            async def ask(aside: Input) -> Decision:
                return _read_aside(handler(_aside(request, conversation, aside)))

            conversation.view.view.ask = ask
            fit, beside = conversation.view.fit, self._beside(conversation, request)
            try:
                response = handler(_fitted(request, fit(request.messages, **beside)))
            except Exception as error:
                refusal = read_refusal(error, ContextOverflowError)
                if refusal is None:
                    raise
                try:
                    smaller = fit(request.messages, refused=refusal, **beside)
                except ContextOverflow:
                    raise error from None
                response = handler(_fitted(request, smaller))
            return _with_state(response, conversation)

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does, without blocking the event loop."""
        async with self._conversation_async(request.messages, request.state) as conversation:

            async def ask(aside: Input) -> Decision:
                return _read_aside(await handler(_aside(request, conversation, aside)))

            conversation.view.view.ask = ask
            fit, beside = conversation.view.fit_async, self._beside(conversation, request)
            try:
                response = await handler(_fitted(request, await fit(request.messages, **beside)))
            except Exception as error:
                refusal = read_refusal(error, ContextOverflowError)
                if refusal is None:
                    raise
                try:
                    smaller = await fit(request.messages, refused=refusal, **beside)
                except ContextOverflow:
                    raise error from None
                response = await handler(_fitted(request, smaller))
            return await off_loop(len(request.messages), _with_state, response, conversation)

    @contextmanager
    def _conversation(
        self, messages: Sequence[Any], state: Mapping[str, Any]
    ) -> Iterator[LangchainConversation]:
        """Take the conversation of some messages out of the pool for the time of a call."""
        # Out of the pool it has one user, so that no lock is held while the model is called.
        conversation = self._pool.take(messages, state.get(_KEY))
        try:
            yield conversation
        finally:
            conversation.view.view.ask = None  # it belongs to this call
            self._pool.put(conversation)

    @asynccontextmanager
    async def _conversation_async(
        self, messages: Sequence[Any], state: Mapping[str, Any]
    ) -> AsyncIterator[LangchainConversation]:
        """Do what `_conversation` does; many messages are read in a thread."""
        # A copy: the agent may append meanwhile.
        copy = list(messages)
        conversation = await off_loop(len(copy), self._pool.take, copy, state.get(_KEY))
        try:
            yield conversation
        finally:
            conversation.view.view.ask = None  # it belongs to this call
            self._pool.put(conversation)

    def _beside(self, conversation: LangchainConversation, request: _Request) -> dict[str, Any]:
        """Return what is sent next to the messages, as a View measures it."""
        system, tools = request.system_message, tuple(request.tools)
        cache = self._tools
        # An agent passes the same objects with every request, so they are described once.
        if not are_same(tools, cache[0]):
            self._tools = cache = tools, _describe(tools)
        prompt = "" if system is None else read_message(system).content
        view = conversation.view.view
        view.model = _model_name(request.model) or view.model
        view.server_drops = _asks_to_drop(request)
        conversation.beside = {"system_prompt": prompt, "tools": cache[1]}
        return conversation.beside


class _RewritesState:
    """Adds the step that replaces the messages of the state by a compacted history."""

    def before_model(self: Any, state: Mapping[str, Any], runtime: object) -> dict[str, Any] | None:
        """Store a summary in place of the messages that it covers."""
        with self._conversation(state["messages"], state) as conversation:
            if _waits(conversation, state):
                return None
            items = conversation.view.rewrite(state["messages"], **conversation.beside)
            return _rewritten(conversation, items)

    async def abefore_model(
        self: Any, state: Mapping[str, Any], runtime: object
    ) -> dict[str, Any] | None:
        """Do what `before_model` does, without blocking the event loop."""
        async with self._conversation_async(state["messages"], state) as conversation:
            if _waits(conversation, state):
                return None
            items = await conversation.view.rewrite_async(state["messages"], **conversation.beside)
            return await off_loop(len(state["messages"]), _rewritten, conversation, items)


def _waits(conversation: LangchainConversation, state: Mapping[str, Any]) -> bool:
    """Return whether a conversation continues one whose system prompt and tools are not known.

    What its stored state says of the last request would no longer hold.
    """
    return not conversation.beside and state.get(_KEY) is not None


def _rewritten(
    conversation: LangchainConversation, items: list[Any] | None
) -> dict[str, Any] | None:
    """Return the update of the state, or None if no compaction is in force."""
    update = None
    if items is not None:
        # LangGraph adds messages to those that are there, unless all are removed first.
        messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *items]
        update = {"messages": messages, _KEY: conversation.state()}
    if not conversation.beside:
        # This was no request: the one that follows has a system prompt and tools.
        state = conversation.view.state()["view"]
        conversation.view.restore({key: state[key] for key in state if key != "epoch"})
    return update


def _fitted(request: _Request, items: list[Any]) -> _Request:
    """Return the request with other messages; itself if they are the same."""
    return request if items is request.messages else request.override(messages=items)


def _aside(request: _Request, conversation: LangchainConversation, aside: Input) -> _Request:
    """Return the request by which a compactor asks the agent's model."""
    items: list[Any] = conversation.view.write_aside(list(aside.history))
    return request.override(messages=items)


def _read_aside(response: _Response) -> Decision:
    reply = response.result[-1]
    metadata = getattr(reply, "response_metadata", {})
    words = (metadata.get(key) for key in ("stop_reason", "finish_reason"))
    incomplete = at(metadata, "incomplete_details", "reason")
    return decision_of(read_message(reply), incomplete or next(filter(None, words), ""))


def _with_state(
    response: _Response, conversation: LangchainConversation
) -> ExtendedModelResponse[Any]:
    # Stored with the reply: a checkpoint holds the messages and the state of one moment.
    update = {_KEY: conversation.state()}
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _model_name(model: Any) -> str:
    """Return the name of a chat model, which each package keeps in a field of another name."""
    names = (getattr(model, field, None) for field in ("model", "model_name", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _asks_to_drop(request: _Request) -> bool:
    """Return whether the caller lets the provider drop stale reasoning."""
    # langchain-anthropic neither asks for it nor retries (1.7.10, 2026-11); a caller may ask.
    options = (request.model_settings, *(getattr(request.model, name, None) for name in _OPTIONS))
    thinking = (
        getattr(request.model, "thinking", None),
        *(at(each, "thinking") for each in options),
    )
    behaviors = (at(each, "block_binding", "prefix_mismatch_behavior") for each in thinking)
    return "drop_block" in behaviors


def _describe(tools: tuple[Any, ...]) -> list[Any]:
    return [each if isinstance(each, dict) else convert_to_openai_tool(each) for each in tools]
