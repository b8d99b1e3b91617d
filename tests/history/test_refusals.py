"""What a refusal says, whichever store refuses: which session it is about, and where in it."""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import (
    ConfigError,
    HistoryChanged,
    HistoryConflict,
    HistoryCorrupt,
    HistoryError,
    MessageNotFound,
    NothingToRestore,
    OutputNotFound,
)
from agentic.history import JsonlSessions, JsonlStore, MemoryStore, replace_known
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import Message

STORES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "memory": (lambda _: MemoryStore(), "the session in memory"),
    "jsonl": (lambda folder: JsonlStore(folder / "monday.jsonl"), "monday.jsonl"),
    "sqlite": (lambda folder: SqliteStore(folder / "s.db", "monday"), "monday"),
}
EVERY = pytest.mark.parametrize(("make", "name"), STORES.values(), ids=STORES)
MISSING = "out-0123456789abcdef"


def _refusal(step: Coroutine[Any, Any, None], kind: type[HistoryError]) -> Any:
    with pytest.raises(kind) as caught:
        asyncio.run(step)
    return caught.value


async def _ask(store: Any, method: str, *arguments: object) -> None:
    async with store:
        await getattr(store, method)(*arguments)


@EVERY
def test_each_refusal_names_its_session(
    tmp_path: Path, make: Callable[[Path], Any], name: str
) -> None:
    """Somebody who serves many sessions reads it in a log."""
    store = make(tmp_path)
    asyncio.run(_ask(store, "append", Message("user", "hello", id="m1")))

    refused = [
        _refusal(_ask(store, "restore"), NothingToRestore),
        _refusal(_ask(store, "diff"), NothingToRestore),
        _refusal(_ask(store, "redact", "m2", "[gone]"), MessageNotFound),
    ]
    assert [name in each.session for each in refused] == [True] * 3


@EVERY
def test_an_empty_store_names_its_session(
    tmp_path: Path, make: Callable[[Path], Any], name: str
) -> None:
    """Though nothing of it is stored yet."""
    refused = [
        _refusal(_ask(make(tmp_path), "redact", 0, "[gone]"), MessageNotFound),
        _refusal(_ask(make(tmp_path), "restore"), NothingToRestore),
        _refusal(_ask(make(tmp_path), "get", MISSING), OutputNotFound),
    ]
    assert [name in each.session for each in refused] == [True] * 3


@EVERY
def test_replace_after_redaction_names_session(
    tmp_path: Path, make: Callable[[Path], Any], name: str
) -> None:
    """What the caller loaded still says what was removed."""
    store = make(tmp_path)

    async def write() -> None:
        async with store:
            await store.append(Message("user", "hello"))
            await store.load()
            await store.redact(0, "[gone]")
            await store.replace([Message("user", "again")])

    assert name in _refusal(write(), HistoryConflict).session


@EVERY
def test_asking_for_no_key_is_refused(
    tmp_path: Path, make: Callable[[Path], Any], name: str
) -> None:
    """As an append with it is, rather than to say that no message has it."""
    store = make(tmp_path)
    asyncio.run(_ask(store, "append", Message("user", name)))

    for key in (7, "k" * 201):
        with pytest.raises(ConfigError, match="key must be a str of 1 to 200 characters"):
            asyncio.run(_ask(store, "has_key", key))


@EVERY
def test_the_log_says_who_redacted(
    tmp_path: Path, make: Callable[[Path], Any], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the session and the message."""
    caplog.set_level(logging.INFO, "agentic.history")

    async def write() -> None:
        async with make(tmp_path) as store:
            await store.append(Message("user", "hello", id="m1"))
            await store.redact("m1", "[gone]", by="Ann")

    asyncio.run(write())

    (line,) = [each.getMessage() for each in caplog.records if "redacted" in each.getMessage()]
    assert name in line.partition(":")[0]
    assert line.endswith("message 'm1' redacted by Ann")


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_import_says_where_bad_line_begins(tmp_path: Path, kind: type[Any]) -> None:
    """In bytes from the start of what is imported, as an editor counts them."""
    plain = {"v": 1, "type": "message", "message": {"v": 1, "role": "user", "content": "hé"}}
    line = json.dumps(plain, ensure_ascii=False).encode() + b"\n"
    place = kind(tmp_path / "sessions")

    first = _refusal(place.import_("monday", [b"no entry\n"]), HistoryCorrupt)
    third = _refusal(place.import_("monday", [line, line, b"no entry\n"]), HistoryCorrupt)

    assert (first.offset, third.offset) == (0, 2 * len(line))


def test_knowing_more_than_stored_is_refused() -> None:
    """Who knows more than is stored is told to load again."""

    async def replace() -> None:
        store = MemoryStore()
        await store.append(Message("user", "one"))
        known = [*await store.load(), Message("user", "two")]
        await replace_known(store, known, [Message("system", "both")])

    with pytest.raises(HistoryChanged):
        asyncio.run(replace())
