"""The promises of every store, as checks that any test runner can call.

A check is a coroutine function whose docstring is the promise; a failure quotes it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agentic.errors import HistoryConflict, NothingToRestore
from agentic.history import Archive, DiffArchive, OutputStore, Redactor, Rewriter, Store
from agentic.history._abilities import KeyedStore, Revisioned
from agentic.history._replace import counts_replaced
from agentic.messages import Message, close_open_rounds
from agentic.testing._promises import (
    ANSWER,
    ASK,
    CALL,
    EVERYTHING,
    MORE,
    OTHER_SUMMARY,
    RESULT,
    SUMMARY,
    TALK,
    Promise,
    append_all,
    broken_check,
    expect,
    expect_equal,
    expect_refusal,
)
from agentic.testing._store_abilities import (
    KEYED_STORE_PROMISES,
    OUTPUT_STORE_PROMISES,
    REDACTOR_PROMISES,
    REVISIONED_PROMISES,
)


def check_store(
    factory: Callable[[], Store], *, reopen: Callable[[Any], Store] | None = None
) -> None:
    """Check a store's promises, and those of each protocol whose methods it has.

    These are `Rewriter`, `Archive`, `DiffArchive`, `KeyedStore`, `OutputStore`, `Redactor` and
    `Revisioned`. If `replace` does not accept `replaces`, only the promises of a plain `replace`
    are checked.

    Call it from sync code: it runs its own event loops.

    >>> from agentic.history import MemoryStore
    >>> check_store(MemoryStore)

    Args:
        factory: returns a new, empty store at every call. A store that is an async context manager
            is entered and left.
        reopen: for stores that outlive the process: takes a store that was left, and returns
            another one for the same session.

    Raises:
        AssertionError: a promise is broken; the text says which one.
    """
    for role, checks in _PROMISES.items():
        for check in (*checks, *_COUNTED.get(role, ())):
            asyncio.run(_hold_to(role, check, factory))
    if reopen:
        asyncio.run(_hold_to_memory(factory, reopen))


async def _hold_to(role: type[Any], check: Promise, factory: Callable[[], Store]) -> None:
    # A new store for each promise, so that what one breaks does not break the next.
    async with _opened(factory()) as store:
        counts = check in _COUNTED.get(role, ())
        if not isinstance(store, role) or (counts and not counts_replaced(store)):
            return
        try:
            await check(store)
        except Exception as problem:
            raise broken_check(store, role, check, problem) from problem


async def _hold_to_memory(factory: Callable[[], Store], reopen: Callable[[Any], Store]) -> None:
    async with _opened(factory()) as first:
        # The archive has to outlive the compaction below, which hides it from load().
        await append_all(first, [*TALK, EVERYTHING])
        if isinstance(first, Rewriter):
            await first.replace([SUMMARY])
        options: Any = {"key": "k1"} if isinstance(first, KeyedStore) else {}
        await first.append(MORE, **options)
        want = await first.load()
        ref = await first.put("red") if isinstance(first, OutputStore) else ""
    async with _opened(reopen(first)) as second:
        try:
            await _remembers(second, want, ref)
        except Exception as problem:
            raise broken_check(second, Store, _remembers, problem) from problem


async def _remembers(store: Store, want: Sequence[Message], ref: str) -> None:
    """What was stored is there when the session is opened again."""
    expect(await store.load(), want, "load() changes when the session is opened again:")
    # A workflow that is replayed after a crash appends again what it may have appended.
    if isinstance(store, KeyedStore):
        await store.append(MORE, key="k1")
        expect(await store.load(), want, "A key is lost when it is opened again:")
    if isinstance(store, OutputStore):
        expect_equal(await store.get(ref), "red")
    if isinstance(store, Archive):
        everything = [*TALK, EVERYTHING, MORE]
        expect(await store.full(), everything, "full() changes when it is opened again:")
        await store.restore()
        expect(await store.load(), everything, "restore() fails when it is opened again:")


@contextlib.asynccontextmanager
async def _opened(store: Store) -> AsyncIterator[Store]:
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(store, contextlib.AbstractAsyncContextManager):
            await stack.enter_async_context(store)
        yield store


async def _starts_empty(store: Store) -> None:
    """A new store holds no message."""
    expect(await store.load(), [])


async def _keeps_order(store: Store) -> None:
    """What is appended is loaded, all of it, in order."""
    await append_all(store, TALK)
    expect(await store.load(), TALK)


async def _keeps_equal_messages(store: Store) -> None:
    """Two equal messages are two messages."""
    await append_all(store, [ASK, ASK])
    expect(await store.load(), [ASK, ASK])


async def _keeps_every_field(store: Store) -> None:
    """A message comes back with every field, unknown ones, lone surrogates and NaN included."""
    await store.append(EVERYTHING)
    expect(await store.load(), [EVERYTHING])


async def _keeps_large_messages(store: Store) -> None:
    """A message of a million characters comes back whole."""
    # More than buffers usually hold, and than the blocks in which a log is read backwards.
    large = Message("user", "0123456789" * 100_000)
    await store.append(large)
    expect(await store.load(), [large])


async def _gives_a_list_of_ones_own(store: Store) -> None:
    """The list that load() gives is the caller's: a change to it changes nothing in the store."""
    await append_all(store, TALK)
    # A store in memory might hand out the list that it keeps.
    (await store.load()).clear()
    expect(await store.load(), TALK)


