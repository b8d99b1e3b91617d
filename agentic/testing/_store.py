"""What every store promises, as checks that any test runner can call.

A check is a coroutine function whose docstring is the promise; a failure says which one it was.
"""

import asyncio
import contextlib
import json
import reprlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from agentic.errors import NothingToRestore
from agentic.history import Archive, Rewriter, Store
from agentic.messages import (
    ContextSummary,
    Media,
    Message,
    Native,
    ToolCall,
    ToolResult,
    close_open_rounds,
    to_plain,
)
from agentic.usage import Usage

__all__ = ["check_store"]

Check: TypeAlias = Callable[[Any], Awaitable[None]]

_ASK = Message("user", "Why is the build red?")
_CALL = Message("assistant", tool_calls=[ToolCall("c1", "run", '{"command": "make"}')])
_RESULT = Message("tool", tool_results=[ToolResult("c1", "run", "1 failed")])
_ANSWER = Message("assistant", "A test failed.")
_MORE = Message("user", "Mend it.")
_TALK = [_ASK, _CALL, _RESULT, _ANSWER]
_SUMMARY = ContextSummary("The build is red: a test failed.", 4).to_message()
_OTHER_SUMMARY = ContextSummary("The test failed on a typo.", 5).to_message()
_EVERYTHING = Message(
    "assistant",
    "a lone \ud83d, a pair of lone ones \ud83d\ude00, \x00 \x85 \u2028 \r\n and \U0001f600",
    reasoning="Look first.",
    media=[Media("image/png", b"\x89PNG\r\n\x00", extra={"detail": "high"})],
    pinned=True,
    summary=ContextSummary("so far", 2, 0, 1, generation=3),
    usage=Usage(input=10, output=2, total=12),
    timestamp=datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
    id="m1",
    native=Native("anthropic", {"content": [{"signature": "Eq=="}, float("nan"), 1e400, None]}),
    extra={"mood": "curious", "type": "odd", "nested": {"list": [1, 2.5, "\udfff"]}},
)


def check_store(
    factory: Callable[[], Store], *, reopen: Callable[[Any], Store] | None = None
) -> None:
    """Hold a store to its promises, those of `Rewriter` and `Archive` too if it has the methods.

    Call it from a plain function: it runs event loops of its own.

    >>> from agentic.history import MemoryStore
    >>> check_store(MemoryStore)

    Args:
        factory: gives a new, empty store at every call. A store that is an async context manager
            is entered and left.
        reopen: for stores that outlive the process: takes a store that was left, and gives another
            one on the same session.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for role, checks in _PROMISES.items():
        for check in checks:
            asyncio.run(_hold_to(role, check, factory))
    if reopen:
        asyncio.run(_hold_to_memory(factory, reopen))


async def _hold_to(role: type[Any], check: Check, factory: Callable[[], Store]) -> None:
    async with _opened(factory()) as store:
        if not isinstance(store, role):
            return
        try:
            await check(store)
        except Exception as problem:
            raise AssertionError(
                f"{type(store).__name__} breaks a promise of {role.__name__}: {check.__doc__} "
                f"{_describe(problem)}"
            ) from problem


async def _hold_to_memory(factory: Callable[[], Store], reopen: Callable[[Any], Store]) -> None:
    async with _opened(factory()) as first:
        await _append(first, [*_TALK, _EVERYTHING])
        if isinstance(first, Rewriter):
            await first.replace([_SUMMARY])
        await first.append(_MORE)
        expected = await first.load()
    async with _opened(reopen(first)) as second:
        _expect(await second.load(), expected, "load() changes when the session is opened again:")
        if isinstance(second, Archive):
            everything = [*_TALK, _EVERYTHING, _MORE]
            _expect(await second.full(), everything, "full() changes when it is opened again:")
            await second.restore()
            _expect(await second.load(), everything, "restore() fails when it is opened again:")


@contextlib.asynccontextmanager
async def _opened(store: Store) -> AsyncIterator[Store]:
    async with contextlib.AsyncExitStack() as stack:
        if isinstance(store, contextlib.AbstractAsyncContextManager):
            await stack.enter_async_context(store)
        yield store


async def _starts_empty(store: Store) -> None:
    """A new store holds no message."""
    _expect(await store.load(), [])


async def _keeps_order(store: Store) -> None:
    """What is appended is loaded, all of it, in order."""
    await _append(store, _TALK)
    _expect(await store.load(), _TALK)


async def _keeps_equal_messages(store: Store) -> None:
    """Two equal messages are two messages."""
    await _append(store, [_ASK, _ASK])
    _expect(await store.load(), [_ASK, _ASK])


async def _keeps_every_field(store: Store) -> None:
    """A message comes back with every field, unknown ones, lone surrogates and NaN included."""
    await store.append(_EVERYTHING)
    _expect(await store.load(), [_EVERYTHING])


async def _keeps_large_messages(store: Store) -> None:
    """A message of a million characters comes back whole."""
    large = Message("user", "0123456789" * 100_000)
    await store.append(large)
    _expect(await store.load(), [large])


async def _gives_a_list_of_ones_own(store: Store) -> None:
    """The list that load() gives is the caller's: a change to it changes nothing in the store."""
    await _append(store, _TALK)
    (await store.load()).clear()
    _expect(await store.load(), _TALK)


