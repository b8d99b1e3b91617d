import asyncio
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import OutputNotFound
from agentic.history import Archive, JsonlStore, MemoryStore, OutputStore, Rewriter, Store
from agentic.history._replace import Diff, compare
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message, ToolCall, close_open_rounds, from_plain, to_plain
from agentic.testing import check_store


def test_memory_store_keeps_its_promises() -> None:
    """MemoryStore passes the contract suite."""
    check_store(MemoryStore)


@pytest.mark.parametrize("fsync", [False, True])
def test_file_store_keeps_its_promises(tmp_path: Path, *, fsync: bool) -> None:
    """JsonlStore passes the contract suite, and passes it opened again."""
    names = (tmp_path / f"{number}.jsonl" for number in itertools.count())

    check_store(
        lambda: JsonlStore(next(names), fsync=fsync),
        reopen=lambda store: JsonlStore(store.path, fsync=fsync),
    )


@pytest.mark.parametrize("fsync", [False, True])
def test_database_store_keeps_its_promises(tmp_path: Path, *, fsync: bool) -> None:
    """SqliteStore passes the contract suite, all its sessions in one file, and opened again."""
    names = (f"session-{number}" for number in itertools.count())

    check_store(
        lambda: SqliteStore(tmp_path / "sessions.db", next(names), fsync=fsync),
        reopen=lambda store: SqliteStore(store.path, store.session_id, fsync=fsync),
    )


class _BareStore:
    """The least that is a store: no replace, no archive, no context manager."""

    def __init__(self) -> None:
        self.kept: list[Message] = []

    async def append(self, message: Message) -> None:
        self.kept.append(message)

    async def load(self) -> list[Message]:
        return close_open_rounds(list(self.kept))


def test_append_only_store_owes_no_more() -> None:
    """What a store has no method for is not asked of it."""
    check_store(_BareStore)

    assert isinstance(_BareStore(), Store)
    assert not isinstance(_BareStore(), Rewriter)


def test_all_stores_archive_and_keep_outputs(path: Path) -> None:
    """Who looks for a Rewriter, an Archive or an OutputStore finds them."""
    for store in (MemoryStore(), JsonlStore(path), SqliteStore(path)):
        assert isinstance(store, Archive)
        assert isinstance(store, OutputStore)


class _Forgetful(_BareStore):
    async def append(self, message: Message) -> None:
        self.kept = [*self.kept, message][-3:]


class _Sharing(_BareStore):
    async def load(self) -> list[Message]:
        return self.kept


class _Unrepaired(_BareStore):
    async def load(self) -> list[Message]:
        return list(self.kept)


class _Deduplicating(_BareStore):
    async def append(self, message: Message) -> None:
        if message not in self.kept:
            self.kept.append(message)


class _EscapingSurrogates(_BareStore):
    async def append(self, message: Message) -> None:
        self.kept.append(from_plain(json.loads(json.dumps(to_plain(message)))))


class _ClosingForGood(_BareStore):
    async def load(self) -> list[Message]:
        self.kept = close_open_rounds(self.kept)
        return list(self.kept)


class _Raising(_BareStore):
    async def load(self) -> list[Message]:
        raise OSError("the disk is gone")


