"""The Runner: what an agent is made of, checked before the first request."""

import asyncio
import uuid
from collections.abc import Callable, Iterable

import attrs

from agentic import truncate
from agentic._given import must_be, must_be_async, must_be_strategy, seconds, whole
from agentic.context.budget import Manager
from agentic.context.strategies import ContextStrategy
from agentic.errors import ConfigError, HistoryConflict
from agentic.history import Store
from agentic.loop._conversation import Conversation, Voice
from agentic.loop._protocols import Decider, Executor
from agentic.loop._records import Request, Result
from agentic.loop._run import Run, Setup
from agentic.loop._view import View, closed
from agentic.messages import Message
from agentic.tokens import Gauge

__all__ = ["Runner"]

_BATCH = 4
"""The outputs of a turn may take as much as this many of the longest single output."""

_busy_stores: set[int] = set()
"""The ids of the stores that a run is writing to; the run keeps its store alive meanwhile."""


def _strategies(
    given: Iterable[ContextStrategy | Callable[[list[Message]], list[Message]]],
) -> tuple[Callable[[list[Message]], list[Message]], ...]:
    if not hasattr(given, "__iter__"):
        raise ConfigError("strategies", given, "a list of strategies", "put it into a list")
    return tuple(map(_strategy, given))


def _strategy(
    given: ContextStrategy | Callable[[list[Message]], list[Message]],
) -> Callable[[list[Message]], list[Message]]:
    must_be_strategy("strategies", given)
    return given.compact if isinstance(given, ContextStrategy) else closed(given)


@attrs.frozen(eq=False)
class Runner:
    """Runs user requests: asks the decider, runs the tools it calls, until it has replied.

    Every part but the decider is optional. One Runner serves one conversation if it has a store;
    without one, each run stands alone.

    Raises:
        ConfigError: a part that lacks what it is used for, or a limit that is no limit.
    """

    decider: Decider = attrs.field()
    executor: Executor | None = attrs.field(default=None)
    store: Store | None = attrs.field(default=None)
    """Where the conversation is kept. With a budget that compacts it must be a Rewriter. A Keeper
    also keeps the whole of each output that is cut."""
    budget: Manager | None = attrs.field(default=None, validator=must_be(Manager, optional=True))
    truncation: truncate.Options | None = attrs.field(
        default=None, validator=must_be(truncate.Options, optional=True)
    )
    """How each tool output is cut before it enters the history; None leaves it whole."""
    strategies: tuple[Callable[[list[Message]], list[Message]], ...] = attrs.field(
        default=(), converter=_strategies
    )
    """What makes the view from the history, in this order: objects with `compact`, or callables."""
    max_turns: int = attrs.field(default=50, validator=whole(1))
    """How many decisions a run may take."""
    tool_timeout_seconds: float | None = attrs.field(default=120.0, validator=seconds)
    """How long the tools of a turn may take; None waits for ever."""
    turn_output_bytes: int | None = attrs.field(default=None, validator=whole(1, optional=True))
    """What the outputs of a turn may take together. Unset, four times `truncation.max_bytes`, if
    that is a limit."""
    system_prompt: str = attrs.field(default="", validator=must_be(str))
    _gauge: Gauge | None = attrs.field(init=False, repr=False)
    """Of the conversation in the store."""
    _used_ids: set[str] = attrs.field(init=False, repr=False, factory=set)
    """Of the calls seen in the store by this Runner, those compacted away since included."""

    @decider.validator
    def _check_decider(self, _: object, value: object) -> None:
        _check_part("decider", value, "decide", "async decide(request) -> Decision")

    @executor.validator
    def _check_executor(self, _: object, value: object) -> None:
        if value is not None:
            _check_part("executor", value, "execute", "async execute(call) -> ToolResult")
            _check_part("executor", value, "list_tools", "async list_tools()")

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        if value is not None:
            _check_part("store", value, "append", "async append(message)")
            _check_part("store", value, "load", "async load()")
            if hasattr(value, "replace"):
                _check_part("store", value, "replace", "async replace(messages)")

    @_gauge.default
    def _make_gauge(self) -> Gauge | None:
        counter = self.budget.counter if isinstance(self.budget, Manager) else None
        return None if counter is None else Gauge(counter)

    def __attrs_post_init__(self) -> None:
        compacts = self.budget and self._gauge and self.budget.compactor is not None
        if compacts and self.store is not None and not hasattr(self.store, "replace"):
            raise ConfigError(
                "store",
                self.store,
                "a Rewriter, since the budget compacts the history",
                "give the store an async replace(messages), or leave the budget out",
            )

    @property
    def output_budget(self) -> int | None:
        """What the outputs of a turn may take together, in bytes; None for any amount."""
        if self.turn_output_bytes is not None or self.truncation is None:
            return self.turn_output_bytes
        longest = self.truncation.max_bytes
        return None if longest is None else _BATCH * longest

    async def run(self, request: Request | str) -> Result:
        """Serve one request.

        Raises:
            ConfigError: neither a Request nor a text, or a history beside that of the store.
            ContextOverflow: the request stays too large, after one forced compaction.
            HistoryError: the store cannot be read or written; HistoryConflict: it is in use.
            Exception: whatever the decider raised. All that is complete is stored before.
        """
        if isinstance(request, str):
            request = Request(request)
        if not isinstance(request, Request):
            raise ConfigError(
                "the request", request, "a Request, or its text", "pass the user's words"
            )
        if self.store is None:
            return await self._new_run(request).serve()
        if id(self.store) in _busy_stores:
            raise HistoryConflict(f"the {type(self.store).__name__} of this Runner")
        _busy_stores.add(id(self.store))
        try:
            return await self._new_run(request).serve()
        finally:
            _busy_stores.remove(id(self.store))

    def _new_run(self, request: Request) -> Run:
        voice = Voice(self, uuid.uuid4().hex)
        conversation = Conversation(self.store, voice)
        # What was measured in one conversation says little of another.
        gauge = self._make_gauge() if self.store is None else self._gauge
        view = View(conversation, self.strategies, self.budget, gauge)
        used_ids = set() if self.store is None else self._used_ids
        stream = getattr(self.decider, "stream", None)
        keep = getattr(self.store, "keep", None)
        setup = Setup(
            decide=self.decider.decide,
            stream=stream if callable(stream) else None,
            executor=self.executor,
            system_prompt=request.system_prompt or self.system_prompt,
            truncation=self.truncation,
            output_bytes=self.output_budget,
            max_turns=self.max_turns,
            tool_timeout_seconds=self.tool_timeout_seconds,
            keep=keep if callable(keep) else None,
        )
        return Run(setup, request, voice, conversation, view, used_ids)

    def run_sync(self, request: Request | str) -> Result:
        """Serve one request from a script that has no event loop.

        Raises:
            ConfigError: an event loop is running already.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is not None:
            raise ConfigError(
                "the event loop", running, "none, for run_sync", "await run() instead"
            )
        return asyncio.run(self.run(request))


def _check_part(name: str, given: object, method: str, signature: str) -> None:
    must_be_async(name, given, method, signature, f"make one, and give it {method}")
