"""A summary that a run of a session begins goes on after it, and is paid once."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.context.budget import Policy
from agentic.history import JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall
from agentic.protocols import CompactionContext
from agentic.session import Session
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter
from agentic.tools import Registry, tool
from agentic.usage import Usage, report

_POLICY = Policy(6_000, 1_000, keep_recent_tokens=800, min_recent_messages=1, timeout_seconds=60.0)
_NEAR = 25
"""The number of the request whose tool runs while a summary is due soon."""


@attrs.define(eq=False)
class _Agent:
    """A model that calls a tool once in each run, and its summarizer, which waits to be let go."""

    name: str = "anthropic:claude-opus-4-8"
    requests: list[Input] = attrs.field(factory=list)
    asked: int = 0
    cancelled: int = 0
    may_end: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def decide(self, request: Input, /) -> Decision:
        self.requests.append(request)
        if request.turn > 1:
            return Decision("Done. " * 100)
        return Decision("", [ToolCall("", "read")])

    async def compact_in(self, _: list[Message], context: CompactionContext, /) -> str:
        self.asked += 1
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        report(Usage(input=100, output=10), model="claude-opus-4-8")
        return f"Summary {self.asked}."

    async def compact(self, messages: list[Message], /) -> str:
        return await self.compact_in(messages, CompactionContext())

    def session(self, store: Any) -> Session:
        @tool
        async def read() -> str:
            """Read a file."""
            # Until the summary that is due soon has begun, which takes some steps in threads.
            while not self.asked and len(self.requests) >= _NEAR:  # noqa: ASYNC110  or it ends
                await asyncio.sleep(0.001)
            return "x = 1\n" * 120

        return Session(
            "s",
            store,
            counter=CharCounter(),
            policy=_POLICY,
            compactor=self,
            executor=Registry([read]),
        )

    async def run_until_asked(self, runner: Runner) -> None:
        """Run until a summary was begun that is not ready at the end of the run."""
        for number in range(30):
            await runner.run(f"Request {number}.")
            if self.asked:
                return
        pytest.fail("no summary was begun")


def _stores() -> list[Any]:
    return [
        pytest.param(lambda _: MemoryStore(), id="memory"),
        pytest.param(lambda folder: JsonlStore(folder / "s.jsonl"), id="jsonl"),
        pytest.param(lambda folder: SqliteStore(folder / "s.db", "s"), id="sqlite"),
    ]


@pytest.mark.parametrize("make", _stores())
def test_next_run_takes_the_summary(make: Callable[[Any], Any], tmp_path: Any) -> None:
    """It is paid once, by the run that takes it, and no message is lost."""
    agent = _Agent()

    async def talk() -> tuple[Any, list[Message], list[Message]]:
        async with agent.session(make(tmp_path)) as session:
            runner = session.runner(agent)
            await agent.run_until_asked(runner)
            agent.may_end.set()
            result = await runner.run("Go on.")
            return result, await session.store.load(), await session.store.full()

    result, history, full = asyncio.run(talk())

    assert (agent.asked, agent.cancelled) == (1, 0)
    assert result.usage.total == 110
    assert [each.content for each in history if each.summary] == [agent_text(history)]
    requests = [each.content for each in full if each.role == "user"]
    assert requests == [*(f"Request {n}." for n in range(len(requests) - 1)), "Go on."]
    results = [each for each in full if each.role == "tool"]
    assert len(results) == len(requests)
    assert not any(each.tool_results[0].error for each in results)


def agent_text(history: list[Message]) -> str:
    """Return the text of the only summary."""
    (summary,) = (each for each in history if each.summary)
    assert "Summary 1." in summary.content
    return summary.content


@pytest.mark.parametrize("make", _stores())
def test_summary_is_stored_between_runs(make: Callable[[Any], Any], tmp_path: Any) -> None:
    """As soon as it is ready, so that the next run need not wait; its usage is that run's."""
    agent = _Agent()

    async def talk() -> Any:
        async with agent.session(make(tmp_path)) as session:
            runner = session.runner(agent)
            await agent.run_until_asked(runner)
            agent.may_end.set()
            # It was due soon, and is not due any more once this one is stored.
            await session.append(Message("user", "By the way. " * 60))
            await session.compact_if_due()
            for _ in range(200):
                if any(each.summary for each in await session.store.load()):
                    break
                await asyncio.sleep(0.005)
            length = len(agent.requests)
            result = await runner.run("Go on.")
            return agent.requests[length], result

    request, result = asyncio.run(talk())

    assert agent.asked == 1
    assert any("Summary 1." in each.content for each in request.history)
    assert any(each.content.startswith("By the way.") for each in request.history)
    assert result.usage.total == 110


def test_end_of_the_session_cancels_it() -> None:
    """Nothing goes on without an owner, and the event says so."""
    agent = _Agent()

    async def talk() -> set[Any]:
        async with agent.session(MemoryStore()) as session:
            await agent.run_until_asked(session.runner(agent))
            assert agent.cancelled == 0
        return asyncio.all_tasks() - {asyncio.current_task()}

    with EventRecorder(events.context_compaction_end) as recorder:
        tasks = asyncio.run(talk())

    assert tasks == set()
    assert agent.cancelled == 1
    assert isinstance(recorder.of(events.ContextCompactionEnd)[0].error, asyncio.CancelledError)


def test_end_of_the_loop_cancels_it() -> None:
    """A run of another loop begins anew."""
    agent = _Agent()
    session = agent.session(MemoryStore())

    async def first() -> None:
        await session.__aenter__()
        await agent.run_until_asked(session.runner(agent))

    async def second() -> None:
        agent.may_end = asyncio.Event()
        agent.may_end.set()
        runner = session.runner(agent)
        # The tool may end before a summary has begun: then a later run makes it.
        for _ in range(10):
            await runner.run("Go on.")
            if agent.asked > 1:
                break
        await session.__aexit__(None, None, None)

    asyncio.run(first())
    assert agent.cancelled == 1
    asyncio.run(second())

    assert agent.asked == 2


@pytest.mark.parametrize("entered", [False, True])
def test_run_that_fails_keeps_nothing(*, entered: bool) -> None:
    """Nor does a session that was not entered, which nobody ends."""
    agent = _Agent()

    class Failing(_Agent):
        async def decide(self, request: Input, /) -> Decision:
            decision = await agent.decide(request)
            if agent.asked and request.turn > 1 and entered:
                raise OSError("it is gone")
            return decision

    async def talk() -> None:
        session = agent.session(MemoryStore())
        if entered:
            await session.__aenter__()
        try:
            await agent.run_until_asked(session.runner(Failing()))
        except OSError:
            assert entered
        assert agent.cancelled == 1

    asyncio.run(talk())
