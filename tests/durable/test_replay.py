"""A run that is killed at any step and started again ends like one that nothing disturbed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.durable import Durable, StepFailed, Steps
from agentic.errors import ConfigError, HistoryUnavailable
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import Message, ToolCall, ToolResult, to_plain
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition
from agentic.usage import Usage, report

_STARTED = datetime(2026, 11, 23, 12, tzinfo=UTC)
_TURNS = 4


@attrs.define
class Scripted:
    """A model that asks for two files in each turn, without ids, and then replies."""

    asked: int = 0

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        self.asked += 1
        calls = [ToolCall("", "read", json.dumps({"n": n})) for n in range(2)]
        if request.turn == _TURNS:
            return Decision("Done.", usage=Usage(9, 1))
        return Decision(f"Turn {request.turn}.", calls, Usage(9, 1))


class Files:
    """Tools: reading the second file fails."""

    async def list_tools(self) -> list[ToolDefinition]:
        """List the tool."""
        return [ToolDefinition("read")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer after a moment."""
        await asyncio.sleep(0)
        if call.parse()["n"]:
            raise FileNotFoundError("b.py")
        return ToolResult(output="a line of text\n" * 40)


class Summaries:
    """A compactor that calls what it was given by the number of messages."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize, which costs something as well."""
        report(Usage(5, 1), model="tiny")
        return f"{len(messages)} messages."


def _run(steps: Any, decider: Any = None, tools: Any = None, **options: Any) -> Result:
    durable = Durable(steps, _STARTED, peek=steps.peek, **options)
    policy = Policy(600, reserve_tokens=100, keep_recent_tokens=150)
    runner = Runner(
        durable.decider(decider or Scripted()),
        durable.executor(tools or Files()),
        budget=Manager(CharCounter(), durable.compactor(Summaries()), policy=policy),
        tool_timeout_seconds=None,
    )

    async def attempt() -> Result:
        with durable.clock():
            return await runner.run("Read them.", run_id="run-1")

    return asyncio.run(attempt())


def _bytes(result: Result) -> str:
    return json.dumps([to_plain(message) for message in result.history])


def _undated(result: Result) -> list[Message]:
    return [attrs.evolve(each, timestamp=None, summary=None) for each in result.history]


@given(
    dies_at=st.integers(0, 20),
    before_work=st.booleans(),
    looks_ahead=st.sampled_from([(False, False), (False, True), (True, True)]),
)
def test_killed_run_ends_like_undisturbed_one(
    engine: Callable[..., Any], dies_at: int, before_work: bool, looks_ahead: tuple[bool, bool]
) -> None:
    """Before a step's work, and between its work and its record; also by a newer version."""
    first, then = looks_ahead
    undisturbed = _run(engine().attempt())
    killed = engine(dies_at=dies_at, before_work=before_work, looks_ahead=first)

    with contextlib.suppress(BaseException):
        _run(killed.attempt())
    killed.dies_at, killed.looks_ahead = None, then
    result = _run(killed.attempt())

    assert _undated(result) == _undated(undisturbed)
    assert result.usage == undisturbed.usage
    assert result.summary is not None


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_replay_has_the_same_bytes(engine: Callable[..., Any], looks_ahead: bool) -> None:
    """Ids and times included: nothing is asked and nothing is run again."""
    whole = engine(looks_ahead=looks_ahead)
    first, decider = _run(whole.attempt()), Scripted()
    done = list(whole.names)

    again = _run(whole.attempt(), decider)

    assert _bytes(again) == _bytes(first)
    assert (decider.asked, whole.names) == (0, done)
    assert done.count("decide") == _TURNS
    assert done.count("tool read") == 2 * (_TURNS - 1)
    assert done.count("list_tools") == (0 if looks_ahead else _TURNS)
    assert "summarize" in done


