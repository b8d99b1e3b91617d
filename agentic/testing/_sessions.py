"""The promises of every place with many sessions, as checks that any test runner can call."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from agentic.errors import (
    ConfigError,
    HistoryConflict,
    HistoryCorrupt,
    OutputNotFound,
    SessionNotFound,
)
from agentic.history import OutputStore, Sessions
from agentic.history._abilities import KeyedStore, SessionInfo
from agentic.testing._promises import (
    ANSWER,
    ASK,
    EVERYTHING,
    MORE,
    SUMMARY,
    TALK,
    append_all,
    broken_check,
    expect,
    expect_equal,
    expect_refusal,
)
from agentic.testing._store import check_store

# A folder makes file names of ids, so some of these would lead elsewhere.
_NO_IDS: list[Any] = [
    "",
    ".",
    "..",
    "../up",
    "a/b",
    "a\\b",
    ".hidden",
    "-dash",
    "ü",
    "a b",
    # A pattern that ends with $ accepts it.
    "a\n",
    "a" * 129,
    3,
]
# `_` is a wildcard in SQL, and a dot in a pattern.
_IDS = ["a", "_", "0.9-rc_1..x", "a" * 128]
_NO_TITLES: list[Any] = ["two\nlines", "a\x00b", "lone \ud83d", "x" * 201, None]
_TITLE = "Why the build is red \U0001f534"
_SKEW = timedelta(minutes=5)
_TICK_SECONDS = 0.02
"""Long enough to separate two changes by the coarsest clock that a place may have."""


def check_sessions(
    factory: Callable[[], Sessions], *, other: Callable[[], Sessions] | None = None
) -> None:
    """Check the promises of a place with many sessions, and those of its stores.

    Call it from sync code: it runs its own event loops.

    Args:
        factory: returns a new, empty place at every call.
        other: returns new, empty places of another kind: each imports what the other exports.

    Raises:
        AssertionError: a promise is broken; the text says which one.
    """
    place, numbers = factory(), itertools.count()
    # Side by side in one place: a store that reads what is of another is found.
    check_store(lambda: place.open(f"s{next(numbers)}"))
    for check in _PROMISES:
        asyncio.run(_hold_to(check, factory(), factory()))
    if other:
        for first, second in ((factory, other), (other, factory)):
            asyncio.run(_hold_to(_moves, first(), second()))
            asyncio.run(_hold_to(_moves_keys, first(), second()))


async def _hold_to(
    check: Callable[[Any, Any], Awaitable[None]], place: Sessions, second: Sessions
) -> None:
    try:
        await check(place, second)
    except Exception as problem:
        raise broken_check(place, Sessions, check, problem) from problem


async def _starts_empty(place: Sessions, _: Sessions) -> None:
    """A new place lists nothing, and open() alone makes no session."""
    expect(await place.open("a").load(), [])
    await _expect_ids(place, [])


async def _refuses_names(place: Sessions, _: Sessions) -> None:
    """A session id that could lead elsewhere is a ConfigError at every door."""
    for bad in _NO_IDS:
        # open() is no coroutine, and refuses at once.
        with contextlib.suppress(ConfigError):
            place.open(bad)
            raise AssertionError(f"open({bad!r}) raised no ConfigError.")
        for door in _doors(place):
            await expect_refusal(ConfigError, door(bad), f"The id {bad!r}")
        await expect_refusal(ConfigError, place.import_(bad, []), f"The id {bad!r}")


async def _takes_names(place: Sessions, _: Sessions) -> None:
    """Every allowed session id is the name of a session of its own."""
    for session_id in _IDS:
        await _write(place, session_id)
    await _expect_ids(place, _IDS, ordered=False)
    for session_id in _IDS:
        expect(await place.open(session_id).full(), [*TALK, MORE])


async def _lists(place: Sessions, _: Sessions) -> None:
    """list() gives the session that changed last first, with its counts and times."""
    start = datetime.now(UTC)
    for session_id in ("a", "b"):
        await _write(place, session_id)
        await asyncio.sleep(_TICK_SECONDS)
    await _expect_ids(place, ["b", "a"])
    async with _opened(place) as store:
        await store.replace([SUMMARY, ANSWER])
        await store.append(MORE)
    await _expect_ids(place, ["a", "b"])
    first, second = await place.list()
    _expect_info(first, messages=len(TALK) + 2, summarized=4)
    _expect_info(second, messages=len(TALK) + 1, summarized=0)
    # A place may keep whole seconds only, and its server's clock may be behind this one.
    if first.changed_at < start - _SKEW or first.created_at > first.changed_at:
        raise AssertionError(f"It gave {first}, and was asked at {start}.")


async def _counts_what_was_restored(place: Sessions, _: Sessions) -> None:
    """After a restore(), list() counts no message as summarized that is back."""
    async with _opened(place) as store:
        await append_all(store, TALK)
        await store.replace([SUMMARY])
        await store.restore()
    _expect_info((await place.list())[0], messages=len(TALK), summarized=0)


async def _renames(place: Sessions, _: Sessions) -> None:
    """rename() gives a title and takes it away, whoever is writing; the id stays."""
    async with _opened(place) as store:
        await append_all(store, TALK)
        for title in (_TITLE, "Another", ""):
            await place.rename("a", title)
            expect_equal((await place.list())[0].title, title)
        await store.replace([SUMMARY])
    await _expect_ids(place, ["a"])


async def _refuses_titles(place: Sessions, _: Sessions) -> None:
    """A title is one line of text of up to 200 characters; anything else is a ConfigError."""
    await _write(place, "a")
    for title in _NO_TITLES:
        await expect_refusal(ConfigError, place.rename("a", title), f"The title {title!r}")
    expect_equal((await place.list())[0].title, "")


async def _deletes(place: Sessions, _: Sessions) -> None:
    """delete() takes the messages, the title and the outputs with it, and leaves all others."""
    # A careless glob for the files of `a` finds those of `a.b` as well.
    refs = [await _write(place, session_id) for session_id in ("a", "a.b", "b")]
    await place.rename("a", _TITLE)
    await place.delete("a")
    await _expect_ids(place, ["a.b", "b"], ordered=False)
    expect(await place.open("a").full(), [])
    if refs[0]:
        await expect_refusal(OutputNotFound, _read(place, "a", refs[0]), "get() after delete()")
        expect_equal(await _read(place, "a.b", refs[1]), "red")
    await _write(place, "a", [ASK])
    expect(await place.open("a").full(), [ASK, MORE])
    # The id begins anew: not even the title of the session before it comes back.
    expect_equal(next(info.title for info in await place.list() if info.id == "a"), "")


async def _deletes_nothing_that_is_being_written(place: Sessions, _: Sessions) -> None:
    """delete() of a session that somebody writes raises HistoryConflict and removes nothing."""
    async with _opened(place) as store:
        await append_all(store, TALK)
        await expect_refusal(HistoryConflict, place.delete("a"), "delete()")
        expect(await store.full(), TALK)
    await place.delete("a")


async def _misses(place: Sessions, _: Sessions) -> None:
    """What is asked of a session that is not there raises SessionNotFound, and makes none."""
    # Before the first write, there is not even a file or a table.
    for wrote in (False, True):
        if wrote:
            await _write(place, "b")
        for door in _doors(place):
            await expect_refusal(SessionNotFound, door("a"), "A session that is not there")
    await _expect_ids(place, ["b"])


async def _moves(place: Sessions, second: Sessions) -> None:
    """What export() gives, import_() takes: messages, replaces, title and outputs, all the same."""
    ref = await _write(place, "a", [*TALK, EVERYTHING])
    async with _opened(place) as store:
        await store.replace([SUMMARY])
        await store.append(MORE)
    await place.rename("a", _TITLE)
    await second.import_("b", place.export("a"))
    # Exported once more, so that what an import writes is as good as what a store writes.
    await second.import_("c", await _drain(second.export("b")))
    for session_id in ("b", "c"):
        await _expect_same(place, second, session_id)
        if ref and isinstance(second.open(session_id), OutputStore):
            expect_equal(await _read(second, session_id, ref), "red")
    expect_equal((await second.list())[0].title, _TITLE)


async def _moves_keys(place: Sessions, second: Sessions) -> None:
    """What export() gives and import_() takes includes the keys of messages."""
    first, third = place.open("a"), second.open("b")
    if not isinstance(first, KeyedStore) or not isinstance(third, KeyedStore):
        return
    await _append_keyed(first)
    await second.import_("b", place.export("a"))
    await _append_keyed(third)
    expect(await second.open("b").full(), [ASK, ANSWER], "A key is lost on the way:")


async def _append_keyed(store: Any) -> None:
    async with store:
        await store.append(ASK, key="k1")
        await store.append(ANSWER, key="k2")


async def _redacts(place: Sessions, second: Sessions) -> None:
    """redact() takes what a message says out of a session, its title and its exports."""
    await _write(place, "a", [attrs.evolve(ASK, id="leak"), *TALK[1:]])
    await place.rename("a", "sk-live-4f9c1a77 leaked")
    step = place.redact("b", "leak", "[gone]")
    await expect_refusal(SessionNotFound, step, "A session that is not there")
    await place.redact("a", "leak", "[gone]", secret="sk-live-4f9c1a77", by="Ann")  # noqa: S106
    expect_equal((await place.open("a").full())[0].content, "[gone]")
    expect_equal((await place.list())[0].title, "[gone] leaked")
    lines = await _drain(place.export("a"))
    if ASK.content.encode() in b"".join(lines) or b'"by":"Ann"' not in b"".join(lines):
        raise AssertionError(f"It gave {lines}.")
    # What was redacted is an entry that another place has to understand.
    await second.import_("a", lines)
    _expect_info((await second.list())[0], messages=len(TALK) + 1, summarized=0)


async def _imports_no_second(place: Sessions, second: Sessions) -> None:
    """import_() of an id that is there raises HistoryConflict, and changes nothing."""
    await _write(place, "a")
    await _write(second, "a", [ASK])
    step = second.import_("a", place.export("a"))
    await expect_refusal(HistoryConflict, step, "import_()")
    expect(await second.open("a").full(), [ASK, MORE])


async def _imports_no_damage(place: Sessions, second: Sessions) -> None:
    """import_() of a line that cannot be read raises HistoryCorrupt, and makes no session."""
    await _write(place, "a")
    lines = await _drain(place.export("a"))
    # Its reference is not that of its text, by which get() would find it.
    output = b'{"v":1,"type":"output","optional":true,"ref":"out-0123456789abcdef","text":"red"}\n'
    title = b'{"v":1,"type":"title","optional":true,"title":3}\n'
    # The first is a line of which the end is missing, as after a full disk.
    broken = lines[0][:-9], lines[0].replace(b",", b",\n", 1)
    for damage in (b"red\n", b'{"v":1,"type":"message"}\n', output, title, *broken):
        step = second.import_("b", [*lines, damage])
        await expect_refusal(HistoryCorrupt, step, f"The line {damage!r}")
    await expect_refusal(ConfigError, second.import_("b", ["text"]), "A line of text")  # type: ignore[list-item]
    await _expect_ids(second, [])


_PROMISES = [
    _starts_empty,
    _refuses_names,
    _takes_names,
    _lists,
    _counts_what_was_restored,
    _renames,
    _refuses_titles,
    _deletes,
    _deletes_nothing_that_is_being_written,
    _misses,
    _moves,
    _moves_keys,
    _redacts,
    _imports_no_second,
    _imports_no_damage,
]


def _opened(place: Sessions, session_id: str = "a") -> Any:
    """Return a store to enter and write: a place's stores have more than a `Store`'s methods."""
    return place.open(session_id)


def _doors(place: Sessions) -> list[Callable[[Any], Awaitable[object]]]:
    """Return the calls that require an existing session."""
    return [
        lambda session_id: place.rename(session_id, ""),
        place.delete,
        lambda session_id: _drain(place.export(session_id)),
    ]


async def _write(place: Sessions, session_id: str, messages: Sequence[Any] = TALK) -> str:
    """Write a session, and store an output in it if it can."""
    async with _opened(place, session_id) as store:
        await append_all(store, [*messages, MORE])
        return await store.put("red") if isinstance(store, OutputStore) else ""


async def _read(place: Sessions, session_id: str, ref: str) -> str:
    async with _opened(place, session_id) as store:
        return str(await store.get(ref))


async def _drain(lines: AsyncIterable[bytes] | Iterable[bytes]) -> list[bytes]:
    return [line async for line in lines] if isinstance(lines, AsyncIterable) else [*lines]


async def _expect_same(place: Sessions, second: Sessions, session_id: str) -> None:
    """Compare a session with an imported one, including a restore()."""
    first, copy = place.open("a"), second.open(session_id)
    expect(await copy.full(), await first.full(), "full() of what was imported:")
    expect(await copy.load(), await first.load(), "load() of what was imported:")
    # What was replaced is moved, too: without it there would be nothing to restore.
    messages = (await first.diff()).dropped
    expect((await copy.diff()).dropped, messages, "diff() of what was imported:")
    async with _opened(second, session_id) as store:
        await store.restore()
        await store.replace([SUMMARY])
        await store.restore()
        expect(await store.load(), [*messages, MORE], "restore() of what was imported:")


async def _expect_ids(place: Sessions, ids: Sequence[str], *, ordered: bool = True) -> None:
    got = [info.id for info in await place.list()]
    if got != ids and (ordered or sorted(got) != sorted(ids)):
        raise AssertionError(f"Expected {ids}; list() gave {got}.")


def _expect_info(info: SessionInfo, *, messages: int, summarized: int) -> None:
    if (info.messages, info.summarized) != (messages, summarized):
        raise AssertionError(f"Expected {messages} messages, {summarized} summarized; got {info}.")
