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

from agentic._validate import is_whole
from agentic._waiting import off_loop
from agentic.bridges._lists import are_same
from agentic.bridges._view_parts import ViewParts, log_notes, tools_as_one
from agentic.bridges.langchain._conversation import ConversationPool, LangchainConversation
from agentic.bridges.langchain._messages import read_message
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared, View
from agentic.errors import ConfigError
from agentic.providers.kit import at
from agentic.providers.overflow import is_context_overflow
from agentic.tokens import Counter
from agentic.tools import ToolDefinition

_log = logging.getLogger(__name__)

_KEY = "agentic_context"
_OPTIONS = ("model_kwargs", "additional_model_request_fields")
"""The fields of a chat model that may hold the `thinking` of a request."""
_HOOKS = ("wrap_model_call", "before_model")

_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class _ContextState(AgentState[Any]):
    """The state of an agent, with what a View remembers of the conversation."""

    # Private: callers neither pass it nor get it back.
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
        compactor: writes the summaries; by default a Digest, which needs no model.
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
        self._make_view = parts.view
        self._pool = ConversationPool(parts.view, max_conversations)
        parts.view(None)  # raises if a part cannot be used
        self._tools: tuple[tuple[Any, ...], tuple[ToolDefinition, ...]] = ((), ())

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> ExtendedModelResponse[Any]:
        """Send what fits. After an overflow, send less, once."""
        with self._conversation(request.messages, request.state) as conversation:
            prepared = conversation.view.prepare_sync(
                conversation.messages, **self._beside(conversation, request)
            )
            try:
                response = handler(_fitted(request, conversation, prepared))
            except Exception as error:
                if not _is_overflow(error):
                    raise
                smaller = conversation.view.shrink_sync(prepared.messages)
                if smaller is None:
                    raise
                response = handler(_fitted(request, conversation, smaller))
            return _with_state(response, conversation)

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does, without blocking the event loop."""
        size = len(request.messages)
        async with self._conversation_async(request.messages, request.state) as conversation:
            prepared = await conversation.view.prepare(
                conversation.messages, **self._beside(conversation, request)
            )
            try:
                fitted = await off_loop(size, _fitted, request, conversation, prepared)
                response = await handler(fitted)
            except Exception as error:
                if not _is_overflow(error):
                    raise
                smaller = await conversation.view.shrink(prepared.messages)
                if smaller is None:
                    raise
                fitted = await off_loop(size, _fitted, request, conversation, smaller)
                response = await handler(fitted)
            return await off_loop(size, _with_state, response, conversation)

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
            self._pool.put(conversation)

    @asynccontextmanager
    async def _conversation_async(
        self, messages: Sequence[Any], state: Mapping[str, Any]
    ) -> AsyncIterator[LangchainConversation]:
        """Do what `_conversation` does; many messages are read in a thread."""
        # A copy: the agent may append meanwhile.
        given = list(messages)
        conversation = await off_loop(len(given), self._pool.take, given, state.get(_KEY))
        try:
            yield conversation
        finally:
            self._pool.put(conversation)

    def _beside(self, conversation: LangchainConversation, request: _Request) -> dict[str, Any]:
        """Return what is sent next to the messages, as a View measures it."""
        system, tools = request.system_message, tuple(request.tools)
        known = self._tools
        # An agent passes the same objects with every request, so they are described once.
        if not are_same(tools, known[0]):
            self._tools = known = tools, _describe(tools)
        prompt = "" if system is None else read_message(system).content
        view = conversation.view
        view.model = _model_name(request.model) or view.model
        view.server_drops = _asks_to_drop(request)
        conversation.beside = {"system_prompt": prompt, "tools": known[1]}
        return conversation.beside


class _RewritesState:
    """Adds the step that replaces the messages of the state by a compacted history."""

    def before_model(self: Any, state: Mapping[str, Any], runtime: object) -> dict[str, Any] | None:
        """Store a summary in place of the messages that it covers."""
        with self._conversation(state["messages"], state) as conversation:
            if _waits(conversation, state):
                return None
            prepared = conversation.view.prepare_sync(conversation.messages, **conversation.beside)
            return _rewritten(conversation, prepared, self._make_view)

    async def abefore_model(
        self: Any, state: Mapping[str, Any], runtime: object
    ) -> dict[str, Any] | None:
        """Do what `before_model` does, without blocking the event loop."""
        size = len(state["messages"])
        async with self._conversation_async(state["messages"], state) as conversation:
            if _waits(conversation, state):
                return None
            prepared = await conversation.view.prepare(conversation.messages, **conversation.beside)
            return await off_loop(size, _rewritten, conversation, prepared, self._make_view)


def _waits(conversation: LangchainConversation, state: Mapping[str, Any]) -> bool:
    """Return whether a conversation continues one whose system prompt and tools are not known.

    What its stored state says of the last request would no longer hold.
    """
    return not conversation.beside and state.get(_KEY) is not None


def _rewritten(
    conversation: LangchainConversation,
    prepared: Prepared,
    make_view: Callable[[Mapping[str, Any]], View],
) -> dict[str, Any] | None:
    """Return the update of the state, or None if no compaction is in force."""
    log_notes(_log, prepared)
    view, update = conversation.view, None
    # Only a compaction is stored, not what strategies and the window cut.
    if view.covered:
        items = conversation.rewrite(prepared.history)
        # LangGraph adds messages to those that are there, unless all are removed first.
        messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *items]
        update = {"messages": messages, _KEY: conversation.state()}
    if not conversation.beside:
        # This was no request: the one that follows has a system prompt and tools.
        remembered = {key: part for key, part in view.state().items() if key != "epoch"}
        conversation.view = make_view(remembered)
    return update


def _fitted(request: _Request, conversation: LangchainConversation, prepared: Prepared) -> _Request:
    """Return the request with a view in place of its messages; itself if they are the same."""
    log_notes(_log, prepared)
    items: list[Any] = conversation.write(prepared.messages)
    return request if are_same(items, request.messages) else request.override(messages=items)


def _with_state(
    response: _Response, conversation: LangchainConversation
) -> ExtendedModelResponse[Any]:
    # Stored with the reply: a checkpoint holds the messages and the state of one moment.
    update = {_KEY: conversation.state()}
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def _is_overflow(error: Exception) -> bool:
    return isinstance(error, ContextOverflowError) or is_context_overflow(error)


def _model_name(model: Any) -> str:
    """Return the name of a chat model, which each package keeps in a field of another name."""
    names = (getattr(model, field, None) for field in ("model", "model_name", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _asks_to_drop(request: _Request) -> bool:
    """Return whether the caller lets the provider drop stale reasoning."""
    # langchain-anthropic neither asks for it nor retries (1.7.10, 2026-11); a caller may ask.
    given = (request.model_settings, *(getattr(request.model, name, None) for name in _OPTIONS))
    thinking = (getattr(request.model, "thinking", None), *(at(each, "thinking") for each in given))
    asked = (at(each, "block_binding", "prefix_mismatch_behavior") for each in thinking)
    return "drop_block" in asked


def _describe(tools: tuple[Any, ...]) -> tuple[ToolDefinition, ...]:
    return tools_as_one(
        [each if isinstance(each, dict) else convert_to_openai_tool(each) for each in tools]
    )