class Changing:
    """A tool that another version of the agent calls otherwise."""

    def __init__(self, *names: str) -> None:
        self.names = names

    async def list_tools(self) -> list[ToolDefinition]:
        """List the tool by its next name."""
        name, *rest = self.names
        self.names = (*rest,) or (name,)
        return [ToolDefinition(name)]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        return ToolResult(output=call.name)


@attrs.define
class Obedient:
    """A model that calls whatever tool it is offered, and keeps its name."""

    offers: list[str] = attrs.field(factory=list)

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn."""
        self.offers.append(request.tools[0].name)
        calls = [ToolCall("", self.offers[-1], "{}")] if request.turn < _TURNS else []
        return Decision(f"Turn {request.turn}.", calls, Usage(9, 1))


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_tools_are_those_on_record(engine: Callable[..., Any], looks_ahead: bool) -> None:
    """A replay has them as they were, turn by turn; the live ones count where the record ends."""
    killed = engine(looks_ahead=looks_ahead)
    killed.dies_at = 5 if looks_ahead else 8  # the call of the third turn
    first, then = Obedient(), Obedient()
    with contextlib.suppress(BaseException):
        _run(killed.attempt(), first, Changing("old", "new", "new"))
    killed.dies_at = None

    result = _run(killed.attempt(), then, Changing("other"))

    assert (first.offers, then.offers) == (["old", "new", "new"], ["other"])
    assert [each.output for each in result.tool_results] == ["old", "new", "new"]
    listings = [record for record in killed.log.values() if '"tools": [' in record]
    assert len(listings) == (3 if looks_ahead else _TURNS)  # one for each change


def test_messages_are_dated_by_steps(engine: Callable[..., Any]) -> None:
    """The request has the time of its submission, and no message precedes another."""
    history = [m for m in _run(engine().attempt()).history if m.timestamp is not None]

    times = [message.timestamp for message in history]
    assert times == sorted(times)
    assert datetime.now(UTC) - times[-1] < timedelta(minutes=1)


def test_large_output_is_kept_by_reference(engine: Callable[..., Any]) -> None:
    """The engine's log holds a reference, and a replay reads the output from the store."""
    whole, outputs = engine(), MemoryStore()
    first = _run(whole.attempt(), outputs=outputs, inline_bytes=100)

    again = _run(whole.attempt(), outputs=outputs, inline_bytes=100)

    assert _bytes(again) == _bytes(first)
    assert all("a line of text" not in record for record in whole.log.values())


def test_output_outlives_a_store_that_is_away(engine: Callable[..., Any]) -> None:
    """The call was made: its result is recorded whole, and is not a failure of the tool."""

    class Away(MemoryStore):
        async def put(self, output: str) -> str:
            raise HistoryUnavailable("x", "y")

    async def call() -> ToolResult:
        durable = Durable(engine().attempt(), _STARTED, outputs=Away(), inline_bytes=0)
        return await durable.executor(Files()).execute(ToolCall("c1", "read", '{"n": 0}'))

    assert "a line of text" in asyncio.run(call()).output


def test_output_with_half_character_is_recorded(engine: Callable[..., Any]) -> None:
    """A tool may cut its text within a surrogate pair: its size is known all the same."""

    class Cutting(Files):
        async def execute(self, call: ToolCall, /) -> ToolResult:
            return ToolResult(call.id, call.name, "half \ud83d")

    async def call(inline_bytes: int) -> ToolResult:
        outputs = MemoryStore()
        durable = Durable(engine().attempt(), _STARTED, outputs=outputs, inline_bytes=inline_bytes)
        return await durable.executor(Cutting()).execute(ToolCall("c1", "read"))

    assert [asyncio.run(call(size)).output for size in (0, 100)] == ["half \ud83d"] * 2