async def _closes_open_rounds(store: Store) -> None:
    """What load() gives is a history that a provider accepts: every call has a result."""
    # As after a crash between a call and its result, when the user has gone on since.
    await append_all(store, [ASK, CALL, MORE])
    expect(await store.load(), close_open_rounds([ASK, CALL, MORE]))


async def _leaves_orphans_out(store: Store) -> None:
    """What load() gives is a history that a provider accepts: every result has a call."""
    await append_all(store, [ASK, RESULT, ANSWER])
    expect(await store.load(), [ASK, ANSWER])


async def _stays_raw(store: Store) -> None:
    """What is stored stays raw: a result appended after load() takes its place."""
    await append_all(store, [ASK, CALL])
    await store.load()
    await append_all(store, [RESULT, ANSWER])
    expect(await store.load(), TALK)


async def _replaces(store: Rewriter) -> None:
    """After replace(), the history is what was given, and what is appended comes after."""
    await append_all(store, TALK)
    await store.replace([SUMMARY, ANSWER])
    await store.append(MORE)
    expect(await store.load(), [SUMMARY, ANSWER, MORE])


async def _replaces_again(store: Rewriter) -> None:
    """A second replace() leaves nothing of the first."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.replace([OTHER_SUMMARY, MORE])
    expect(await store.load(), [OTHER_SUMMARY, MORE])


async def _replaces_by_nothing(store: Rewriter) -> None:
    """A replace() by no messages leaves an empty history."""
    await append_all(store, TALK)
    # An empty list is falsy: careless code takes it for none given.
    await store.replace([])
    expect(await store.load(), [])


async def _copies_what_it_is_given(store: Rewriter) -> None:
    """The list given to replace() stays the caller's: a change to it changes nothing."""
    messages = [SUMMARY]
    await store.replace(messages)
    # The view of a running agent grows after it was stored.
    messages.append(MORE)
    expect(await store.load(), [SUMMARY])


async def _keeps_what_came_later(store: Rewriter) -> None:
    """replace(replaces=n) leaves what was appended behind the first n, after the new messages."""
    await append_all(store, TALK)
    before = await store.load()
    await append_all(store, [MORE, ASK])
    await store.replace([SUMMARY], replaces=len(before))
    await store.append(ANSWER)
    expect(await store.load(), [SUMMARY, MORE, ASK, ANSWER])