async def _closes_open_rounds(store: Store) -> None:
    """What load() gives is a history that a provider accepts: every call has a result."""
    await _append(store, [_ASK, _CALL, _MORE])
    _expect(await store.load(), close_open_rounds([_ASK, _CALL, _MORE]))


async def _leaves_orphans_out(store: Store) -> None:
    """What load() gives is a history that a provider accepts: every result has a call."""
    await _append(store, [_ASK, _RESULT, _ANSWER])
    _expect(await store.load(), [_ASK, _ANSWER])


async def _stays_raw(store: Store) -> None:
    """What is stored stays raw: a result appended after load() takes its place."""
    await _append(store, [_ASK, _CALL])
    await store.load()
    await _append(store, [_RESULT, _ANSWER])
    _expect(await store.load(), _TALK)


async def _replaces(store: Rewriter) -> None:
    """After replace(), the history is what was given, and what is appended comes after."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY, _ANSWER])
    await store.append(_MORE)
    _expect(await store.load(), [_SUMMARY, _ANSWER, _MORE])


async def _replaces_again(store: Rewriter) -> None:
    """A second replace() leaves nothing of the first."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.replace([_OTHER_SUMMARY, _MORE])
    _expect(await store.load(), [_OTHER_SUMMARY, _MORE])


async def _replaces_by_nothing(store: Rewriter) -> None:
    """A replace() by no messages leaves an empty history."""
    await _append(store, _TALK)
    await store.replace([])
    _expect(await store.load(), [])


async def _copies_what_it_is_given(store: Rewriter) -> None:
    """The list given to replace() stays the caller's: a change to it changes nothing."""
    given = [_SUMMARY]
    await store.replace(given)
    given.append(_MORE)
    _expect(await store.load(), [_SUMMARY])


async def _archives_all(store: Archive) -> None:
    """full() gives every message ever appended, in order, and none that only a replace brought."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.append(_MORE)
    _expect(await store.full(), [*_TALK, _MORE])


async def _archives_raw(store: Archive) -> None:
    """full() gives messages as they were appended: open rounds are open, orphans are there."""
    await _append(store, [_RESULT, _ASK, _CALL])
    _expect(await store.full(), [_RESULT, _ASK, _CALL])


async def _restores(store: Archive) -> None:
    """restore() gives the earlier history back, and what was appended since follows it."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.append(_MORE)
    await store.restore()
    _expect(await store.load(), [*_TALK, _MORE])


async def _restores_twice(store: Archive) -> None:
    """A second restore() takes back the replace before."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.append(_MORE)
    await store.replace([_OTHER_SUMMARY])
    await store.restore()
    _expect(await store.load(), [_SUMMARY, _MORE], "After one restore():")
    await store.restore()
    _expect(await store.load(), [*_TALK, _MORE], "After two:")


async def _replaces_after_a_restore(store: Archive) -> None:
    """After a restore(), another replace() works, and can be taken back in its turn."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.restore()
    await store.replace([_OTHER_SUMMARY])
    _expect(await store.load(), [_OTHER_SUMMARY], "After the replace():")
    await store.restore()
    _expect(await store.load(), _TALK, "After its restore():")


async def _archives_through_a_restore(store: Archive) -> None:
    """restore() changes nothing in what full() gives."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.append(_MORE)
    await store.restore()
    _expect(await store.full(), [*_TALK, _MORE])


async def _says_that_nothing_is_left(store: Archive) -> None:
    """restore() raises NothingToRestore when no replace stands, and changes nothing."""
    await _append(store, _TALK)
    await store.replace([_SUMMARY])
    await store.restore()
    try:
        await store.restore()
    except NothingToRestore:
        _expect(await store.load(), _TALK)
    else:
        raise AssertionError("It returned.")


_PROMISES: dict[type[Any], Sequence[Check]] = {
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
        _archives_through_a_restore,
        _says_that_nothing_is_left,
    ],
}


async def _append(store: Store, messages: Sequence[Message]) -> None:
    for message in messages:
        await store.append(message)


def _expect(found: Sequence[Message], expected: Sequence[Message], where: str = "") -> None:
    # as text, since NaN equals nothing
    got, wanted = _as_text(found), _as_text(expected)
    if got != wanted:
        raise AssertionError(f"{where} Expected {_brief(wanted)}; got {_brief(got)}.".lstrip())


def _as_text(messages: Sequence[Message]) -> list[str]:
    plain = map(to_plain, messages)
    return [json.dumps(message, sort_keys=True, ensure_ascii=False) for message in plain]


def _brief(texts: list[str]) -> str:
    return f"{len(texts)} messages {reprlib.repr(texts)}"


def _describe(problem: Exception) -> str:
    return str(problem) if isinstance(problem, AssertionError) else f"It raised {problem!r}."