def test_tool_that_hangs_is_an_outcome(engine: Callable[..., Any]) -> None:
    """The timeout is part of the step: a replay does not wait again."""

    class Hanging(Files):
        async def execute(self, call: ToolCall, /) -> ToolResult:
            await asyncio.sleep(3600)
            raise AssertionError

    async def call(steps: Steps) -> ToolResult:
        durable = Durable(steps, _STARTED, tool_timeout_seconds=0.05)
        return await durable.executor(Hanging()).execute(ToolCall("c1", "read"))

    whole = engine()
    first, again = (asyncio.run(call(whole.attempt())) for _ in range(2))

    assert first == again
    assert first.error is not None
    assert first.error.kind == "timeout"


def test_streamed_reply_is_shown_once(engine: Callable[..., Any]) -> None:
    """While it is made; a replay has only the decision."""

    class Streaming(Scripted):
        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            yield "Do"
            yield "ne."
            yield Decision("Done.")

    whole = engine()
    deltas = []
    for _ in range(2):
        with EventRecorder() as recorder:
            assert _run(whole.attempt(), Streaming()).reply == "Done."
        updates = (each for each in recorder.events if isinstance(each, events.MessageUpdate))
        deltas.append([update.delta for update in updates])

    assert deltas == [["Do", "ne."], []]


def test_stream_need_not_be_a_generator(engine: Callable[..., Any]) -> None:
    """Any iterator will do, as in a Runner, and a decider without a name has no model."""

    class Pieces:
        def __init__(self) -> None:
            self.left: list[str | Decision] = ["Do", Decision("Done.")]

        def __aiter__(self) -> AsyncIterator[str | Decision]:
            return self

        async def __anext__(self) -> str | Decision:
            return self.left.pop(0)

    class Streaming(Scripted):
        name = None

        def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            return Pieces()

    with EventRecorder() as recorder:
        assert _run(engine().attempt(), Streaming()).reply == "Done."
    assert recorder.of(events.MessageUpdate)[0].delta == "Do"
    assert recorder.of(events.ModelRequestStart)[0].request_model == ""


@pytest.mark.parametrize("given", ["Done.", None])
def test_wrong_answer_of_a_decider_is_named(engine: Callable[..., Any], given: Any) -> None:
    """The error says what a decider has to return."""

    class Wrong(Scripted):
        async def decide(self, request: Input, /) -> Decision:
            return given

    with pytest.raises(StepFailed, match=r"the decider's answer must be a loop\.Decision"):
        _run(engine().attempt(), Wrong())


def _call_once(engine: Callable[..., Any], executor: Any, **options: Any) -> ToolResult:
    durable = Durable(engine().attempt(), _STARTED, **options)
    decider = ScriptedDecider(Decision(tool_calls=[ToolCall("c1", "read")]), "Done.")
    runner = Runner(durable.decider(decider), durable.executor(executor), tool_timeout_seconds=None)
    with durable.clock():
        (result,) = runner.run_sync("Read it.").tool_results
    return result


def test_output_that_is_not_kept_is_recorded(engine: Callable[..., Any]) -> None:
    """The tool has run: to say that it failed would make the model call it again."""

    class Full(MemoryStore):
        async def put(self, output: str, /) -> str:
            raise OSError("no space left on device")

    tools = ScriptedExecutor({"read": "x" * 100})

    result = _call_once(engine, tools, outputs=Full(), inline_bytes=10)

    assert (result.output, result.error) == ("x" * 100, None)


def test_what_is_no_result_is_named(engine: Callable[..., Any]) -> None:
    """As in a run that nothing records."""

    class Wrong(Files):
        async def execute(self, call: ToolCall, /) -> Any:
            return "text"

    result = _call_once(engine, Wrong())

    assert result.text == "Error: TypeError: the executor returned a str instead of a ToolResult"


@pytest.mark.parametrize("started", [datetime(2026, 11, 23), "2026-11-23", None])  # noqa: DTZ001
def test_start_without_a_time_zone_is_refused(engine: Callable[..., Any], started: Any) -> None:
    """It could not be compared with the time of a record."""
    with pytest.raises(ConfigError, match="started must be a datetime with a time zone"):
        Durable(engine().attempt(), started)