async def _counts_what_it_appended(store: Rewriter) -> None:
    """`replaces` counts what was loaded last, and what this store has appended since."""
    await append_all(store, TALK)
    await store.load()
    await append_all(store, [MORE, ASK])
    await store.replace([SUMMARY], replaces=len(TALK) + 1)
    expect(await store.load(), [SUMMARY, ASK])


async def _stores_nothing_made_up(store: Rewriter) -> None:
    """A result that load() made up is not stored by a replace(): a real one takes its place."""
    await append_all(store, [ASK, CALL])
    before = await store.load()
    # What load() made up is in the list: stored, it would hide the real result for ever.
    await store.replace([SUMMARY, *before[1:]], replaces=len(before))
    await append_all(store, [RESULT, ANSWER])
    expect(await store.load(), [SUMMARY, CALL, RESULT, ANSWER])


async def _pairs_a_late_result(store: Rewriter) -> None:
    """A result that comes while its call is summarized brings the call back."""
    await append_all(store, [ASK, CALL])
    before = await store.load()
    await store.append(RESULT)
    await store.replace([SUMMARY], replaces=len(before))
    expect(await store.load(), [SUMMARY, CALL, RESULT])


async def _lets_one_summary_win(store: Rewriter) -> None:
    """Of two summaries of one history the first is kept; the second gets HistoryConflict."""
    await append_all(store, TALK)
    before = await store.load()
    await store.replace([SUMMARY], replaces=len(before))
    await store.append(MORE)
    # Two tasks may have begun to summarize the same history.
    late = store.replace([OTHER_SUMMARY], replaces=len(before))
    await expect_refusal(HistoryConflict, late, "replace() of a history that was replaced")
    expect(await store.load(), [SUMMARY, MORE])


async def _takes_no_more_than_there_is(store: Rewriter) -> None:
    """replace(replaces=n) raises a ValueError where there are fewer than n, and changes nothing."""
    await append_all(store, TALK)
    before = await store.load()
    # As the end of a slice, -1 would keep the last message, and no error would say so.
    for wrong in (len(before) + 1, -1):
        late = store.replace([SUMMARY], replaces=wrong)
        await expect_refusal(ValueError, late, f"replace(replaces={wrong}) of {len(before)}")
    expect(await store.load(), TALK)


async def _restores_what_came_later(store: Archive) -> None:
    """restore() and diff() are right after a replace(replaces=n) that kept later messages."""
    await append_all(store, TALK)
    before = await store.load()
    await store.append(MORE)
    await store.replace([SUMMARY], replaces=len(before))
    if isinstance(store, DiffArchive):
        await _expect_diff(store, TALK, [SUMMARY])
    await store.append(ASK)
    await store.restore()
    expect(await store.load(), [*TALK, MORE, ASK])
    expect(await store.full(), [*TALK, MORE, ASK])


async def _archives_all(store: Archive) -> None:
    """full() gives every message ever appended, in order, and none that only a replace brought."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.append(MORE)
    expect(await store.full(), [*TALK, MORE])
    await store.restore()
    expect(await store.full(), [*TALK, MORE], "After a restore():")


async def _archives_raw(store: Archive) -> None:
    """full() gives messages as they were appended: open rounds are open, orphans are there."""
    # load() would repair these. An archive that did so, too, would lose what was really said.
    await append_all(store, [RESULT, ASK, CALL])
    expect(await store.full(), [RESULT, ASK, CALL])


async def _restores(store: Archive) -> None:
    """restore() gives the earlier history back, and what was appended since follows it."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.append(MORE)
    await store.restore()
    expect(await store.load(), [*TALK, MORE])


async def _restores_twice(store: Archive) -> None:
    """A second restore() takes back the replace before."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.append(MORE)
    await store.replace([OTHER_SUMMARY])
    await store.restore()
    expect(await store.load(), [SUMMARY, MORE], "After one restore():")
    await store.restore()
    expect(await store.load(), [*TALK, MORE], "After two:")


async def _replaces_after_a_restore(store: Archive) -> None:
    """After a restore(), another replace() works, and can be taken back in its turn."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.restore()
    await store.replace([OTHER_SUMMARY])
    expect(await store.load(), [OTHER_SUMMARY], "After the replace():")
    await store.restore()
    expect(await store.load(), TALK, "After its restore():")


