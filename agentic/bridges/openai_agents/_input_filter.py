"""A `call_model_input_filter` that keeps each conversation of an application within the window.

The framework calls one filter for all runs, and does not say which conversation a request belongs
to. A list that begins with all items of the latest request of a conversation continues it. Any
other list is a conversation of its own, which may begin with the summary of one that it shares its
start with (a rewind, a fork).
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from agentic._base._validate import whole
from agentic._base._versions import require
from agentic.bridges.dicts import Conversation
from agentic.bridges.kit import ListPool
from agentic.bridges.kit._lists import are_same
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.errors import CompactionRefused, ConfigError
from agentic.providers import openai_responses
from agentic.providers.kit import at, plain
from agentic.tokens import Counter

if TYPE_CHECKING:
    from agents import Agent, RunHooks
    from agents.run import CallModelData, ModelInputData


_asking: "ContextVar[Conversation | None]" = ContextVar("agentic_asking", default=None)
"""The conversation of the latest request in this task, whose reply a hook reports."""
_calling: "ContextVar[CallModelData[Any] | None]" = ContextVar("agentic_calling", default=None)
"""The model call of this task whose input is being filtered. Two calls may have one list."""


@attrs.define(eq=False)
class _Followed:
    """A conversation, and the list of its latest request."""

    conversation: Conversation
    keys: Sequence[Any]


@attrs.define(eq=False)
class InputFilter:
    """Keeps the input of every model call within the window.

    Pass one to `RunConfig(call_model_input_filter=...)`, for all runs. What the framework and its
    session hold is not changed: only the input of the call is.

    Args:
        window: the name of a model, the size of its window in tokens, or a complete Policy. With
            handoffs between models, the smallest of their windows.
        compactor: writes the summaries; by default a Digest, which needs no model. A
            `Continuation()` asks the model of the agent, as the agent names it: if a RunConfig
            replaces it or its provider, pass `Continuation(ask)` with your own call.
        strategies: applied to the history when an epoch begins.
        counter: by default the best one installed for the model, otherwise an estimate.
        max_conversations: how many conversations are remembered. The one that was idle longest is
            forgotten first; if it goes on, it is summarized again.

    Raises:
        ConfigError: the model's window is unknown, or `max_conversations` is less than 1.
        ImportError: the framework is not installed, or is too old.
    """

    window: Policy | int | str
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    strategies: Chain | Sequence[ContextStrategy] = attrs.field(default=(), kw_only=True)
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    max_conversations: int = attrs.field(default=256, kw_only=True, validator=whole(1))
    _followed: ListPool[_Followed] = attrs.field(factory=ListPool, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        require("bridges.openai_agents", "openai-agents", "openai-agents", "0.2.8")
        self._new_conversation(None)  # mistakes in the options are reported now

    async def __call__(self, data: "CallModelData[Any]") -> "ModelInputData":
        """Return what to send of the input of a model call.

        Raises:
            ConfigError: the server holds a part of the conversation.
        """
        data_of_model = data.model_data
        request = {
            "input": data_of_model.input,
            "instructions": data_of_model.instructions,
            "tools": _describe_tools(data.agent),
        }
        # The framework names no conversation (2026-11):
        # https://openai.github.io/openai-agents-python/ref/run_config/
        # A copy, which the list of the next request is compared with.
        conversation = self._follow(list(data_of_model.input))
        _asking.set(conversation)
        token = _calling.set(data)
        try:
            fitting = _answer_before_replies(
                (await conversation.fit_request_async(request))["input"]
            )
        finally:
            _calling.reset(token)
        if are_same(fitting, data_of_model.input):
            return data_of_model
        return dataclasses.replace(data_of_model, input=fitting)

    @property
    def hooks(self) -> "RunHooks[Any]":
        """Return hooks for `Runner.run(hooks=...)`, which report how large each request was.

        A filter sees no reply. Without them sizes are estimated, and reasoning that nobody can read
        counts as nothing.
        """
        from agents import RunHooks  # noqa: PLC0415  an extra

        class Reports(RunHooks[Any]):
            async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
                conversation = _asking.get()
                if conversation is not None:
                    # The run has its reply, whatever it is.
                    with contextlib.suppress(ConfigError, TypeError, ValueError, AttributeError):
                        conversation.report(_as_response(response))

        return Reports()

    def _follow(self, items: list[Any]) -> Conversation:
        """Return the conversation that a list continues, or a new one.

        Nothing waits between finding a conversation and noting the list, so two lists that differ
        never get the same one, however many calls run at once.
        """
        entry = self._followed.find_continued(items)
        if entry is None:
            # Not the nearest one itself, which may go on with its own list.
            near = self._followed.find_nearest(items)
            origin = None if near is None else near.conversation
            entry = _Followed(self._new_conversation(origin), items)
        entry.keys = items
        self._followed.put(entry, self.max_conversations)
        return entry.conversation

    def _new_conversation(self, origin: Conversation | None) -> Conversation:
        # A summary in the state is used only if it covers the start of the new list.
        return Conversation(
            openai_responses,
            self.window,
            compactor=self.compactor,
            strategies=self.strategies,
            counter=self.counter,
            ask=_ask,
            state=None if origin is None else origin.state(),
        )


async def _ask(request: dict[str, Any]) -> dict[str, Any]:
    """Ask the model of the calling agent for a summary, with the tools of its other requests.

    Raises:
        CompactionRefused: no agent is calling.
    """
    from agents import (  # noqa: PLC0415  an extra
        AgentOutputSchema,
        AgentOutputSchemaBase,
        ModelTracing,
        RunContextWrapper,
        handoff,
    )
    from agents.agent import Agent  # noqa: PLC0415
    from agents.models.interface import Model  # noqa: PLC0415
    from agents.models.multi_provider import MultiProvider  # noqa: PLC0415

    data = _calling.get()
    if data is None:
        raise CompactionRefused("no agent is calling its model")
    agent = data.agent
    model = agent.model
    if not isinstance(model, Model):
        model = MultiProvider().get_model(model)
    schema = agent.output_type
    if schema is str or schema is None:
        schema = None
    elif not isinstance(schema, AgentOutputSchemaBase):
        schema = AgentOutputSchema(schema)
    response = await model.get_response(
        system_instructions=request["instructions"],
        input=_answer_before_replies(request["input"]),
        model_settings=agent.model_settings,
        tools=await agent.get_all_tools(RunContextWrapper(data.context)),
        output_schema=schema,
        handoffs=[handoff(each) if isinstance(each, Agent) else each for each in agent.handoffs],
        tracing=ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    return _as_response(response)


def _answer_before_replies(items: list[Any]) -> list[Any]:
    """Return items with each output of a function before a reply that parts it from its call.

    The Responses API takes either order. A chat completions model of the framework (0.2 to 0.24)
    begins a new message at a reply, and such an API refuses outputs behind it.
    """
    ordered: list[Any] = []
    for item in items:
        ordered.insert(_place_behind_call(ordered, item), item)
    return ordered


def _place_behind_call(items: list[Any], item: Any) -> int:
    """Return where an item belongs behind items: the end, or before a reply and its reasoning."""
    place = len(items)
    if at(item, "type") != "function_call_output":
        return place
    for position in range(len(items) - 1, -1, -1):
        before = items[position]
        if at(before, "type") == "function_call" and at(before, "call_id") == at(item, "call_id"):
            break
        if at(before, "role") == "assistant":
            place = position
    else:
        return len(items)
    while place < len(items) and at(items[place - 1], "type") == "reasoning":
        place -= 1
    return place


def _as_response(response: Any) -> dict[str, Any]:
    """Return a reply of the framework's as a response of the Responses API."""
    usage = response.usage
    details = plain(usage.output_tokens_details)
    return {
        "object": "response",
        "status": "completed",
        "output": [plain(item) for item in response.output],
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "input_tokens_details": plain(usage.input_tokens_details),
            "output_tokens_details": details,
        },
    }