class _Stacking(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace([*await self.load(), *messages], replaces=replaces)


class _Borrowing(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace(messages, replaces=replaces)
        self._layers[-1].messages = messages  # type: ignore[assignment]


class _ArchivingSummaries(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace(messages, replaces=replaces)
        self._appended += messages


class _ReplacingAll(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace(messages)


class _KeepingLateOnesOnly(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        loaded = self._caller_view.loaded_list.loaded if self._caller_view.loaded_list else 0
        await super().replace(messages, replaces=loaded if replaces else replaces)


class _StoringWhatIsMadeUp(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace(messages, replaces=replaces)
        self._layers[-1].messages[: len(messages)] = messages


class _OrphaningResults(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        before = self._layers[-1].messages
        await super().replace(messages, replaces=replaces)
        if replaces == len(before) and before[-1].role == "tool":
            self._layers[-1].messages[:] = [*messages, before[-1]]


class _LettingTheLastSummaryWin(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        if self._caller_view.loaded_list is None:
            replaces = len(await self.load())
        await super().replace(messages, replaces=replaces)


class _UndoingTheTailToo(MemoryStore):
    async def restore(self) -> None:
        for layer in self._layers[-2:-1]:
            layer.messages = layer.messages[:4]
        await super().restore()


class _CountingNothing(MemoryStore):
    async def revision(self) -> int:
        return 0


class _AppendingTwice(MemoryStore):
    async def append(self, *messages: Message, key: Any = None) -> None:
        await super().append(*messages, key=key if key not in self._keyed else None)


class _AppendingOneByOne(MemoryStore):
    async def append(self, *messages: Message, key: Any = None) -> None:
        keys = key if isinstance(key, list) else [key] * len(messages)
        for message, one in zip(messages, keys, strict=False):
            await super().append(message, key=one)


class _AppendingTheFirst(MemoryStore):
    async def append(self, *messages: Message, key: Any = None) -> None:
        key = key[:1] if isinstance(key, list) else key
        await super().append(*messages[:1], key=key)


class _LettingAnyMessageRepeat(MemoryStore):
    async def append(self, *messages: Message, key: Any = None) -> None:
        stored = self._keyed.get(key or "")
        await super().append(*([stored.messages[0]] if stored else messages), key=key)


class _TakingAnyKey(MemoryStore):
    async def append(self, *messages: Message, key: Any = None) -> None:
        await super().append(*messages, key=str(key)[:200] or "k" if key is not None else None)


class _LosingKeysWithTheView(MemoryStore):
    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        await super().replace(messages, replaces=replaces)
        self._keyed.clear()


class _LosingRedactedKeys(MemoryStore):
    async def redact(self, *args: Any, **options: Any) -> None:
        await super().redact(*args, **options)
        self._keyed.clear()


class _ForgettingRepeats(MemoryStore):
    def _repeat(self, stored: Message, history: list[Message]) -> None:
        self._caller_view.loaded_list = None


class _DroppingArchive(MemoryStore):
    async def full(self) -> list[Message]:
        return await self.load()


class _RepairingArchive(MemoryStore):
    async def full(self) -> list[Message]:
        return close_open_rounds(await super().full())


class _RestoringTheTopOnly(MemoryStore):
    async def restore(self) -> None:
        await super().restore()
        del self._layers[1:]


class _LosingWhatCameSince(MemoryStore):
    async def restore(self) -> None:
        self._layers[-1].given = len(self._layers[-1].messages)
        await super().restore()


class _RestoringSilently(MemoryStore):
    async def restore(self) -> None:
        if len(self._layers) > 1:
            await super().restore()


class _DroppingLess(MemoryStore):
    async def diff(self) -> Diff:
        await super().diff()
        return compare(self._layers[0].messages, self._layers[-1].messages)


class _DroppingNothing(MemoryStore):
    async def diff(self) -> Diff:
        return await super().diff() if len(self._layers) > 1 else Diff((), ())


class _CountingReferences(MemoryStore):
    async def put(self, output: str) -> str:
        await super().put(output)
        return f"out-{len(self._outputs)}"


class _KeepingLines(MemoryStore):
    async def put(self, output: str) -> str:
        return await super().put("\n".join(output.splitlines()))


class _MissingNothing(MemoryStore):
    async def get(self, ref: str) -> str:
        try:
            return await super().get(ref)
        except OutputNotFound:
            return ""


class _ReadingAnything(MemoryStore):
    async def get(self, ref: str) -> str:
        try:
            return await super().get(ref)
        except ValueError:
            return Path("/etc/hostname").name


class _AppendingOutputs(MemoryStore):
    async def put(self, output: str) -> str:
        await self.append(Message("user", output))
        return await super().put(output)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (_Forgetful, "What is appended is loaded, all of it, in order"),
        (_Sharing, "The list that load"),
        (_Unrepaired, "every call has a result"),
        (_Deduplicating, "Two equal messages are two messages"),
        (_EscapingSurrogates, "lone surrogates and NaN"),
        (_ClosingForGood, "What is stored stays raw"),
        (_Raising, r"It raised OSError\('the disk is gone'\)"),
        (_Stacking, r"After replace\(\), the history is what was given"),
        (_Borrowing, r"The list given to replace\(\) stays the caller's"),
        (_ArchivingSummaries, "none that only a replace brought"),
        (_ReplacingAll, "leaves what was appended behind the first n"),
        (_KeepingLateOnesOnly, "what this store has appended since"),
        (_StoringWhatIsMadeUp, "A result that load"),
        (_OrphaningResults, "brings the call back"),
        (_LettingTheLastSummaryWin, "Of two summaries of one history"),
        (_UndoingTheTailToo, "are right after a replace"),
        (_CountingNothing, "grows by 1 with each write"),
        (_AppendingTwice, "a key that the session has stores nothing"),
        (_LettingAnyMessageRepeat, "that says something else"),
        (_TakingAnyKey, "not a str of 1 to 200 characters"),
        (_LosingKeysWithTheView, "A key outlives a replace"),
        (_LosingRedactedKeys, "A key outlives redact"),
        (_AppendingOneByOne, "stores none if one of them"),
        (_AppendingTheFirst, "stores each one that the session does not have"),
        (_ForgettingRepeats, "counts among what"),
        (_DroppingArchive, "every message ever appended"),
        (_RepairingArchive, "open rounds are open"),
        (_RestoringTheTopOnly, r"A second restore\(\) takes back"),
        (_LosingWhatCameSince, "what was appended since follows it"),
        (_RestoringSilently, "raises NothingToRestore"),
        (_DroppingLess, "what came later is in neither"),
        (_DroppingNothing, r"diff\(\) raises NothingToRestore"),
        (_CountingReferences, "It raised ConfigError"),
        (_KeepingLines, r"get\(\) gives back what put\(\) was given"),
        (_MissingNothing, "raises OutputNotFound"),
        (_ReadingAnything, "nobody reads other files"),
        (_AppendingOutputs, "What is kept is no message"),
    ],
)
def test_broken_stores_promise_is_named(broken: type[Store], promise: str) -> None:
    """The suite fails on every way of being broken, in words that name the promise."""
    with pytest.raises(AssertionError, match=promise):
        check_store(broken)


class _Plain(MemoryStore):
    async def replace(self, messages: Sequence[Message]) -> None:  # type: ignore[override]
        await super().replace(messages)


class _Unreadable(MemoryStore):
    async def load(self) -> list[Message]:
        raise OSError("the disk is gone")


def test_a_plain_replace_is_enough() -> None:
    """A store whose replace() accepts no `replaces` is held to the other promises."""
    check_store(_Plain)


def test_store_forgetting_on_reopen_is_found() -> None:
    """With `reopen`, the suite asks for what was there before."""
    with pytest.raises(AssertionError, match="when the session is opened again"):
        check_store(MemoryStore, reopen=lambda _: MemoryStore())


def test_store_failing_on_reopen_is_found() -> None:
    """An error is told as a broken promise here, too."""
    with pytest.raises(AssertionError, match=r"opened again\. It raised OSError"):
        check_store(MemoryStore, reopen=lambda _: _Unreadable())


@pytest.mark.parametrize("given", [None, "hello", {"role": "user", "content": "hello"}])
def test_what_is_no_message_is_refused(path: Path, given: object) -> None:
    """Every store says what it takes, and stores nothing."""
    for store in (MemoryStore(), JsonlStore(path), SqliteStore(path.with_suffix(".db"))):
        with pytest.raises(ValueError, match="a Message"):
            asyncio.run(store.append(given))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="a Message"):
            asyncio.run(store.replace([given]))  # type: ignore[list-item]
        assert asyncio.run(store.load()) == []


def test_message_unreadable_afterwards_is_refused(path: Path) -> None:
    """One unreadable entry would close the whole session, so it is never written."""
    stores = [JsonlStore(path), SqliteStore(path)]
    not_json = Message("user", extra={"handle": object()})
    no_call = Message("assistant", tool_calls=[ToolCall("c1", "run", extra={"a": {1, 2}})])

    for store, unreadable in itertools.product(stores, (not_json, no_call)):
        with pytest.raises(ValueError, match=r"must be .*, got "):
            asyncio.run(store.append(unreadable))

    assert not path.exists()
