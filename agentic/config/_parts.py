"""The parts of an agent, made of its configuration when they are asked for."""

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from agentic import limits, tokens
from agentic.config._model import connect, is_served, limits_of, reply_tokens, served_name
from agentic.config._numbers import make_policy
from agentic.config._origin import Origin
from agentic.config._problems import ConfigProblems, Fault
from agentic.config._records import DIGEST
from agentic.config._settings import AgentSettings
from agentic.config._store import open_store
from agentic.config._strategies import make_strategy
from agentic.config._summary import make_compactor, make_digest
from agentic.config._tools import RECALL, resolve_tools
from agentic.context.budget import Compactor, Policy
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.loop import Decider, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.session import Session
from agentic.tokens import ModelCounter
from agentic.tools import Registry, ToolDefinition

__all__ = ["Parts"]

_logger = logging.getLogger(__name__)


@attrs.frozen(eq=False)
class Parts:
    """Makes the parts of one agent. What goes wrong is told with its line."""

    config: AgentSettings
    origin: Origin
    _deciders: dict[str, Decider] = attrs.field(factory=dict, init=False)
    """By name: a model is connected to once."""

    def decider(self) -> Decider:
        """Return the agent's own."""
        if self.config.model is None:
            example = "model: anthropic:claude-sonnet-4-5"
            message = f"model is missing; add {example}, or pass a decider to runner()"
            raise self.origin.problems([Fault(("model",), "", message=message)])
        return self._decider(self.config.model, "model")

    def limits(self) -> ModelLimits:
        """Return the limits of the agent's model."""
        model, window = self.config.model, self.config.context_window
        if window is not None:
            return ModelLimits(window, limits.lookup(served_name(model)).max_output)
        return self._limits(model, "model")

    def counter(self) -> ModelCounter:
        """Return the best counter for the agent's model."""
        return tokens.for_model(served_name(self.config.model))

    def policy(self) -> Policy:
        """Return the numbers of the budget."""
        known = self.limits()
        reply = reply_tokens(self.config.model, self.config.model_options, known)
        with self._blaming("context"):
            return make_policy(self.config.context, known.context_window, self.origin, reply)

    def compactor(self) -> Compactor:
        """Return who summarizes."""
        model, settings = self.config.model, self.config.context
        name = settings.summary_model
        if name is None:
            name = model if model is not None and is_served(model) else DIGEST
        if name == DIGEST:
            return make_digest(self.policy(), self.counter())
        place = ("model",) if settings.summary_model is None else ("context", "summary_model")
        own = self.limits() if name == model else self._limits(name, *place)
        return make_compactor(
            lambda: self._decider(name, *place), own.context_window, self.policy(), self.counter()
        )

    def session(self, session_id: str) -> Session:
        """Return a session that is not entered yet."""
        known, counter = self.limits(), self.counter()
        if not known.known:
            _logger.warning(
                "the window of %s is not known: %s tokens are assumed; write context_window",
                self.config.model or "a model without a name",
                f"{known.context_window:,}",
            )
        tools = _Tools(self) if self.config.tools else None
        session = Session(
            session_id,
            open_store(self.config.store, self.config.name, self.origin, session_id),
            counter=counter,
            policy=self.policy(),
            compactor=self.compactor(),
            auto_summarize=self.config.context.auto_summarize,
            strategies=self._strategies(counter),
            system_prompt=self.config.system_prompt,
            executor=tools,
            recall=RECALL in self.config.tools,
        )
        if tools is not None:
            tools.session = session
        return session

    def registry(self, session: Session) -> Registry | None:
        """Return the tools of a session."""
        registry, faults = Registry(), list[Fault]()
        for index, text in enumerate(self.config.tools):
            try:
                if text == RECALL:
                    registry.register(session.recall_tool())
                else:
                    for found in resolve_tools(text, self.origin.folder):
                        registry.register(found)
            except ConfigError as error:
                faults.append(Fault.of(error, ("tools", index)))
        if faults:
            raise self.origin.problems(faults)
        return registry if self.config.tools else None

    def runner(self, session: Session, decider: Decider | None) -> Runner:
        """Return what serves requests in a session."""
        truncation = self.config.truncation
        return session.runner(
            self.decider() if decider is None else decider,
            self.registry(session),
            truncation=None if truncation is None else truncation.options(),
            system_prompt=self.config.system_prompt,
            max_turns=self.config.max_turns,
            tool_timeout_seconds=self.config.tool_timeout_seconds,
            turn_output_bytes=self.config.turn_output_bytes,
        )

    def _strategies(self, counter: ModelCounter) -> list[Any]:
        made = []
        for index, settings in enumerate(self.config.strategies):
            with self._blaming("strategies", index, settings.name):
                made.append(make_strategy(settings, counter))
        return made

    def _limits(self, model: str | None, *place: str) -> ModelLimits:
        if model is None or is_served(model):
            return limits.lookup(served_name(model))
        return limits_of(self._decider(model, *place))

    def _decider(self, model: str, *place: str) -> Decider:
        """Connect to a model, or give the connection that is there."""
        if model not in self._deciders:
            own = model == self.config.model
            options: Mapping[str, Any] = self.config.model_options if own else {}
            window = self.limits() if own and self.config.context_window is not None else None
            with self._blaming(*place):
                self._deciders[model] = connect(model, options, window, self.origin.folder)
        return self._deciders[model]

    @contextlib.contextmanager
    def _blaming(self, *place: str | int) -> Iterator[None]:
        """Add to an error the line of the key that it comes from."""
        try:
            yield
        except ConfigProblems:
            raise
        except ConfigError as error:
            raise self.origin.problems([Fault.of(error, place)]) from error


@attrs.define(eq=False)
class _Tools:
    """The tools of a session, imported when they are asked for.

    Whoever takes a summary back, or lists what there is, needs none.
    """

    parts: Parts
    session: Session | None = None
    _registry: Registry | None = attrs.field(default=None, init=False)

    async def list_tools(self) -> list[ToolDefinition]:
        return await self._made().list_tools()

    async def execute(self, call: ToolCall, /) -> ToolResult:
        return await self._made().execute(call)

    def _made(self) -> Registry:
        if self._registry is None and self.session is not None:
            self._registry = self.parts.registry(self.session)
        return Registry() if self._registry is None else self._registry
