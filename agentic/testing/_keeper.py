"""What a store promises that keeps whole tool outputs, as checks that `check_store` calls."""

import re
from collections.abc import Sequence
from typing import Any

from agentic.errors import ConfigError, OutputMissing
from agentic.history import Archive, Keeper
from agentic.testing._promises import ASK, Check, expect, expect_refusal, expect_text

__all__ = ["KEEPER_PROMISES"]

_NEVER_KEPT = "out-0123456789abcdef"


async def _keeps_outputs(store: Keeper) -> None:
    """read() gives back what keep() was given: nothing, lines, lone surrogates, a million bytes."""
    for output in (
        "",
        "one\r\ntwo\x85\x00",
        "\ud83d\ude00 \U0001f600 \udfff",
        "0123456789" * 100_000,
    ):
        expect_text(await store.read(await store.keep(output)), output)


async def _refers_by_content(store: Keeper) -> None:
    """The reference is out- and 16 hex digits; equal outputs have the same, others another."""
    first, again, other = [await store.keep(text) for text in ("red", "red", "green")]
    expect_text(again, first)
    if other == first or not re.fullmatch("out-[0-9a-f]{16}", first):
        raise AssertionError(f"It gave {first!r} and {other!r}.")


async def _misses_what_was_never_kept(store: Keeper) -> None:
    """read() of a reference that was never given raises OutputMissing."""
    await expect_refusal(OutputMissing, store.read(_NEVER_KEPT), "read() before any keep()")
    await store.keep("red")
    await expect_refusal(OutputMissing, store.read(_NEVER_KEPT), "read()")


async def _refuses_what_is_no_reference(store: Keeper) -> None:
    """read() of anything but a reference is a ConfigError: nobody reads other files with it."""
    ref = await store.keep("red")
    for other in ("", f"../{ref}", f"{ref}/..", f"{ref}\n", ref.upper(), "out-red", "/etc/passwd"):
        await expect_refusal(ConfigError, store.read(other), f"read({other!r})")


async def _keeps_outputs_beside_the_history(store: Any) -> None:
    """What is kept is no message: load() and full() do not have it."""
    await store.append(ASK)
    await store.keep("red")
    expect(await store.load(), [ASK])
    if isinstance(store, Archive):
        expect(await store.full(), [ASK])


KEEPER_PROMISES: Sequence[Check] = [
    _keeps_outputs,
    _refers_by_content,
    _misses_what_was_never_kept,
    _refuses_what_is_no_reference,
    _keeps_outputs_beside_the_history,
]