async def _says_that_nothing_is_left(store: Archive) -> None:
    """restore() raises NothingToRestore when no replace stands, and changes nothing."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.restore()
    await expect_refusal(NothingToRestore, store.restore(), "A second restore()")
    expect(await store.load(), TALK)


async def _tells_what_a_replace_dropped(store: DiffArchive) -> None:
    """diff() gives what the latest replace() dropped and added; what came later is in neither."""
    await append_all(store, TALK)
    await store.replace([SUMMARY, ANSWER])
    await store.append(MORE)
    # ANSWER was there before and after: it was neither dropped nor added.
    await _expect_diff(store, TALK[:-1], [SUMMARY])


async def _tells_equal_messages_apart(store: DiffArchive) -> None:
    """diff() counts equal messages one by one."""
    # A comparison of sets would find one ASK before and one after, and nothing dropped.
    await append_all(store, [ASK, ASK, MORE])
    await store.replace([SUMMARY, ASK, SUMMARY])
    await _expect_diff(store, [ASK, MORE], [SUMMARY, SUMMARY])


async def _tells_what_the_standing_replace_dropped(store: DiffArchive) -> None:
    """After a restore(), diff() is about the replace that stands now."""
    await append_all(store, TALK)
    await store.replace([SUMMARY])
    await store.append(MORE)
    await store.replace([OTHER_SUMMARY])
    await _expect_diff(store, [SUMMARY, MORE], [OTHER_SUMMARY])
    await store.restore()
    await _expect_diff(store, TALK, [SUMMARY])


async def _says_that_nothing_was_dropped(store: DiffArchive) -> None:
    """diff() raises NothingToRestore when no replace stands."""
    await append_all(store, TALK)
    await expect_refusal(NothingToRestore, store.diff(), "diff() of a history without a replace")
    await store.replace([SUMMARY])
    await store.restore()
    await expect_refusal(NothingToRestore, store.diff(), "diff() after a restore()")


_PROMISES: dict[type[Any], Sequence[Promise]] = {
    Store: [
        _starts_empty,
        _keeps_order,
        _keeps_equal_messages,
        _keeps_every_field,
        _keeps_large_messages,
        _gives_a_list_of_ones_own,
        _closes_open_rounds,
        _leaves_orphans_out,
        _stays_raw,
    ],
    Rewriter: [_replaces, _replaces_again, _replaces_by_nothing, _copies_what_it_is_given],
    Archive: [
        _archives_all,
        _archives_raw,
        _restores,
        _restores_twice,
        _replaces_after_a_restore,
        _says_that_nothing_is_left,
    ],
    DiffArchive: [
        _tells_what_a_replace_dropped,
        _tells_equal_messages_apart,
        _tells_what_the_standing_replace_dropped,
        _says_that_nothing_was_dropped,
    ],
    KeyedStore: KEYED_STORE_PROMISES,
    OutputStore: OUTPUT_STORE_PROMISES,
    Redactor: REDACTOR_PROMISES,
    Revisioned: REVISIONED_PROMISES,
}
_COUNTED: dict[type[Any], Sequence[Promise]] = {
    Rewriter: [
        _keeps_what_came_later,
        _counts_what_it_appended,
        _stores_nothing_made_up,
        _pairs_a_late_result,
        _lets_one_summary_win,
        _takes_no_more_than_there_is,
    ],
    Archive: [_restores_what_came_later],
}
"""Checked only if the store's `replace` accepts `replaces`."""


async def _expect_diff(
    store: DiffArchive, less: Sequence[Message], more: Sequence[Message]
) -> None:
    difference = await store.diff()
    expect(difference.dropped, less, "Dropped:")
    expect(difference.added, more, "Added:")