def _describe_tools(agent: "Agent[Any]") -> list[dict[str, Any]]:
    """Return what the model is told about the tools and handoffs of an agent, to be counted.

    Of an MCP server, these are the tools that the framework listed for this call, those that a
    filter hides included. Versions of the framework before `cached_tools` do not tell them.
    """
    tools = [
        {
            "name": getattr(tool, "name", ""),
            "description": getattr(tool, "description", ""),
            "parameters": getattr(tool, "params_json_schema", {}),
        }
        for tool in agent.tools
    ]
    over_mcp = [
        {
            "name": tool.name,
            "description": tool.description or "",
            # Its name depends on the version of MCP's SDK.
            "parameters": getattr(tool, "inputSchema", None) or getattr(tool, "input_schema", {}),
        }
        for server in agent.mcp_servers
        for tool in getattr(server, "cached_tools", None) or ()
    ]
    handoffs = [
        {
            # An agent among the handoffs becomes a tool of this name.
            "name": getattr(each, "tool_name", None) or f"transfer_to_{getattr(each, 'name', '')}",
            "description": getattr(each, "tool_description", None)
            or getattr(each, "handoff_description", None)
            or "",
            "parameters": getattr(each, "input_json_schema", {}),
        }
        for each in agent.handoffs
    ]
    return [*tools, *over_mcp, *handoffs]
