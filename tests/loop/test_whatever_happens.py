import asyncio
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic import events, truncate
from agentic.context.budget import Compactor, Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.errors import ContextOverflow
from agentic.history import Archive, JsonlStore, MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter, count_tokens
from agentic.usage import StopReason

_WINDOW = 1_000
_COUNTER = CharCounter()


def refusals(history: Sequence[Message]) -> Iterator[str]:
    """Return why a provider would refuse a history; written without the rounds of `messages`."""
    waiting: list[str] = []
    used: set[str] = set()
    for position, message in enumerate(history):
        if message.role != "tool" and waiting:
            yield f"{waiting} are not answered before message {position}"
            waiting = []
        for result in message.tool_results:
            if result.call_id not in waiting:
                yield f"message {position} answers {result.call_id!r}, which does not wait"
            else:
                waiting.remove(result.call_id)
        for call in message.tool_calls:
            if not call.id or call.id in used:
                yield f"the id {call.id!r} in message {position} is not unique"
            used.add(call.id)
            waiting.append(call.id)
    if waiting:
        yield f"{waiting} are never answered"


def test_validator_finds_what_providers_refuse() -> None:
    """Open rounds, orphans, late and double results, and ids that are used twice."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "t")])
    result = Message("tool", tool_results=[ToolResult("c1")])
    say = Message("user", "hi")

    assert not list(refusals([say, call, result, say]))
    for bad in ([call], [result], [call, say, result], [call, result, result], [call, result] * 2):
        assert list(refusals(bad))


# what may happen in a run


async def _linger(_: object) -> str:
    for _ in range(3):
        await asyncio.sleep(0)
    return "at last"


async def _stay(_: object) -> str:
    try:
        return await _linger(None)
    except asyncio.CancelledError:
        return await _linger(None)


_ANSWERS: dict[str, Any] = {
    "text": "text",
    "big": "line\n" * 2_000,
    "bad": ValueError("no\n" * 2_000),
    "odd": lambda _: 3,
    "slow": _linger,
    "stays": _stay,
    "gone": asyncio.CancelledError,
}
_CALLS = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "b", "c"]),
    st.sampled_from([*_ANSWERS, "unknown"]),
    st.sampled_from(["{}", "", "{oops"]),
)
_REASONS = st.sampled_from([*[None] * 6, *StopReason])


@st.composite
def _decisions(draw: st.DrawFn) -> Decision:
    calls = draw(st.lists(_CALLS, max_size=3))
    reply, reason = draw(st.sampled_from(["", "I look.", "word" * 50])), draw(_REASONS)
    return Decision(reply, calls) if reason is None else Decision(reply, calls, None, reason)


def _slowly(decision: Decision) -> Any:
    async def decide(_: Input) -> Decision:
        await _linger(None)
        return decision

    return decide


_STEPS = (
    _decisions()
    | _decisions().map(_slowly)
    | st.sampled_from([ContextOverflow("tiny"), ConnectionResetError("gone")])
)


class _Compactor:
    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer

    async def compact(self, messages: list[Message], /) -> str:
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


_COMPACTORS: st.SearchStrategy[Compactor | None] = st.sampled_from(
    [
        None,
        Digest(max_tokens=100),
        Digest(),
        _Compactor("so far"),
        _Compactor(""),
        _Compactor("word" * 300),
        _Compactor("word" * 5_000),
        _Compactor(OSError("no model")),
    ]
)


@attrs.frozen
class _Happening:
    """What happens in one run."""

    steps: list[Any]
    cancel_at: tuple[int, ...]
    """At which events the run is cancelled."""


_HAPPENINGS = st.builds(
    _Happening,
    st.lists(_STEPS, min_size=1, max_size=8),
    st.lists(st.integers(0, 30), max_size=2).map(tuple),
)


class _SlowMemory(MemoryStore):
    """Can be cancelled on its way in and on its way out."""

    async def append(self, message: Message) -> None:
        await asyncio.sleep(0)
        await super().append(message)
        await asyncio.sleep(0)

    async def replace(self, messages: Sequence[Message]) -> None:
        await asyncio.sleep(0)
        await super().replace(messages)
        await asyncio.sleep(0)


@contextlib.contextmanager
def _cancelling(numbers: tuple[int, ...]) -> Iterator[None]:
    """Cancel the running task at the events with these numbers."""
    seen = 0

    def count(_: object, event: events.Event) -> None:
        nonlocal seen
        task = asyncio.current_task()
        if seen in numbers and task is not None and not isinstance(event, events.AgentEnd):
            task.cancel()
        seen += 1

    with contextlib.ExitStack() as stack:
        for signal in events.signals.values():
            stack.enter_context(signal.connected_to(count))
        yield


_EXPECTED = (asyncio.CancelledError, ContextOverflow, ConnectionResetError)
"""How a run may end, beside well."""


async def _happen(runner: Runner, decider: ScriptedDecider, happening: _Happening) -> EventRecorder:
    decider._steps = [*happening.steps, "Done."]
    with (
        EventRecorder(sender=runner) as recorder,
        _cancelling(happening.cancel_at),
        contextlib.suppress(*_EXPECTED),
    ):
        await asyncio.create_task(runner.run("Do the task."))
    return recorder


@settings(deadline=None, max_examples=150)
@given(
    st.lists(_HAPPENINGS, min_size=1, max_size=4),
    _COMPACTORS,
    st.booleans(),
    st.booleans(),
)
def test_whatever_happens_the_history_is_whole(
    happenings: list[_Happening], compactor: Compactor | None, in_file: bool, with_strategy: bool
) -> None:
    """Scripts, tools, compactors and cancellations at random, several runs on one store."""
    asyncio.run(_live_through(happenings, compactor, in_file, with_strategy))


async def _live_through(
    happenings: list[_Happening], compactor: Compactor | None, in_file: bool, with_strategy: bool
) -> None:
    decider = ScriptedDecider()
    with tempfile.TemporaryDirectory() as folder:
        async with JsonlStore(Path(folder) / "s.jsonl") if in_file else _SlowMemory() as store:
            runner = Runner(
                decider,
                ScriptedExecutor(_ANSWERS),
                store,
                Manager(_COUNTER, compactor, Policy(_WINDOW)),
                truncate.Options(max_bytes=200),
                [FitContextWindow(_WINDOW // 2, _COUNTER)] if with_strategy else [],
                max_turns=5,
                tool_timeout_seconds=1,
            )
            told: list[Message] = []
            for happening in happenings:
                recorder = await _happen(runner, decider, happening)
                told += [end.message for end in recorder.of(events.MessageEnd)]
                _check_events(recorder)
                await _check_store(store, told)
            _check_requests(decider.requests)


def _check_events(recorder: EventRecorder) -> None:
    """Every run that was told to begin was told to end, and so was every tool."""
    assert (recorder.names[0], recorder.names[-1]) == ("agent_start", "agent_end")
    starts = [event.call.id for event in recorder.of(events.ToolExecutionStart)]
    ends = [event.call.id for event in recorder.of(events.ToolExecutionEnd)]
    assert starts == ends


async def _check_store(store: Archive, told: list[Message]) -> None:
    """The history would be accepted, and the archive holds what was told, in order."""
    archive = await store.full()
    assert not list(refusals(await store.load()))
    assert not list(refusals(archive))
    position = iter(archive)
    assert all(message in position for message in told)


def _check_requests(requests: list[Input]) -> None:
    """Every request would be accepted, holds the task, and is within the window."""
    for request in requests:
        assert not list(refusals(request.history))
        assert any(message.content == "Do the task." for message in request.history)
        assert count_tokens(request.history) <= Policy(_WINDOW).available_tokens
