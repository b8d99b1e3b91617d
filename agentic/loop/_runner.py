"""The Runner: what an agent is made of, checked before the first request."""

import asyncio
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from agentic import truncate
from agentic.context.budget import Manager
from agentic.context.strategies import ContextStrategy
from agentic.errors import ConfigError, HistoryConflict
from agentic.history import Store
from agentic.loop._conversation import Conversation, Voice
from agentic.loop._protocols import Decider, Executor
from agentic.loop._records import Request, Result
from agentic.loop._run import Run
from agentic.loop._view import View
from agentic.messages import Message
from agentic.tokens import Gauge

__all__ = ["Runner"]

_BATCH = 4
"""The outputs of a turn may take as much as this many of the longest single output."""


def _strategies(
    given: Iterable[ContextStrategy | Callable[[list[Message]], list[Message]]],
) -> tuple[Callable[[list[Message]], list[Message]], ...]:
    return tuple(
        strategy.compact if isinstance(strategy, ContextStrategy) else strategy
        for strategy in given
    )


def _above_zero(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    optional = attribute.default is None or attribute.name == "tool_timeout_seconds"
    if value is None and optional:
        return
    whole = attribute.name != "tool_timeout_seconds"
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
        allowed = ("a whole number" if whole else "a number") + " above 0"
        raise ConfigError(
            attribute.name,
            value,
            allowed + (", or None" if optional else ""),
            "leave it out for the default",
        )


@attrs.define(eq=False)
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
    """Where the conversation is kept. With a budget that compacts it must be a Rewriter."""
    budget: Manager | None = None
    truncation: truncate.Options | None = None
    """How each tool output is cut before it enters the history; None leaves it whole."""
    strategies: tuple[Callable[[list[Message]], list[Message]], ...] = attrs.field(
        default=(), converter=_strategies
    )
    """What makes the view from the history, in this order: objects with `compact`, or callables."""
    max_turns: int = attrs.field(default=50, validator=_above_zero)
    """How many decisions a run may take."""
    tool_timeout_seconds: float | None = attrs.field(default=120.0, validator=_above_zero)
    """How long the tools of a turn may take; None waits for ever."""
    turn_output_bytes: int | None = attrs.field(default=None, validator=_above_zero)
    """What the outputs of a turn may take together. Unset, four times `truncation.max_bytes`."""
    system_prompt: str = ""
    _gauge: Gauge | None = attrs.field(init=False, repr=False, default=None)
    _running: bool = attrs.field(init=False, repr=False, default=False)

    @decider.validator
    def _check_decider(self, _: object, value: object) -> None:
        _must_have("decider", value, "decide", "async decide(request) -> Decision")

    @executor.validator
    def _check_executor(self, _: object, value: object) -> None:
        if value is not None:
            _must_have("executor", value, "execute", "async execute(call) -> ToolResult")
            _must_have("executor", value, "list_tools", "async list_tools()")

    @store.validator
    def _check_store(self, _: object, value: object) -> None:
        if value is not None:
            _must_have("store", value, "append", "async append(message)")
            _must_have("store", value, "load", "async load()")

    def __attrs_post_init__(self) -> None:
        counter = self.budget.counter if self.budget else None
        if counter is not None:
            self._gauge = Gauge(counter)
        compacts = counter is not None and self.budget is not None and self.budget.compactor
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
            ContextOverflow: the request stays too large, after one forced compaction.
            HistoryError: the store cannot be read or written; HistoryConflict: it is in use.
            Exception: whatever the decider raised. All that is complete is stored before.
        """
        if isinstance(request, str):
            request = Request(request)
        if self.store is None:
            return await self._new_run(request).serve()
        if self._running:
            raise HistoryConflict(f"the store of this Runner, {self.store!r},")
        self._running = True
        try:
            return await self._new_run(request).serve()
        finally:
            self._running = False

    def _new_run(self, request: Request) -> Run:
        voice = Voice(self, uuid.uuid4().hex)
        conversation = Conversation(self.store, voice)
        view = View(conversation, self.strategies, self.budget, self._gauge)
        return Run(self, request, voice, conversation, view)

    def run_sync(self, request: Request | str) -> Result:
        """Serve one request from a script that has no event loop.

        Raises:
            ConfigError: an event loop is running already.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(request))
        raise ConfigError(
            "run_sync", "called inside an event loop", "scripts without one", "await run() instead"
        )


def _must_have(name: str, value: object, method: str, signature: str) -> None:
    if not callable(getattr(value, method, None)):
        raise ConfigError(
            name, value, f"an object with {signature}", f"give it the method {method}"
        )
