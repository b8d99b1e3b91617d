"""What a store promises that keeps whole tool outputs, as checks that `check_store` calls."""

import re
from collections.abc import Sequence
from typing import Any

from agentic.errors import ConfigError, OutputNotFound
from agentic.history import Archive, OutputStore
from agentic.testing._promises import ASK, Check, expect, expect_refusal, expect_text

__all__ = ["OUTPUT_STORE_PROMISES"]

_NEVER_KEPT = "out-0123456789abcdef"


async def _keeps_outputs(store: OutputStore) -> None:
    """get() gives back what put() was given: nothing, lines, lone surrogates, a million bytes."""
    for output in (
        "",
        "one\r\ntwo\x85\x00",
        "\ud83d\ude00 \U0001f600 \udfff",
        "0123456789" * 100_000,
    ):
        expect_text(await store.get(await store.put(output)), output)


async def _refers_by_content(store: OutputStore) -> None:
    """The reference is out- and 16 hex digits; equal outputs have the same, others another."""
    first, again, other = [await store.put(text) for text in ("red", "red", "green")]
    expect_text(again, first)
    if other == first or not re.fullmatch("out-[0-9a-f]{16}", first):
        raise AssertionError(f"It gave {first!r} and {other!r}.")


async def _misses_what_was_never_kept(store: OutputStore) -> None:
    """get() of a reference that was never given raises OutputNotFound."""
    await expect_refusal(OutputNotFound, store.get(_NEVER_KEPT), "get() before any put()")
    await store.put("red")
    await expect_refusal(OutputNotFound, store.get(_NEVER_KEPT), "get()")


async def _refuses_what_is_no_reference(store: OutputStore) -> None:
    """get() of anything but a reference is a ConfigError: nobody reads other files with it."""
    ref = await store.put("red")
    for other in ("", f"../{ref}", f"{ref}/..", f"{ref}\n", ref.upper(), "out-red", "/etc/passwd"):
        await expect_refusal(ConfigError, store.get(other), f"get({other!r})")


async def _keeps_outputs_beside_the_history(store: Any) -> None:
    """What is kept is no message: load() and full() do not have it."""
    await store.append(ASK)
    await store.put("red")
    expect(await store.load(), [ASK])
    if isinstance(store, Archive):
        expect(await store.full(), [ASK])


OUTPUT_STORE_PROMISES: Sequence[Check] = [
    _keeps_outputs,
    _refers_by_content,
    _misses_what_was_never_kept,
    _refuses_what_is_no_reference,
    _keeps_outputs_beside_the_history,
]
