"""Tools that act on the world: what a kill at any moment may do to them, and what it may not."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import events
from agentic.durable import Durable
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import ToolCall, ToolResult, to_plain
from agentic.tools import ToolDefinition

_STARTED = datetime(2026, 11, 23, 12, tzinfo=UTC)
_CALLS = [ToolCall("", name) for name in ("charge", "note", "charge", "read")]
_TURNS = 3


@attrs.define
class World:
    """A table outside the engine, which no kill can undo."""

    charges: list[str] = attrs.field(factory=list)
    """The key of each charge: nothing tells the second of two apart."""
    notes: dict[str, int] = attrs.field(factory=dict)
    """How often each note was written, by its key."""

    def act(self, name: str, key: str) -> None:
        """Take effect."""
        if name == "charge":
            self.charges.append(key)
        else:
            self.notes[key] = self.notes.get(key, 0) + 1


@attrs.define
class Tools:
    """One tool that must not act twice, one that is given a key, one that only reads."""

    world: World
    attempt: Any
    dies_in: tuple[int, bool] | None = None
    """In which call, counted in this attempt, it dies, and whether after its effect."""
    number: int = 0

    async def list_tools(self) -> list[ToolDefinition]:
        """List them."""
        charge = ToolDefinition("charge", retry="never")
        return [charge, ToolDefinition("note"), ToolDefinition("read")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Act, unless the process is dead."""
        number, self.number = self.number, self.number + 1
        await asyncio.sleep(0)
        running = events.current_call()
        assert running is not None
        if self.attempt.is_dead or self.dies_in == (number, False):
            self.attempt.die()
        self.world.act(call.name, running.key)
        if self.dies_in == (number, True):
            self.attempt.die()
        await asyncio.sleep(0)
        return ToolResult(output=f"{call.name} done")


class Model:
    """Asks for all tools in each turn."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        return Decision("Done.") if request.turn == _TURNS else Decision("", _CALLS)


async def _attempt(tools: Tools) -> Result:
    durable = Durable(tools.attempt, _STARTED)
    runner = Runner(durable.decider(Model()), durable.executor(tools), tool_timeout_seconds=None)
    with durable.clock():
        return await runner.run("Do it.", run_id="run-1")


def _run(engine: Any, world: World, kills: Sequence[Any] = ()) -> Result:
    """Run it to its end: each kill is a step of the engine, or a call of a tool."""
    for kind, at, late in kills:
        engine.dies_at, engine.before_work = (at, not late) if kind == "step" else (None, False)
        dies_in = (at, late) if kind == "call" else None
        with contextlib.suppress(BaseException):
            asyncio.run(_attempt(Tools(world, engine.attempt(), dies_in)))
    engine.dies_at = None
    return asyncio.run(_attempt(Tools(world, engine.attempt())))


def _lost(result: Result) -> list[str]:
    errors = [(each.name, each.error) for each in result.tool_results if each.error]
    assert all(error.kind == "interrupted" for _, error in errors)
    return [name for name, _ in errors]


_KILLS = st.lists(
    st.one_of(
        st.tuples(st.just("step"), st.integers(0, 24), st.booleans()),
        st.tuples(st.just("call"), st.integers(0, 7), st.booleans()),
    ),
    max_size=4,
)


@given(kills=_KILLS)
def test_kills_never_charge_twice(engine: Callable[..., Any], kills: list[Any]) -> None:
    """Keyed tools act once for each key, and what a charge became of is known or told."""
    world = World()

    result = _run(engine(), world, kills)

    calls = (_TURNS - 1) * len(_CALLS)
    charges = calls // 2
    assert len(set(world.charges)) == len(world.charges)
    assert charges - len(_lost(result)) <= len(world.charges) <= charges
    assert set(_lost(result)) <= {"charge"}
    assert len(world.notes) == calls // 2  # `note` and `read`
    assert (result.reply, len(result.tool_results)) == ("Done.", calls)


def test_undisturbed_run_loses_nothing(engine: Callable[..., Any]) -> None:
    """The intents are steps of their own, and a replay acts no more."""
    whole, world = engine(), World()
    first, again = _run(whole, world), _run(whole, world)

    assert _lost(first) == []
    assert [to_plain(m) for m in again.history] == [to_plain(m) for m in first.history]
    assert (len(world.charges), set(world.notes.values())) == (4, {1})
    assert whole.names.count("intend charge") == whole.names.count("tool charge") == 4
    assert "intend note" not in whole.names


@pytest.mark.parametrize("late", [False, True])
def test_kill_after_intent_loses_one(engine: Callable[..., Any], late: bool) -> None:
    """The tool is not run again, whether or not it took effect."""
    world = World()

    result = _run(engine(), world, [("call", 0, late)])

    assert _lost(result)[:1] == ["charge"]
    assert result.tool_results[0].error is not None
    assert "Whether it took effect is unknown" in result.tool_results[0].error.message


def test_kill_before_the_intent_loses_nothing(engine: Callable[..., Any]) -> None:
    """Until it is recorded, nothing was done."""
    world = World()

    assert _lost(_run(engine(), world, [("step", 1, False), ("step", 2, False)])) == []
    assert len(world.charges) == 4


def test_two_processes_charge_once(engine: Callable[..., Any]) -> None:
    """One that was taken for dead, and the one that took over."""
    shared, world = engine(), World()

    async def race() -> list[Result]:
        tools = [Tools(world, shared.attempt()) for _ in range(2)]
        return await asyncio.gather(*map(_attempt, tools))

    asyncio.run(race())

    assert len(set(world.charges)) == len(world.charges) == 4


def test_older_unmarked_run_still_replays(engine: Callable[..., Any]) -> None:
    """Its log has no intents: a tool that is marked since then runs as it was begun."""
    old, world = engine(), World()
    _run(old, world)
    listing = {"v": 1, "ended": "2026-11-23T12:00:00+00:00", "tools": ["charge", "note", "read"]}
    results = [json.loads(r) for r in old.log.values() if "result" in json.loads(r)]
    decisions = [json.loads(r) for r in old.log.values() if "message" in json.loads(r)]
    turns = [[listing, decisions[n], *results[4 * n : 4 * n + 4]] for n in range(_TURNS)]
    log = dict(enumerate(json.dumps(record) for turn in turns for record in turn))

    again = _run(engine(log=log), unused := World())

    assert _lost(again) == unused.charges == []
    assert len(again.tool_results) == 8


def test_repeated_engine_step_charges_once(engine: Callable[..., Any]) -> None:
    """An engine may call the work again in the same process, if its own record failed."""
    world, inner = World(), engine().attempt()

    class Repeating:
        is_dead = False

        async def run(self, name: str, function: Any, /, *args: Any) -> Any:
            async def twice(*given: Any) -> Any:
                if name == "tool charge":
                    await function(*given)
                return await function(*given)

            return await inner.run(name, twice, *args)

    result = asyncio.run(_attempt(Tools(world, Repeating())))

    assert len(set(world.charges)) == len(world.charges) == 4
    assert _lost(result) == ["charge"] * 4
