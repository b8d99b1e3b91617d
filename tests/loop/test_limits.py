"""A limit ends a run in good order, and the result says which one."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, RunLimit, RunLimits, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tools import ToolDefinition
from agentic.usage import Usage

_USED = Usage(input=60, output=40)


def _look(number: int, *paths: str) -> Decision:
    calls = [ToolCall("", "look", f'{{"path": "{path}"}}') for path in paths or (f"{number}.py",)]
    return Decision(f"Turn {number}.", calls, _USED)


def _runner(*steps: Decision | str, **limits: Any) -> Runner:
    return Runner(
        ScriptedDecider(*steps), ScriptedExecutor({"look": "x"}), limits=RunLimits(**limits)
    )


@pytest.mark.parametrize(
    ("limits", "limit", "turns"),
    [
        ({"tokens": 200}, RunLimit.TOKENS, 2),
        ({"dollars": 0.2, "price": lambda _: 0.1}, RunLimit.DOLLARS, 2),
        ({"calls": 2}, RunLimit.CALLS, 3),
        ({"calls": 0}, RunLimit.CALLS, 1),
    ],
)
def test_limit_refuses_the_calls_exceeding_it(
    limits: dict[str, Any], limit: RunLimit, turns: int
) -> None:
    """The last calls have results, so that the history can be continued."""
    runner = _runner(*map(_look, range(1, 6)), **limits)

    result = runner.run_sync("Look.")

    assert (result.exhausted, result.limit) == (True, limit)
    assert len(result.tool_calls) == len(result.tool_results) == turns
    assert f"the limit of {limit} was reached" in result.tool_results[-1].text
    assert all(given.error is None for given in result.tool_results[:-1])
    assert result.incomplete == f"the limit of {limit} was reached before the model was done"


def test_repeated_turns_end_the_run() -> None:
    """Only the same calls in a row, whatever the spaces and the order of their arguments."""
    same = Decision("", [ToolCall("", "look", '{"path":"a.py","lines":{"from":1,"to":9}}')])
    spaced = Decision("", [ToolCall("", "look", '{"lines": {"to":9,"from":1}, "path": "a.py"}')])
    runner = _runner(same, _look(1), same, spaced, same, repeated_turns=3)

    result = runner.run_sync("Look.")

    assert (result.limit, len(result.tool_calls)) == (RunLimit.REPEATED_TURNS, 5)
    assert "repeated turns" in result.tool_results[-1].text


def test_space_inside_argument_makes_another_call() -> None:
    """The spaces of `rm a b` are not those between the parts of the JSON."""
    calls = [f'{{"command": "{command}"}}' for command in ("rm a b", "rm ab", "rm a b")]
    turns = [Decision("", [ToolCall("", "look", arguments)]) for arguments in calls]

    result = _runner(*turns, "Done.", repeated_turns=2).run_sync("Look.")

    assert (result.reply, result.limit) == ("Done.", None)


def test_repeated_broken_calls_end_the_run() -> None:
    """A model that sends the same broken JSON again and again is stopped, too."""
    broken = Decision("", [ToolCall("", "look", "{path: a.py")])

    result = _runner(broken, broken, repeated_turns=2).run_sync("Look.")

    assert result.limit is RunLimit.REPEATED_TURNS


def test_reply_reaching_a_limit_is_complete() -> None:
    """There was nothing left to do."""
    result = _runner(Decision("Done.", usage=_USED), tokens=1).run_sync("Look.")

    assert (result.exhausted, result.limit, result.incomplete) == (False, None, "")


def test_event_says_which_limit_ended_it() -> None:
    """For what watches the run; the turns are a limit too."""
    runner = attrs.evolve(_runner(_look(1)), max_turns=1)

    with EventRecorder() as recorder:
        result = runner.run_sync("Look.")

    (end,) = (event for event in recorder.events if isinstance(event, events.AgentEnd))
    assert (end.limit, end.exhausted, result.limit) == ("turns", True, RunLimit.TURNS)


def test_time_ends_a_decision_that_hangs() -> None:
    """The request is stored, and nothing is made up."""

    class Hanging:
        async def decide(self, request: Input, /) -> Decision:
            await asyncio.sleep(3600)
            raise AssertionError

    store = MemoryStore()

    result = Runner(Hanging(), store=store, limits=RunLimits(seconds=0.05)).run_sync("Look.")

    assert (result.limit, result.reply) == (RunLimit.SECONDS, "")
    assert [message.role for message in asyncio.run(store.load())] == ["user"]


def test_time_ends_tools_that_hang() -> None:
    """Their results say that the effect is unknown."""

    class Hanging:
        async def list_tools(self) -> list[ToolDefinition]:
            return [ToolDefinition("look")]

        async def execute(self, call: ToolCall, /) -> ToolResult:
            await asyncio.sleep(3600)
            raise AssertionError

    runner = Runner(ScriptedDecider(_look(1), "Never."), Hanging(), limits=RunLimits(seconds=0.05))

    result = runner.run_sync("Look.")

    assert (result.limit, result.reply) == (RunLimit.SECONDS, "Turn 1.")
    assert result.tool_results[0].error is not None
    assert result.tool_results[0].error.kind == "timeout"


def test_deciders_timeout_is_no_limit() -> None:
    """An error of its own goes on."""

    class Slow:
        async def decide(self, request: Input, /) -> Decision:
            raise TimeoutError("the server is slow")

    with pytest.raises(TimeoutError, match="the server"):
        Runner(Slow(), limits=RunLimits(seconds=60)).run_sync("Look.")


def test_price_list_knows_the_deciders_model() -> None:
    """By its name, `provider:model`; one million tokens of input cost 2 dollars."""

    @attrs.define
    class Named:
        name: str = "openai_chat:gpt-4.1"
        turn: int = 0

        async def decide(self, request: Input, /) -> Decision:
            self.turn += 1
            return attrs.evolve(_look(self.turn), usage=Usage(input=1_000_000))

    runner = Runner(Named(), ScriptedExecutor({"look": "x"}), limits=RunLimits(dollars=3))

    assert len(runner.run_sync("Look.").tool_calls) == 2
    with pytest.raises(ConfigError, match="no price is known for 'mine'"):
        Runner(Named("mine"), limits=RunLimits(dollars=3))
    runner.decider = Named("mine")
    with pytest.raises(ConfigError, match="no price is known for 'mine'"):
        runner.run_sync("Look.")


@pytest.mark.parametrize(
    "limits",
    [
        {"tokens": 0},
        {"dollars": -1},
        {"dollars": True},
        {"calls": -1},
        {"seconds": 0},
        {"repeated_turns": 1},
        {"price": 3},
        {"dollars": float("nan")},
        {"seconds": 10**400},
    ],
)
def test_limit_out_of_range_is_refused(limits: dict[str, Any]) -> None:
    """When it is set, not in the middle of a run."""
    with pytest.raises(ConfigError):
        RunLimits(**limits)
