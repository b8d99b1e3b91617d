"""A summary, and something else at one moment of it: for every store, run by `runpy`.

A moment is a turn of the event loop: whatever awaits, in whichever task, gives the others a turn.
"""

import asyncio
import contextlib
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import attrs

from agentic.context.budget import Compaction, Policy
from agentic.errors import CompactionRefused, HistoryConflict, HistoryError
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult, close_open_rounds
from agentic.messages._rounds import reopen_rounds
from agentic.session import Session
from agentic.tokens import CharCounter

LATE = Message("user", "And mend the docs.")
RESULT = Message("tool", tool_results=[ToolResult("c2", "run", "2 failed")])


def _call(call_id: str) -> Message:
    return Message("assistant", tool_calls=[ToolCall(call_id, "run")])


OLD = [Message("user", f"Request {number}: " + "word " * 50) for number in range(4)]
SOUND = [*OLD, _call("c1"), Message("tool", tool_results=[ToolResult("c1", "run", "1 failed")])]
HISTORIES = {
    "sound": [*SOUND, Message("user", "Why?")],
    "a call is open": [*SOUND, Message("user", "Why?"), _call("c2")],
    "an open call is summarized": [*OLD[:1], _call("c2"), *OLD[1:], Message("user", "Why?")],
    "results are orphans": [RESULT, *SOUND, RESULT, Message("user", "Why?"), RESULT],
    "a summary is ignored": [
        ContextSummary("Of elsewhere.", 50, 0, 49).to_message(),
        *SOUND,
        Message("user", "Why?"),
        _call("c2"),
    ],
    "one of two calls is open": [
        *OLD,
        Message("assistant", tool_calls=[ToolCall("c1", "run"), ToolCall("c2", "run")]),
        Message("tool", tool_results=[ToolResult("c1", "run", "1 failed")]),
    ],
}
"""Raw, as they are stored."""


