import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Request, RunLimits, Runner
from agentic.messages import Message
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import StopReason


class _AppendOnly:
    async def append(self, message: Message, /) -> None:
        raise NotImplementedError

    async def load(self) -> list[Message]:
        return []


def _runner(**parts: Any) -> Runner:
    return Runner(**{"decider": ScriptedDecider("done"), **parts})


def _compacting() -> Manager:
    return Manager(CharCounter(), Digest(), Policy(1_000))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("decider", object()),
        ("decider", ScriptedDecider),
        ("executor", []),
        ("executor", ScriptedExecutor),
        ("store", {}),
        ("store", MemoryStore),
        ("truncation", {"max_lines": 10}),
        ("truncation", 10),
        ("strategies", [3]),
        ("strategies", FitContextWindow(1_000)),
        ("strategies", [FitContextWindow]),
        ("max_turns", 0),
        ("max_turns", None),
        ("max_turns", True),
        ("max_turns", 1.5),
        ("tool_timeout_seconds", 0),
        ("tool_timeout_seconds", float("nan")),
        ("tool_timeout_seconds", "1"),
        pytest.param("tool_timeout_seconds", 10**400, id="no-float"),
        ("turn_output_bytes", 0),
        ("turn_output_bytes", -1),
        ("system_prompt", None),
    ],
)
def test_runner_refuses_an_unfit_part(name: str, given: object) -> None:
    """The error names the argument, what was given, what is allowed and what to do."""
    with pytest.raises(ConfigError, match=rf"(?s)^(Runner\.)?{name}.* must be .+, got .*"):
        _runner(**{name: given})


def test_compacting_budget_needs_rewritable_store() -> None:
    """It is refused when the Runner is made, not when the context is full."""
    with pytest.raises(ConfigError, match=r"^store must be a Rewriter.*replace\(messages\)"):
        _runner(store=_AppendOnly(), budget=_compacting())


@pytest.mark.parametrize(
    "budget", [None, Manager(), Manager(CharCounter()), Manager(None, Digest())]
)
def test_unrewriting_budget_takes_any_store(budget: Manager | None) -> None:
    """Without a counter or a compactor a budget never replaces the history."""
    runner = _runner(store=_AppendOnly(), budget=budget)

    assert runner.budget is budget


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Request(None), "Request.user_message"),  # type: ignore[arg-type]
        (lambda: Request(Message("user", "hi")), "Request.user_message"),  # type: ignore[arg-type]
        (lambda: Request("hi", None), "Request.system_prompt"),  # type: ignore[arg-type]
        (lambda: Request("hi", history=3), "Request.history"),  # type: ignore[arg-type]
        (lambda: Request("hi", history="hello"), "Request.history"),  # type: ignore[arg-type]
        (lambda: Request("hi", history=[{"role": "user"}]), "Request.history"),  # type: ignore[list-item]
        (lambda: Decision(None), "Decision.reply"),  # type: ignore[arg-type]
        (lambda: Decision("", 3), "Decision.tool_calls"),  # type: ignore[arg-type]
        (lambda: Decision("", None), "Decision.tool_calls"),  # type: ignore[arg-type]
        (lambda: Decision("", [{"id": "c1"}]), "Decision.tool_calls"),  # type: ignore[list-item]
        (lambda: Decision(usage={"input": 3}), "Decision.usage"),  # type: ignore[arg-type]
        (lambda: Decision(stop_reason="end_turn"), "Decision.stop_reason"),
        (lambda: Decision(native={"id": 1}), "Decision.native"),  # type: ignore[arg-type]
        (lambda: Decision(reasoning=None), "Decision.reasoning"),  # type: ignore[arg-type]
        (lambda: Decision(stop_word=None), "Decision.stop_word"),  # type: ignore[arg-type]
    ],
)
def test_record_refuses_wrong_values(make: Callable[[], object], name: str) -> None:
    """A wrong value is refused where it enters, in words that name the field."""
    with pytest.raises(ConfigError, match=rf"(?s)^{name} must be .+, got .*; .+"):
        make()


