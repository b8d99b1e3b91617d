"""The Runner: the parts of an agent, checked before the first request."""

import inspect
import operator
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import attrs

from agentic import truncate
from agentic._base._lazy import LazyModule, asyncio
from agentic._base._short_repr import short_repr
from agentic._base._validate import all_are, must_be, must_be_async, must_execute, seconds, whole
from agentic.context.budget import Manager, Policy
from agentic.context.budget._policy import check_policies, find_policy, policy_for
from agentic.context.strategies import Chain
from agentic.context.strategies._strategy import as_chain
from agentic.errors import ConfigError, HistoryConflict
from agentic.loop._records import Request, Result, RunLimits, provider_and_model
from agentic.messages import Message
from agentic.protocols import ChangeWriter, Decider, Executor, NativeSummarizer, Store

if TYPE_CHECKING:
    from agentic.context import view as _views
    from agentic.context.view import View
    from agentic.loop import _calls, _conversation, _run
else:
    # With the events and the room of the stores, they are half of a Runner's import.
    _views = LazyModule("agentic.context.view")
    _calls = LazyModule("agentic.loop._calls")
    _conversation = LazyModule("agentic.loop._conversation")
    _run = LazyModule("agentic.loop._run")

_BATCH = 4
"""By default, the outputs of a turn may together take this many times `truncation.max_bytes`."""

_NO_BUDGET = Policy(0)
_busy_stores: set[int] = set()
"""The ids of the stores that a run is writing to. They are not reused meanwhile, because the run
keeps its store alive."""


@runtime_checkable
class ViewMaker(Protocol):
    """Creates the View of a conversation: a budget that takes the place of a Manager.

    `compat.open_agent_sdk.ContextConfig` is an example.
    """

    def make_view(self, *, strategies: Any = ()) -> "View":
        """Return the View of one conversation, which also applies these strategies.

        `strategies` are those of the Runner.
        """
        ...


def _as_budget(
    budget: Manager | ViewMaker | Policy | Mapping[str, Policy] | int | str | None,
) -> Manager | ViewMaker | Policy | Mapping[str, Policy] | None:
    """Return a budget; that of a bare window is its policy."""
    return policy_for(budget) if isinstance(budget, int | str) else budget