class _Loop(asyncio.SelectorEventLoop):
    """Begins something at its n-th turn, ahead of what waits for that turn."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self.left = -1
        self.act: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.acting: asyncio.Task[None] | None = None

    def _run_once(self) -> None:
        if self.act:
            self.left -= 1
            if self.left < 0:
                act, self.act = self.act, None
                self.acting = self.create_task(act())
                self._ready.rotate(1)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


@attrs.define
class Slow:
    """A compactor that takes some turns, and remembers what each summary stands for."""

    made: dict[str, list[Message]] = attrs.field(factory=dict)

    async def compact(self, messages: list[Message], /) -> str:
        """Return the name of the summary."""
        name = f"Summary {len(self.made)}."
        self.made[name] = list(messages)
        for _ in range(2):
            await asyncio.sleep(0)
        return name

    def unfold(self, view: list[Message]) -> list[Message]:
        """Return a view with all that its summary stands for, summaries of summaries included."""
        found = []
        for message in view:
            inner = self.made.get(message.summary.content) if message.summary else None
            found += [message] if inner is None else self.unfold(inner)
        return found


def open_session(store: Any, compactor: Slow) -> Session:
    """Open a session whose summaries keep the newest message."""
    policy = Policy(100_000, keep_recent_tokens=1, min_recent_messages=1)
    return Session("s", store, counter=CharCounter(), policy=policy, compactor=compactor)


@attrs.define
class Race:
    """One summary, disturbed at one moment."""

    store: Any
    other: Callable[[], Any] | None
    """Opens another store on the same session; None for the same one."""
    moment: int
    history: list[Message]
    session: Session = attrs.field(init=False)
    compactor: Slow = attrs.field(factory=Slow)
    acknowledged: list[Message] = attrs.field(factory=list)
    others: list[Compaction] = attrs.field(factory=list)
    after_summary: bool = False
    """Something was acknowledged after a summary was stored, which knows nothing of it."""
    disturbed: bool = False
    """The moment came before the summary was done."""

    async def run(self, act: Callable[["Race"], Awaitable[None]]) -> Compaction:
        """Store the history, then summarize while `act` is done."""
        for message in self.history:
            await self.store.append(message)
        await self.store.aclose()
        self.session = open_session(self.store, self.compactor)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, _Loop)

        async def disturb() -> None:
            await act(self)

        loop.left, loop.act, loop.acting = self.moment, disturb, None
        done = await self.session.summarize()
        loop.act = None
        if loop.acting:
            self.disturbed = True
            await loop.acting
        return done

    async def append(self, *messages: Message) -> None:
        """Append by the same or another store; what is refused was not acknowledged."""
        for message in messages:
            with contextlib.suppress(HistoryConflict):
                if self.other is None:
                    await self.session.append(message)
                else:
                    async with self.other() as store:
                        await store.append(message)
                self.acknowledged.append(message)
                if self.other is None:
                    appended = len(self.history) + len(self.acknowledged)
                    self.after_summary |= await self.store.revision() > appended

    async def summarize(self) -> None:
        """Summarize by the same session, or by another one."""
        if self.other is None:
            self.others.append(await self.session.summarize())
            return
        async with open_session(self.other(), self.compactor) as session:
            self.others.append(await session.summarize())


async def append_late(race: Race) -> None:
    """Append a message, and the result of the open call."""
    await race.append(LATE, RESULT)


async def append_result(race: Race) -> None:
    """Append the result of the open call, and a message."""
    await race.append(RESULT, LATE)


async def summarize_too(race: Race) -> None:
    """Make a summary of the same history, between two messages."""
    await race.append(RESULT)
    await race.summarize()
    await race.append(LATE)


ACTS = [append_late, append_result, summarize_too]


async def check(race: Race, done: Compaction) -> None:
    """Hold the race to what a summary promises, whenever it is disturbed."""
    store, acknowledged = race.store, race.acknowledged
    assert _texts(await store.full()) == _texts([*race.history, *acknowledged])
    for each in (done, *race.others):
        lost_lock = race.other is not None and isinstance(each.error, HistoryConflict)
        assert each.changed or isinstance(each.error, CompactionRefused) or lost_lock
        assert each.changed == (each.error is None)
    view = await race.session.build_messages_for_llm()
    assert close_open_rounds(view) is view
    told = race.compactor.unfold(view)
    for message in acknowledged:
        if message is LATE:
            assert [each.content for each in told].count(LATE.content) == 1
        elif _opens(race.history) and not (race.after_summary and not _calls(view, "c2")):
            assert "2 failed" in _results(told, "c2")
    if _opens(race.history) and RESULT not in acknowledged:
        shown = bool(_results(view, "c2"))
        await store.append(RESULT)
        assert not shown or _results(await store.load(), "c2") == ["2 failed"]
    changed = done.changed or any(each.changed for each in race.others)
    assert len([each for each in view if each.summary]) == changed
    with contextlib.suppress(HistoryError):
        while True:
            await store.restore()
    everything = close_open_rounds(await store.full())
    assert _texts(reopen_rounds(await store.load())) == _texts(reopen_rounds(everything))


def _opens(history: list[Message]) -> bool:
    """Whether the call c2 waits for its result, wherever that is appended."""
    closed = close_open_rounds([*history, RESULT])
    return _results(closed, "c2") == ["2 failed"] and RESULT not in history


def _calls(view: list[Message], call_id: str) -> bool:
    return any(call.id == call_id for message in view for call in message.tool_calls)


def _results(view: list[Message], call_id: str) -> list[str]:
    return [
        result.output
        for message in view
        for result in message.tool_results
        if result.call_id == call_id
    ]


def _texts(messages: list[Message]) -> list[tuple[Any, ...]]:
    return [(each.role, each.content, each.tool_calls, each.tool_results) for each in messages]


def run(
    make: Callable[[], tuple[Any, Callable[[], Any] | None]],
    history: list[Message],
    act: Callable[[Race], Awaitable[None]],
    *,
    step: int = 1,
) -> int:
    """Disturb a summary at every moment, or at every `step`-th; return how many there were."""

    async def at(moment: int) -> bool:
        store, other = make()
        race = Race(store, other, moment, history)
        async with store:
            done = await race.run(act)
            try:
                await check(race, done)
            except AssertionError as problem:
                problem.add_note(f"at moment {moment}")
                raise
        return race.disturbed

    moment = 0
    while True:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            if not runner.run(at(moment)):
                return moment
        moment += step
