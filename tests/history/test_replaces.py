import asyncio
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.errors import HistoryChanged, HistoryConflict
from agentic.history import Archive, JsonlStore, MemoryStore, replace_known
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds

STEPS = st.lists(
    st.sampled_from(["append", "append by another", "load", "restore", "close"])
    | st.integers(0, 8)
    | st.tuples(st.integers(0, 8)),
    max_size=25,
)
"""A number replaces so many, by the store; in a tuple, by another store."""
KINDS: dict[str, Callable[[Path], Any]] = {
    "jsonl": JsonlStore,
    "jsonl, fsync": lambda path: JsonlStore(path, fsync=True),
    "sqlite": lambda path: SqliteStore(path.with_name("a.db"), path.name),
}


@attrs.define
class _Oracle:
    """The naive store: it looks for what is known, message by message."""

    full: list[Message] = attrs.field(factory=list)
    histories: list[list[Message]] = attrs.field(factory=lambda: [[]])
    known: list[Message] | None = attrs.field(factory=list)

    def append(self, message: Message, *, ours: bool) -> None:
        self.full.append(message)
        for history in self.histories:
            history.append(message)
        if ours and self.known is not None:
            self.known.append(message)

    def replace(self, message: Message, known: list[Message]) -> None:
        gone = set(map(id, known))
        rest = [each for each in self.histories[-1] if id(each) not in gone]
        self.histories.append([message, *rest])


async def _walk_and_close(steps: list[Any], open_store: Callable[[], Any]) -> None:
    async with open_store() as store:
        await _walk(steps, store, open_store)


async def _walk(steps: list[Any], store: Archive, open_store: Callable[[], Any]) -> None:
    oracle, numbers = _Oracle(), itertools.count()
    for step in steps:
        message = Message("user", str(next(numbers)))
        await store.aclose()  # type: ignore[attr-defined]  or nobody else could write
        match step:
            case "append":
                await store.append(message)
                oracle.append(message, ours=True)
            case "append by another":
                async with open_store() as other:
                    await other.append(message)
                oracle.append(message, ours=False)
            case "load":
                await store.load()
                oracle.known = oracle.histories[-1].copy()
            case "restore" if len(oracle.histories) > 1:
                await store.restore()
                oracle.histories.pop()
                oracle.known = None
            case int(count):
                await _replace(store, oracle, message, count)
            case (count,):
                async with open_store() as other:
                    known = await other.load()
                    if count <= len(known):
                        await other.replace([message], replaces=count)
                        oracle.replace(message, oracle.histories[-1][:count])
        assert [each.content for each in await open_store().load()] == [
            each.content for each in oracle.histories[-1]
        ]
        assert await store.full() == oracle.full


async def _replace(store: Archive, oracle: _Oracle, message: Message, count: int) -> None:
    known = oracle.known
    if known is None or any(
        all(each is not other for other in oracle.histories[-1]) for each in known[:count]
    ):
        with pytest.raises((HistoryConflict, ValueError)):
            await store.replace([message], replaces=count)
    elif count > len(known):
        with pytest.raises(ValueError, match="replaces must be"):
            await store.replace([message], replaces=count)
    else:
        try:
            await store.replace([message], replaces=count)
        except HistoryConflict:  # another replace, of which this one would know nothing
            assert len(oracle.histories) > 1
            return
        oracle.replace(message, known[:count])
        oracle.known = None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_store_keeps_everything_not_replaced(kind: str) -> None:
    """Whoever appends, loads, replaces or restores, and in whatever order."""

    @settings(max_examples=60, deadline=None)
    @given(STEPS)
    def check(steps: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_walk_and_close(steps, lambda: KINDS[kind](Path(folder, "session"))))

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_summary_of_replaced_history_is_refused(tmp_path: Path, kind: str) -> None:
    """Another store has summarized since: nothing of that is replaced."""

    async def summarize_twice() -> None:
        first, second = (KINDS[kind](tmp_path / "session") for _ in range(2))
        async with first:
            for text in ("one", "two"):
                await first.append(Message("user", text))
            known = await first.load()
        async with second:
            await replace_known(second, await second.load(), [Message("system", "1, 2")])
            await second.append(Message("user", "three"))
        async with first:
            with pytest.raises(HistoryConflict, match="load again"):
                await first.replace([Message("system", "lost")], replaces=2)
            with pytest.raises(HistoryChanged):
                await replace_known(first, known, [Message("system", "lost")])
            assert [each.content for each in await first.load()] == ["1, 2", "three"]

    asyncio.run(summarize_twice())


IDS = st.sampled_from("abc")
DAMAGED = st.lists(
    st.one_of(
        st.just(Message("user", "text")),
        st.builds(
            Message,
            st.just("assistant"),
            tool_calls=st.lists(st.builds(ToolCall, IDS, st.just("run")), max_size=2),
        ),
        st.builds(
            Message,
            st.just("tool"),
            tool_results=st.lists(
                st.builds(ToolResult, IDS, st.just("run"), st.integers().map(str)),
                min_size=1,
                max_size=2,
            ),
        ),
    ),
    max_size=9,
)


