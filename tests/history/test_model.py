import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.errors import NothingToRestore
from agentic.history import Archive, JsonlStore, MemoryStore
from agentic.history._replace import Diff, compare
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds, to_plain

TEXT = st.text(
    st.characters() | st.sampled_from("\ud83d\ude00\udfff\n\r\x0b\x85\u2028"), max_size=8
)
IDS = st.sampled_from(["c1", "c2", "c3"])
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("run"), TEXT), max_size=3)
RESULTS = st.lists(st.builds(ToolResult, IDS, st.just("run"), TEXT), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
UNKNOWN = st.dictionaries(st.sampled_from(["type", "message", "mood"]), JSON, max_size=2)
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), TEXT, extra=UNKNOWN),
    st.builds(Message, st.just("assistant"), TEXT, tool_calls=CALLS),
    st.builds(Message, st.just("tool"), TEXT, tool_results=RESULTS),
)


@attrs.frozen
class _Append:
    """Append a message, or, if its key is known already, the message of that key once more."""

    message: Message
    key: str | None = None


@attrs.frozen
class _Compact:
    """Replace all but the last messages of the history by another one."""

    summary: Message
    kept: int


@attrs.frozen
class _Restore:
    pass


@attrs.frozen
class _Reopen:
    pass


STEPS = st.lists(
    st.one_of(
        st.builds(_Append, MESSAGES),
        st.builds(_Append, MESSAGES, st.sampled_from(["k1", "k2", "\ud83d"])),
        st.builds(_Compact, MESSAGES, st.integers(0, 3)),
        st.builds(_Restore),
        st.builds(_Reopen),
    ),
    max_size=25,
)


@attrs.define
class _Oracle:
    """The naive archive: every step that stands, replayed from the start."""

    standing: list[Message | list[Message]] = attrs.field(factory=list)
    appended: list[Message] = attrs.field(factory=list)
    keyed: dict[str, Message] = attrs.field(factory=dict)

    def append(self, message: Message, key: str | None) -> None:
        if key in self.keyed:
            return
        if key:
            self.keyed[key] = message
        self.standing.append(message)
        self.appended.append(message)

    def restore(self) -> bool:
        for position in reversed(range(len(self.standing))):
            if isinstance(self.standing[position], list):
                del self.standing[position]
                return True
        return False

    def load(self) -> list[Message]:
        return close_open_rounds(_fold(self.standing))

    def diff(self) -> Diff | None:
        places = [at for at, step in enumerate(self.standing) if isinstance(step, list)]
        if not places:
            return None
        return compare(_fold(self.standing[: places[-1]]), _fold(self.standing[: places[-1] + 1]))


def _fold(steps: list[Message | list[Message]]) -> list[Message]:
    view: list[Message] = []
    for step in steps:
        view = list(step) if isinstance(step, list) else [*view, step]
    return view


async def _take(step: Any, store: Any, oracle: _Oracle) -> None:
    match step:
        case _Append(message, key):
            await store.append(oracle.keyed.get(key or "", message), key=key)
            oracle.append(message, key)
        case _Compact(summary, kept):
            history = oracle.load()
            view = [summary, *history[len(history) - kept :]] if kept else [summary]
            await store.replace(view)
            oracle.standing.append(_without_made_up(view))
        case _Restore() if oracle.restore():
            await store.restore()
        case _Restore():
            with pytest.raises(NothingToRestore):
                await store.restore()


def _without_made_up(view: list[Message]) -> list[Message]:
    """Leave out what load() made up: nothing else here has an error."""
    real = []
    for message in view:
        results = [result for result in message.tool_results if result.error is None]
        if len(results) == len(message.tool_results):
            real.append(message)
        elif results:
            real.append(message.replace(tool_results=results))
    return real


def _as_text(messages: Sequence[Message]) -> str:
    return json.dumps([to_plain(message) for message in messages], ensure_ascii=False)


async def _walk(steps: list[Any], open_store: Callable[[], Any]) -> None:
    oracle = _Oracle()
    store = open_store()
    for step in steps:
        if isinstance(step, _Reopen):
            await store.aclose()
            store = open_store()
        await _take(step, store, oracle)
        assert _as_text(await store.load()) == _as_text(oracle.load())
        assert _as_text(await store.full()) == _as_text(oracle.appended)
        await _compare_diffs(store, oracle.diff())
    await store.aclose()


async def _compare_diffs(store: Archive, expected: Diff | None) -> None:
    if expected is None:
        with pytest.raises(NothingToRestore):
            await store.diff()
        return
    found = await store.diff()
    assert _as_text(found.dropped) == _as_text(expected.dropped)
    assert _as_text(found.added) == _as_text(expected.added)


@given(steps=STEPS)
def test_memory_store_agrees_with_naive_archive(steps: list[Any]) -> None:
    """After any sequence of steps, load(), full() and diff() are what a replay gives."""
    store = MemoryStore()

    asyncio.run(_walk(steps, lambda: store))


@settings(max_examples=50, deadline=None)  # files are made for each
@given(steps=STEPS)
def test_file_store_agrees_with_naive_archive(steps: list[Any]) -> None:
    """The same, with the store closed and opened again anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_walk(steps, lambda: JsonlStore(Path(folder) / "session.jsonl")))


@settings(max_examples=50, deadline=None)  # as above
@given(steps=STEPS)
def test_database_store_agrees_with_naive_archive(steps: list[Any]) -> None:
    """The same, in a database of many sessions."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_walk(steps, lambda: SqliteStore(Path(folder) / "sessions.db")))


@given(before=st.lists(MESSAGES, max_size=6), after=st.lists(MESSAGES, max_size=6))
def test_a_diff_accounts_for_every_message(before: list[Message], after: list[Message]) -> None:
    """What was there, less what was dropped, with what was added, is what is there: counted."""
    diff = compare(before, after)

    kept = Counter(_texts(before)) - Counter(_texts(diff.dropped))
    assert kept + Counter(_texts(diff.added)) == Counter(_texts(after))
    assert not Counter(_texts(diff.dropped)) & Counter(_texts(diff.added))
    for part, whole in ((diff.dropped, before), (diff.added, after)):
        left = iter(_texts(whole))
        assert all(text in left for text in _texts(part)), "the order is another"


def _texts(messages: Sequence[Message]) -> list[str]:
    return [_as_text([message]) for message in messages]


@given(steps=STEPS)
def test_a_file_only_grows(steps: list[Any]) -> None:
    """Whatever is done to a session, what the file held before is its beginning ever after."""
    with tempfile.TemporaryDirectory() as folder:
        oracle, store, before = _Oracle(), JsonlStore(Path(folder) / "session.jsonl"), b""
        store.path.touch()
        for step in steps:
            asyncio.run(_take(step, store, oracle))
            now = store.path.read_bytes()
            assert now.startswith(before)
            before = now
        asyncio.run(store.aclose())