@short_repr
@attrs.define(eq=False)
class Runner:
    """Runs user requests: asks the decider and runs the tools that it calls, until it replies.

    Every part except the decider is optional. A Runner with a store serves one conversation.
    Without a store, each run is a conversation of its own.

    Raises:
        ConfigError: a part lacks a method that is needed, or a limit is out of range.
    """

    decider: Decider = attrs.field()
    executor: Executor | None = attrs.field(default=None)
    store: Store | None = attrs.field(default=None)
    """Where the conversation is stored. It must be a Rewriter if the budget compacts. If it is also
    an OutputStore, it keeps the whole of each output that was cut."""
    budget: Manager | ViewMaker | Policy | Mapping[str, Policy] | None = attrs.field(
        default=None, converter=_as_budget
    )
    """When and how the history is compacted: a Manager, or anything with `make_view()`. With a bare
    Policy, the decider writes the summaries: see `compactors.Continuation`. A window in tokens or
    the name of a model means `Policy.for_window`. With policies by patterns of models, such as
    `{"claude-*": ..., "*": ...}`, that of the decider's model holds."""
    truncation: truncate.Options | None = attrs.field(
        default=None, validator=must_be(truncate.Options, optional=True)
    )
    """How each tool output is cut before it enters the history; None means that it is not cut."""
    strategies: Chain = attrs.field(default=Chain(()), converter=as_chain)
    """Applied to the history, in this order, when an epoch begins: objects with `compact`, or
    callables."""
    max_turns: int = attrs.field(default=50, validator=whole(1))
    """The most decisions that a run may take."""
    limits: RunLimits = attrs.field(factory=RunLimits, kw_only=True, validator=must_be(RunLimits))
    """What a run may use besides turns: tokens, dollars, calls, seconds, repeated turns."""
    tool_timeout_seconds: float | None = attrs.field(default=120.0, validator=seconds)
    """How long each call may take, without the time in which it waits for a person; None means no
    limit. The calls of a turn start together."""
    turn_output_bytes: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """The most bytes that the outputs of a turn may take together. The default is four times
    `truncation.max_bytes`, if that is set."""
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    summarize_ahead: bool = attrs.field(default=True, kw_only=True, validator=must_be(bool))
    """Whether a summary that will be due soon is made while tools run, so that no request waits for
    it. A session that was entered keeps one that is not ready at the end of a run for the next one.
    Not for a model whose prompt cache is not known, nor in a durable run."""
    conversation_id: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The name of the conversation, for events and traces; a session's Runner has its id."""
    _view: "View" = attrs.field(init=False, repr=False)
    """The View of the conversation in the store."""
    _view_parts: tuple[Store | None, object, object] = attrs.field(
        init=False, repr=False, default=(None, None, None)
    )
    """The store, the budget and the strategies that `_view` was made for."""
    _runs: "list[_run.Run]" = attrs.field(init=False, repr=False, factory=list)
    """The active runs."""
    _used_ids: set[str] = attrs.field(init=False, repr=False, factory=set)
    """The ids of all calls that this Runner has seen in the store. Compaction may since have
    removed some of these calls."""

    @decider.validator
    def _check_decider(self, _: object, value: object) -> None:
        _check_part("decider", value, "decide", "async decide(request) -> Decision")
        if inspect.iscoroutinefunction(getattr(value, "stream", None)):
            requirement = "an object whose stream yields pieces of text, and a Decision at the end"
            raise ConfigError("decider", value, requirement, "write async def stream with yield")

    @executor.validator
    def _check_executor(self, _: object, value: object) -> None:
        if value is not None:
            must_execute("executor", value)

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        if value is not None:
            _check_part("store", value, "append", "async append(message)")
            _check_part("store", value, "load", "async load()")
            # Optional: a store without it can still hold a conversation that is never compacted.
            if hasattr(value, "replace"):
                _check_part("store", value, "replace", "async replace(messages)")

    @budget.validator
    def _check_budget(self, attribute: Any, value: object) -> None:
        if isinstance(value, Mapping):
            check_policies(None, attribute, value)
            if find_policy(value, provider_and_model(self.decider)[1]) is None:
                remedy = 'add a policy for "*", which is every model'
                raise ConfigError("budget", list(value), "a pattern of the decider's model", remedy)
        elif not (value is None or isinstance(value, Manager | ViewMaker | Policy)):
            remedy = "make a Manager, or leave it out"
            requirement = "a budget.Manager, a budget.Policy or a ContextConfig"
            raise ConfigError("budget", value, requirement, remedy)

    def _make_view(self) -> "View":
        if self.budget is None:
            view = _views.View(_NO_BUDGET, strategies=self.strategies)
        elif isinstance(self.budget, Manager):
            view = _views.View.of(self.budget, strategies=self.strategies)
        elif isinstance(self.budget, Policy):
            view = _views.View.of(self._manager_for(self.budget), strategies=self.strategies)
        elif isinstance(self.budget, Mapping):
            policy = find_policy(self.budget, provider_and_model(self.decider)[1])
            manager = self._manager_for(policy or Policy(0))
            view = _views.View.of(manager, strategies=self.strategies, policies=self.budget)
        else:
            view = self.budget.make_view(strategies=self.strategies)
        self._name_model(view)
        return view

    def _manager_for(self, policy: Policy) -> Manager:
        """Return a Manager whose summaries are written by the decider."""
        from agentic import tokens  # noqa: PLC0415  here and below: few Runners need them
        from agentic.context.compactors import Continuation  # noqa: PLC0415

        _, model = provider_and_model(self.decider)
        counter = tokens.for_model(model) if model else tokens.EstimateCounter()
        return Manager(counter, Continuation(counter=counter), policy)

    def _name_model(self, view: "View") -> None:
        """Tell a View which model its requests are for: the decider may be another one now."""
        view.provider, view.model = provider_and_model(self.decider)
        view.server_drops = bool(getattr(self.decider, "survives_stale_reasoning", False))
        view.ask = self.decider.decide
        view.execute = None if self.executor is None else self.executor.execute
        compacts = callable(getattr(self.decider, "compact_natively", None))
        view.native = cast("NativeSummarizer", self.decider) if compacts else None
        writes = callable(getattr(self.decider, "write_change", None))
        view.change_writer = cast("ChangeWriter", self.decider) if writes else None

    def __attrs_post_init__(self) -> None:
        # When the Runner is made, and not in the middle of a run.
        self._take_parts()

    def _take_parts(self) -> None:
        """Check the parts together; make the View if it has none yet, or others."""
        self.limits.check_price(*provider_and_model(self.decider))
        parts = (self.store, self.budget, self.strategies)
        if all(map(operator.is_, parts, self._view_parts)):
            self._name_model(self._view)
            return
        if self.store is not None and not hasattr(self.store, "replace") and self._compacts:
            raise ConfigError(
                "store",
                self.store,
                "a Rewriter, since the budget compacts the history",
                "give the store an async replace(messages), or leave the budget out",
            )
        if self.store is not self._view_parts[0]:  # the ids of another conversation
            self._used_ids = set()
        self._view, self._view_parts = self._make_view(), parts

    @property
    def _compacts(self) -> bool:
        if isinstance(self.budget, Manager):
            return self.budget.counter is not None and self.budget.compactor is not None
        return self.budget is not None

    @property
    def output_budget(self) -> int | None:
        """The most bytes that the outputs of a turn may take together; None for no limit."""
        if self.turn_output_bytes is not None or self.truncation is None:
            return self.turn_output_bytes
        longest = self.truncation.max_bytes
        return None if longest is None else _BATCH * longest

    async def run(self, request: Request | str, *, run_id: str = "") -> Result:
        """Serve one request.

        The ids that a run makes up, and the idempotency keys of its calls, are derived from
        `run_id`, which events carry too. It is random by default; whoever replays a run passes the
        former one. Two requests must not have the same.

        Raises:
            ConfigError: `request` is neither a Request nor a text, or it has a history that differs
                from the stored one.
            ContextOverflow: the request is still too large after one forced compaction.
            HistoryError: the store cannot be read or written.
            HistoryConflict: another run is using the store, or somebody has removed the request. A
                reply to it is not stored; `agent_end` has it.
            Exception: whatever the decider raised, after every complete message is stored.
        """
        if isinstance(request, str):
            request = Request(request)
        if not isinstance(request, Request):
            raise ConfigError(
                "the request", request, "a Request, or its text", "pass the user's words"
            )
        system_prompt = request.system_prompt or self.system_prompt
        run = self._new_run(request.user_message, request.history, system_prompt, run_id)
        return await self._serve(run)

    async def resume(self, history: Sequence[Message] = (), *, run_id: str = "") -> Result:
        """Continue the stored conversation, whose last run failed, was killed or reached a limit.

        No message is made up: the model is asked again, with the history as it is. Calls that were
        never answered read as interrupted. The limits apply anew.

        Args:
            history: the conversation, if the Runner has no store.
            run_id: as for `run`. Ids and keys are derived from the last message, too, so that they
                differ from those of the former run if it had the same id.

        Raises:
            ConfigError: there is nothing to resume: no request, or its reply is complete.
            Exception: what `run` raises.
        """
        messages = all_are(Message, history, "history")
        run = self._new_run("", messages, self.system_prompt, run_id, resumes=True)
        return await self._serve(run)

    def steer(self, message: str, *, run_id: str = "") -> None:
        """Add a user message to an active run: the model reads it at its next decision.

        A run that would have ended goes on to answer it. If the run fails or reaches a limit, the
        message is stored, and `resume` answers it. Call this in the thread of the run's event loop.

        Args:
            message: the user's words.
            run_id: the run, if several are active, which only a Runner without a store allows.

        Raises:
            ConfigError: the message is blank, no run is active, or several are.
        """
        Request(message)  # checked like a request
        matches = [run for run in self._runs if run_id in {"", run.run_id}]
        active = [run for run in matches if not run.is_over]
        if len(active) != 1:
            state = f"{len(active)} active runs" if active else "no active run"
            remedy = "pass run_id" if active else "pass the message to run()"
            raise ConfigError("steer", state, "one active run", remedy)
        active[0].steered.append(message)

    async def _serve(self, run: "_run.Run") -> Result:
        # That of the run: the Runner may be given another while it lasts.
        store = run.setup.store
        if store is not None:
            # By store, not by Runner: two runs on one store would interleave their messages.
            if id(store) in _busy_stores:
                raise HistoryConflict(f"the {type(store).__name__} of this Runner")
            _busy_stores.add(id(store))
        self._runs.append(run)
        try:
            return await run.serve()
        finally:
            self._runs.remove(run)
            _busy_stores.discard(id(store))

    def _new_run(
        self,
        user_message: str,
        messages: Sequence[Message],
        system_prompt: str,
        run_id: str,
        *,
        resumes: bool = False,
    ) -> "_run.Run":
        self._take_parts()  # any of them may have been replaced since
        # Without a store each run is a conversation of its own.
        view = self._make_view() if self.store is None else self._view
        used_ids = set() if self.store is None else self._used_ids
        setup = self._set_up(system_prompt)
        run_id = run_id or os.urandom(16).hex()
        return _run.Run(setup, user_message, messages, resumes, run_id, view, used_ids)

    def _set_up(self, system_prompt: str) -> "_run.Setup":
        """Return what this consists of now: later changes of it apply to later runs."""
        stream = getattr(self.decider, "stream", None)
        put = getattr(self.store, "put", None)
        provider, model = provider_and_model(self.decider)
        return _run.Setup(
            sender=self,
            model=_conversation.ModelConnection(
                decide=self.decider.decide,
                stream=stream if callable(stream) else None,
                provider=provider,
                name=model,
                conversation_id=self.conversation_id,
            ),
            executor=self.executor,
            store=self.store,
            system_prompt=system_prompt,
            output_limits=_calls.OutputLimits(
                truncation=self.truncation,
                turn_bytes=self.output_budget,
                put=put if callable(put) else None,
            ),
            max_turns=self.max_turns,
            limits=self.limits,
            tool_timeout_seconds=self.tool_timeout_seconds,
            summarize_ahead=self.summarize_ahead,
            kept=getattr(self.budget, "kept", None),
        )

    def run_sync(self, request: Request | str) -> Result:
        """Serve one request from a script that has no event loop.

        Raises:
            ConfigError: an event loop is already running.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is not None:
            raise ConfigError(
                "the event loop", running, "absent for run_sync", "await run() instead"
            )
        return asyncio.run(self.run(request))


def _check_part(name: str, part: object, method: str, signature: str) -> None:
    must_be_async(name, part, method, signature, f"pass an object with {method}")