@settings(max_examples=400)
@given(DAMAGED, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_seen_unreplaced_messages_stay_seen(
    raw: list[Message], appended: int, dropped: int, kept: int
) -> None:
    """However damaged the history is, and whatever result comes for whichever call."""

    async def replace() -> tuple[list[Message], list[Message], list[Message]]:
        store, start = MemoryStore(), max(0, len(raw) - appended)
        for message in raw[:start]:
            await store.append(message)
        known = await store.load()
        for message in raw[start:]:
            await store.append(message)
        gone, stays = known[:dropped], known[dropped : dropped + kept]
        await store.replace([Message("system", "1"), *stays], replaces=len(gone) + len(stays))
        return close_open_rounds(raw), [*gone, *stays], await store.load()

    before, replaced, after = asyncio.run(replace())
    assert Counter(_outputs(before)) - Counter(_outputs(replaced)) <= Counter(_outputs(after))
    assert close_open_rounds(after) is after


def _outputs(view: list[Message]) -> list[str]:
    return [result.output for message in view for result in message.tool_results if result.output]


class _Plain:
    """A store of somebody else, with a replace that takes the place of everything."""

    def __init__(self) -> None:
        self.kept: list[Message] = []

    async def append(self, message: Message) -> None:
        self.kept.append(message)

    async def load(self) -> list[Message]:
        return close_open_rounds(list(self.kept))

    async def replace(self, messages: list[Message]) -> None:
        self.kept = list(messages)


def test_a_plain_store_keeps_later_messages() -> None:
    """It is loaded again and compared; what load() made up is not stored there either."""

    async def summarize() -> None:
        store: Any = _Plain()
        call = Message("assistant", tool_calls=[ToolCall("c1", "run")])
        for message in (Message("user", "one"), Message("user", "two"), call):
            await store.append(message)
        known = await store.load()
        await store.append(Message("user", "three"))
        await replace_known(store, known, [Message("system", "1"), *known[1:]])
        assert [each.content for each in store.kept] == ["1", "two", "", "three"]

        await store.append(Message("tool", tool_results=[ToolResult("c1", "run", "ok")]))
        assert [
            each.tool_results[0].output for each in await store.load() if each.tool_results
        ] == ["ok"]

    asyncio.run(summarize())


def test_ongoing_append_survives_a_summary(path: Path) -> None:
    """The append waits for the disk when the summary is ready: the view has both."""

    async def summarize() -> None:
        async with JsonlStore(path, fsync=True) as store:
            await store.append(Message("user", "one"))
            known = await store.load()
            under_way = asyncio.create_task(store.append(Message("user", "two")))
            await asyncio.sleep(0)  # it is with the worker thread now
            await store.replace([Message("system", "1")], replaces=len(known))
            await under_way
            assert [each.content for each in await store.load()] == ["1", "two"]

    asyncio.run(summarize())


def test_former_versions_files_read_alike(path: Path) -> None:
    """A replace that kept messages is an entry like any other: version 1 says all of it."""

    async def summarize() -> list[bytes]:
        async with JsonlStore(path) as store:
            await store.append(Message("user", "one"))
            known = await store.load()
            await store.append(Message("user", "two"))
            await store.replace([Message("system", "1")], replaces=len(known))
        return path.read_bytes().splitlines()  # noqa: ASYNC240  a small file

    assert asyncio.run(summarize())[-1] == (
        b'{"v":1,"type":"replace","messages":['
        b'{"v":1,"role":"system","content":"1"},{"v":1,"role":"user","content":"two"}]}'
    )


def test_a_store_in_memory_counts_alike() -> None:
    """Without another store it is the same."""
    steps = ["append", "append", "load", "append", 2, "append", "load", 1, "restore", "restore"]
    store = MemoryStore()

    asyncio.run(_walk_alone(steps, store))


async def _walk_alone(steps: list[Any], store: MemoryStore) -> None:
    texts = []
    for number, step in enumerate(steps):
        if isinstance(step, int):
            await store.replace([Message("system", f"s{number}")], replaces=step)
        elif step == "append":
            await store.append(Message("user", str(number)))
        else:
            await getattr(store, step)()
        texts.append("".join(each.content for each in store._layers[-1].messages))
    assert texts[4:] == ["s43", "s435", "s435", "s735", "s435", "0135"]


@pytest.mark.parametrize("kind", KINDS)
def test_replaced_part_leaves_broken_runs_rest(tmp_path: Path, kind: str) -> None:
    """A call without its result is loaded with one that is in no entry."""
    asked = Message("assistant", tool_calls=[ToolCall("c1", "read")])

    async def write() -> list[Message]:
        async with KINDS[kind](tmp_path / "s.jsonl") as store:
            await store.append(Message("user", "Read it."))
            await store.append(asked)
            await store.load()
            await store.replace([Message("system", "They asked.")], replaces=1)
            return [*await store.load()]

    found = asyncio.run(write())

    assert [each.content for each in found[:1]] == ["They asked."]
    assert found[1].tool_calls == asked.tool_calls
