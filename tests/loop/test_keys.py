"""Idempotency keys: the same for a run that is replayed, and for no two calls otherwise."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Runner
from agentic.messages import ToolCall, to_plain
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tools import CallKey, Registry, ToolDefinition, tool


@attrs.define
class Shop:
    """A service that is given keys."""

    keys: list[str] = attrs.field(factory=list)

    async def buy(self, call: ToolCall) -> str:
        """Note the key of the call that runs this."""
        running = events.current_call()
        assert running is not None
        self.keys.append(running.key)
        return "bought"


def _runner(shop: Shop, store: Any = None, *, turns: int = 2, **options: Any) -> Runner:
    turn = Decision("", [ToolCall("", "buy"), ToolCall("", "buy")])
    decider = ScriptedDecider(*[turn] * turns, "Done.")
    return Runner(decider, ScriptedExecutor({"buy": shop.buy}), store, **options)


def test_replayed_run_has_the_same_keys() -> None:
    """They depend on the run's id, the turn and the index, and on nothing that is drawn."""
    shops = [Shop(), Shop(), Shop()]
    for shop, run_id in zip(shops, ["run-1", "run-1", "run-2"], strict=True):
        asyncio.run(_runner(shop).run("hi", run_id=run_id))

    first, again, other = (shop.keys for shop in shops)
    assert first == again
    assert len({*first, *other}) == 8
    assert all(len(key) == 32 and int(key, 16) for key in first)


def test_key_is_independent_of_call_id() -> None:
    """Some servers send ids, some none, some others at every try."""
    shops = []
    for call_id in ("", "call_9"):
        shops.append(shop := Shop())
        decider = ScriptedDecider(Decision("", [ToolCall(call_id, "buy")]), "Done.")
        runner = Runner(decider, ScriptedExecutor({"buy": shop.buy}))
        asyncio.run(runner.run("hi", run_id="run-1"))

    assert shops[0].keys == shops[1].keys


def test_resumed_run_has_its_own_keys() -> None:
    """Its turns count from 1 again: without that, new calls would pass for the old ones."""
    shop, store = Shop(), MemoryStore()
    runner = _runner(shop, store, turns=4, max_turns=2)
    asyncio.run(runner.run("hi", run_id="run-1"))

    for _ in range(2):
        asyncio.run(runner.resume(run_id="run-1"))

    # Of the last turn before a limit, the calls are refused.
    assert len(set(shop.keys)) == len(shop.keys) == 4


def test_key_is_not_stored() -> None:
    """It belongs to the run, not to the conversation."""
    shop, store = Shop(), MemoryStore()
    runner = _runner(shop, store)
    asyncio.run(runner.run("hi", run_id="run-1"))

    calls = [to_plain(m).get("tool_calls", []) for m in asyncio.run(store.load())]
    assert [set(call) for each in calls for call in each] == [{"id", "name"}] * 4


@pytest.mark.parametrize("as_sync", [True, False])
def test_function_is_given_the_key(*, as_sync: bool) -> None:
    """By the type of the parameter; the model sees no such parameter."""
    given: list[str] = []

    def buy(amount: int, key: CallKey) -> str:
        """Buy."""
        given.append(key)
        return str(amount)

    async def buy_later(amount: int, key: CallKey) -> str:
        """Buy."""
        return buy(amount, key)

    tools = [tool(buy if as_sync else buy_later, name="buy")]
    calls = [ToolCall("", "buy", '{"amount": 1}'), ToolCall("", "buy", '{"amount": 1, "key": ""}')]
    runner = Runner(ScriptedDecider(Decision("", calls), "Done."), Registry(tools))

    good, bad = asyncio.run(runner.run("hi", run_id="run-1")).tool_results

    shop = Shop()
    asyncio.run(_runner(shop).run("hi", run_id="run-1"))
    assert (good.output, given) == ("1", shop.keys[:1])
    assert "'key' is not a parameter" in bad.text
    assert list(tools[0].definition.parameters["properties"]) == ["amount"]


def test_key_outside_a_runner_is_random() -> None:
    """Each call counts as a new one there."""

    @tool
    def buy(key: CallKey) -> str:
        """Buy."""
        return key

    registry = Registry(buy)
    keys = {asyncio.run(registry.execute(ToolCall("c1", "buy"))).output for _ in range(3)}

    assert len(keys) == 3
    assert buy("mine") == "mine"


def test_retry_is_always_or_never() -> None:
    """Anything else would be taken for the one or the other."""
    assert tool(lambda: "", name="t", retry="never").definition.retry == "never"
    assert ToolDefinition("t").retry == "always"
    with pytest.raises(ConfigError, match="must be always or never"):
        ToolDefinition("t", retry="sometimes")


def test_any_text_is_a_run_id() -> None:
    """Also one with a lone surrogate, as a file name may be."""
    decider = ScriptedDecider(Decision(tool_calls=[ToolCall("", "look")]), "Done.")
    runner = Runner(decider, ScriptedExecutor({"look": "x"}))

    result = asyncio.run(runner.run("Look.", run_id="\udcff.log"))

    assert len(result.tool_calls[0].id) == 37