def test_a_stop_reason_may_be_spelled() -> None:
    """Our own word for a reason will do."""
    assert Decision(stop_reason="max_tokens").stop_reason is StopReason.MAX_TOKENS


@pytest.mark.parametrize("given", [None, 3, Message("user", "hi"), {"user_message": "hi"}])
def test_run_takes_request_or_text(given: Any) -> None:
    """Anything else is refused, and nothing is stored."""
    store = MemoryStore()

    with pytest.raises(ConfigError, match=r"^the request must be a Request, or its text, got "):
        _runner(store=store).run_sync(given)

    assert asyncio.run(store.full()) == []


@pytest.mark.parametrize("given", ["done", None, ("reply", [])])
def test_a_decider_must_give_a_decision(given: object) -> None:
    """What is no Decision ends the run with an error that says what to return."""

    class Wrong:
        async def decide(self, request: object, /) -> Any:
            return given

    with pytest.raises(
        ConfigError, match=r"the decider's answer must be .*, got .*return Decision\(reply="
    ):
        Runner(Wrong()).run_sync("hi")


@pytest.mark.parametrize("view", [None, (), "messages"])
def test_a_strategy_must_give_a_list(view: Any) -> None:
    """A plain callable that forgets to return ends the run with an error that says so."""
    runner = _runner(strategies=[lambda _: view])

    with pytest.raises(ConfigError, match=r"the strategy's view must be a list of messages, got"):
        runner.run_sync("hi")


def test_run_sync_in_loop_advises_await() -> None:
    """A script's door is refused where an event loop runs, with the other door's name."""

    async def inside() -> None:
        _runner().run_sync("hi")

    with pytest.raises(ConfigError, match=r"await run\(\) instead"):
        asyncio.run(inside())


def test_budget_that_is_set_later_applies() -> None:
    """Also to a conversation that has begun; a store that cannot compact is refused then, too."""
    runner = Runner(ScriptedDecider(*["Yes. " * 100] * 9), store=MemoryStore())
    for _ in range(4):
        assert runner.run_sync("And now? " * 50).summary is None

    runner.budget = Manager(
        CharCounter(), Digest(), Policy(0, max_messages=6, min_recent_messages=2)
    )

    assert runner.run_sync("And now? " * 50).summary is not None
    runner.store = _AppendOnly()
    with pytest.raises(ConfigError, match="a Rewriter, since the budget compacts"):
        runner.run_sync("And now?")


@pytest.mark.parametrize("listed", [None, ["read"], "read"])
def test_listing_of_other_things_than_tools_is_refused(listed: Any) -> None:
    """Before a model is asked about them."""

    class Listing(ScriptedExecutor):
        async def list_tools(self) -> Any:
            return listed

    with pytest.raises(ConfigError, match="the executor's tools must be a list of ToolDefinition"):
        _runner(executor=Listing({})).run_sync("hi")


@pytest.mark.parametrize(
    "price", [None, "0.1", float("nan"), -0.1, pytest.param(10**400, id="no-float")]
)
def test_price_that_no_sum_can_hold_is_refused(price: Any) -> None:
    """With NaN in it, the sum would never reach the limit."""
    limits = RunLimits(dollars=1, price=lambda _: price)

    with pytest.raises(ConfigError, match=r"limits\.price\(decision\) must be a number >= 0"):
        _runner(limits=limits).run_sync("hi")


def test_stream_that_is_a_coroutine_is_refused() -> None:
    """It was meant to yield, and would fail at the first request."""

    class Returning(ScriptedDecider):
        async def stream(self, _: Input) -> str:
            return "done"

    with pytest.raises(ConfigError, match="decider must be an object whose stream yields"):
        _runner(decider=Returning("done"))
