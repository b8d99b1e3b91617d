"""An agent as described by its file, and the parts that are made from it on request."""

import contextlib
import logging
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from agentic import history, limits, tokens
from agentic.app.config._budget import make_compactor, make_digest, make_policy
from agentic.app.config._problems import ConfigProblems, Fault, Origin
from agentic.app.config._records import DIGEST, AgentSettings
from agentic.app.config._reference import (
    RECALL,
    connect,
    expand,
    is_served,
    limits_of,
    reply_tokens,
    resolve_tools,
    served_name,
)
from agentic.app.config._strategies import make_strategy
from agentic.context.budget import Compactor, Policy
from agentic.context.compactors import ReadAgain, with_restoration
from agentic.errors import ConfigError
from agentic.history import Sessions
from agentic.limits import ModelLimits
from agentic.loop import Decider, Executor, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.session import Session
from agentic.tokens._models import ModelCounter
from agentic.tools import Approver, Registry, RequireApproval, ToolDefinition

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class AgentConfig(AgentSettings):
    """An agent: its model, its tools, and how its conversations are kept.

    Created by `load`, `loads` and `find`. Nothing that it names is imported or connected to until a
    part is requested. Errors name the line of the file that they come from.
    """

    _origin: Origin = attrs.field(factory=Origin, eq=False, repr=False)
    _deciders: dict[str, Decider] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    """The deciders by name, so that each model is connected to once."""

    @property
    def path(self) -> Path | None:
        """The path of the file that the agent was read from; None if it was not a file."""
        return self._origin.path

    def decider(self) -> Decider:
        """Return the decider: a connection to the model, or a custom one; the same at every call.

        Raises:
            ConfigProblems: no model is named, or it cannot be set up or imported.
            ImportError: the provider's SDK is not installed.
        """
        if self.model is None:
            example = "model: anthropic:claude-sonnet-4-5"
            message = f"model is missing; add {example}, or pass a decider to runner()"
            raise self._origin.problems([Fault(("model",), "", message=message)])
        return self._decider(self.model, "model")

    def limits(self) -> ModelLimits:
        """Return the model's limits: `context_window`, or those of the decider or the catalog."""
        if self.context_window is not None:
            # A window that is written says nothing of how long a reply may be.
            model_limits = limits.lookup(served_name(self.model))
            return attrs.evolve(
                model_limits, context_window=self.context_window, known=True, relative=""
            )
        return self._limits(self.model, "model")

    def counter(self) -> ModelCounter:
        """Return the best counter that is installed for the model."""
        return tokens.for_model(served_name(self.model))

    def policy(self) -> Policy:
        """Return the budget's policy: `Policy.for_window` unless the file has numbers of its own.

        One of the numbers of messages and tokens, or the reserve, brings supyagent's defaults for
        the others. If a default contradicts a number in the file, or the window, the default is
        adjusted: the reserve down to half of the window, the recent messages to `max_messages` less
        four, `max_messages` to the recent messages plus four.

        Raises:
            ConfigProblems: numbers in the file contradict one another or the window.
        """
        model_limits = self.limits()
        reply = reply_tokens(self.model, self.model_options, model_limits)
        with self._blaming("context"):
            return make_policy(self.context, model_limits.context_window, self._origin, reply)

    def compactor(self) -> Compactor:
        """Return the compactor, which falls back to a digest; it connects on first use."""
        model, name = self.model, self.context.summary_model
        # A custom decider may answer any prompt with anything: it summarizes only if it is named.
        if name is None:
            name = model if model is not None and is_served(model) else DIGEST
        if name == DIGEST:
            return make_digest(self.policy(), self.counter())
        # An error blames the key that names the model.
        place = ("model",) if self.context.summary_model is None else ("context", "summary_model")
        own = self.limits() if name == model else self._limits(name, *place)
        # Connected to when a summary is due, since most conversations never need one.
        return make_compactor(
            lambda: self._decider(name, *place), own.context_window, self.policy(), self.counter()
        )

    def sessions(self) -> Sessions:
        """Return the place where the agent's sessions are kept.

        Raises:
            ConfigProblems: sessions in memory cannot be listed, or the path has no home.
            ImportError: the driver of the database is not installed.
        """
        if self.store.kind == "jsonl":
            return history.JsonlSessions(self._store_path(self.name))
        if self.store.kind == "sqlite":
            # Imported only when needed: each of these modules loads a database driver.
            from agentic.history.sqlite import SqliteSessions  # noqa: PLC0415

            return SqliteSessions(self._store_path(f"{self.name}.db"))
        if self.store.kind == "postgres" and self.store.dsn:
            from agentic.history.postgres import PostgresSessions  # noqa: PLC0415

            return PostgresSessions(self.store.dsn)
        requirement = "jsonl, sqlite, or postgres with its dsn, for sessions that last"
        raise self._origin.problems([Fault(("store", "kind"), self.store.kind, requirement)])

    def session(self, session_id: str | None = None, *, read_again: bool = False) -> Session:
        """Return a session of this agent, to be used with `async with`; without an id, a new one.

        With `read_again`, the files that were last read or changed are read again after a summary,
        by the agent's own tool and without asking anybody: it has read or changed them before.

        Raises:
            ConfigError: the session id is invalid.
            ConfigProblems: something that the file names cannot be used.
        """
        model_limits, counter = self.limits(), self.counter()
        if model_limits.note:
            _logger.warning(
                "the window of %s is not known: %s; write context_window",
                self.model or "a model without a name",
                model_limits.note,
            )
        session_id = uuid.uuid4().hex[:12] if session_id is None else session_id
        in_memory = self.store.kind == "memory"
        # Completed below: the session counts its tools, and `recall` needs the session.
        executor = _Tools(self) if self.tools else None
        compactor = self.compactor()
        if read_again and executor is not None:
            reader = ReadAgain(execute=executor.execute, counter=counter)
            compactor = with_restoration(compactor, reader)
        session = Session(
            session_id,
            history.MemoryStore() if in_memory else self.sessions().open(session_id),
            counter=counter,
            policy=self.policy(),
            compactor=compactor,
            auto_summarize=self.context.auto_summarize,
            strategies=self._strategies(counter),
            system_prompt=self.system_prompt,
            executor=executor,
            model=self.model or "",
            recall=RECALL in self.tools,
        )
        if executor is not None:
            executor.session = session
        return session

    def registry(self, session: Session) -> Registry | None:
        """Return the tools of the agent in a session; None if it has no tools.

        Raises:
            ConfigProblems: lists every reference that does not exist or is not a tool.
        """
        registry, faults = Registry(), list[Fault]()
        # Do not stop at the first mistake, as when the file is read.
        for index, text in enumerate(self.tools):
            try:
                if text == RECALL:
                    registry.register(session.recall_tool())
                else:
                    for tool in resolve_tools(text, self._origin.folder):
                        registry.register(tool)
            except ConfigError as error:
                faults.append(Fault.of(error, ("tools", index)))
        if faults:
            raise self._origin.problems(faults)
        return registry if self.tools else None

    def runner(
        self, session: Session, decider: Decider | None = None, *, approver: Approver | None = None
    ) -> Runner:
        """Return the Runner for a session; `decider` takes the place of the model.

        Args:
            session: The conversation.
            decider: Decides in place of the model.
            approver: Is asked before a call of a tool that is not annotated as read-only, unless
                the file says `approve: never`. Without an approver, nothing asks.

        Raises:
            ConfigProblems: something that the file names cannot be used, or the file says
                `approve: ask` and there is no approver.
            ImportError: the provider's SDK is not installed.
        """
        return session.runner(
            self.decider() if decider is None else decider,
            self._executor(session, approver),
            truncation=None if self.truncation is None else self.truncation.options(),
            system_prompt=self.system_prompt,
            max_turns=self.max_turns,
            tool_timeout_seconds=self.tool_timeout_seconds,
            turn_output_bytes=self.turn_output_bytes,
        )

    def _executor(self, session: Session, approver: Approver | None) -> Executor | None:
        """Return the tools of a session, with the approval that they need."""
        registry = self.registry(session)
        if registry is None or self.approve == "never":
            return registry
        if approver is not None:
            return RequireApproval(registry, approver)
        if self._origin.has("approve"):  # the default must not stop a program that asks nobody
            message = "approve: ask, but nobody can be asked; pass an approver to runner()"
            raise self._origin.problems([Fault(("approve",), "", message=message)])
        return registry

    def _store_path(self, name: str) -> Path:
        # Not in the working directory: an agent has the same sessions wherever it is started.
        if self.store.path is None:
            return self._origin.folder / ".agentic" / "sessions" / name
        with self._blaming("store", "path"):
            return expand(self.store.path, self._origin.folder)

    def _strategies(self, counter: ModelCounter) -> list[Any]:
        strategies = []
        for index, settings in enumerate(self.strategies):
            with self._blaming("strategies", index, settings.name):
                strategies.append(make_strategy(settings, counter))
        return strategies

    def _limits(self, model: str | None, *place: str) -> ModelLimits:
        if model is None or is_served(model):
            return limits.lookup(served_name(model))
        return limits_of(self._decider(model, *place))

    def _decider(self, model: str, *place: str) -> Decider:
        """Connect to a model, or return the existing connection."""
        if model not in self._deciders:
            own = model == self.model
            options = self._own_options() if own else {}
            # Pass only a window from the file: otherwise the provider's adapter looks it up.
            window = self.limits() if own and self.context_window is not None else None
            settings = self._role_settings() if own else {}
            with self._blaming(*place):
                self._deciders[model] = connect(
                    model, options, window, self._origin.folder, **settings
                )
        return self._deciders[model]

    def _role_settings(self) -> dict[str, Any]:
        """Return what a provider's decider is told about roles, as far as it was set."""
        settings = {"record_role": self.record_role, "strict_roles": self.strict_roles}
        defaults = attrs.fields_dict(type(self))
        return {name: each for name, each in settings.items() if each != defaults[name].default}

    def _own_options(self) -> Mapping[str, Any]:
        """Return the options of the agent's model, with a reply that its reserve has room for."""
        options = self.model_options
        # A custom decider has to be made before it can report its limits.
        if not is_served(self.model or ""):
            return options
        model_limits = self.limits()
        if not model_limits.window_includes_reply:
            return options
        reserve = self.policy().reserve_tokens
        reply = reply_tokens(self.model, options, model_limits)
        # A limit that is written stands, and thinking needs more than it was given.
        if reply <= reserve or "max_tokens" in options or "thinking" in options:
            return options
        return {**options, "max_tokens": reserve}

    @contextlib.contextmanager
    def _blaming(self, *place: str | int) -> Iterator[None]:
        """Add to an error the line of the key that caused it."""
        try:
            yield
        # It names its own lines.
        except ConfigProblems:
            raise
        except ConfigError as error:
            raise self._origin.problems([Fault.of(error, place)]) from error


@attrs.define(eq=False)
class _Tools:
    """The tools of a session, imported on first use."""

    agent: AgentConfig
    session: Session | None = None
    _registry: Registry | None = attrs.field(default=None, init=False)

    async def list_tools(self) -> list[ToolDefinition]:
        return await self._made().list_tools()

    async def execute(self, call: ToolCall, /) -> ToolResult:
        return await self._made().execute(call)

    def _made(self) -> Registry:
        # Not before: to undo a summary, a session needs none of its tools, and they may be broken.
        if self._registry is None and self.session is not None:
            self._registry = self.agent.registry(self.session)
        return Registry() if self._registry is None else self._registry
