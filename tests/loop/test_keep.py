import asyncio
import contextlib
import logging
from typing import Any

import pytest

from agentic import truncate
from agentic.history import MemoryStore
from agentic.loop import Decision, Result, Runner
from agentic.messages import Message, ToolCall, ToolError, ToolResult
from agentic.testing import ScriptedDecider, ScriptedExecutor

_LINES = "".join(f"line {number}\n" for number in range(100))


class _Keeper(MemoryStore):
    """Notes what it is asked, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def put(self, output: str) -> str:
        self.asked.append("keep")
        return await super().put(output)

    async def append(self, message: Message) -> None:
        self.asked.append(message.role)
        await super().append(message)


def _runner(store: Any, *outputs: object, **options: Any) -> Runner:
    calls = [ToolCall(f"c{number}", f"t{number}") for number in range(len(outputs))]
    answers = {call.name: output for call, output in zip(calls, outputs, strict=True)}
    options = {"truncation": truncate.Options(max_lines=10), **options}
    decider = ScriptedDecider(Decision("", calls), "Done.")
    return Runner(decider, ScriptedExecutor(answers), store, **options)


def _run(store: Any, *outputs: object, **options: Any) -> Result:
    return asyncio.run(_runner(store, *outputs, **options).run("hi"))


def test_cut_output_is_kept_before_message() -> None:
    """The result and its notice carry the reference, in the history and in the archive."""
    store = _Keeper()

    (result,) = _run(store, _LINES).tool_results

    assert result.ref is not None
    assert result.notice.endswith(f"the full text is in {result.ref}.")
    assert asyncio.run(store.get(result.ref)) == _LINES
    assert store.asked == ["user", "assistant", "keep", "tool", "assistant"]
    assert asyncio.run(store.full())[2].tool_results == (result,)


def test_turn_budgets_cuts_are_kept_too() -> None:
    """Only what was cut, and each of them whole."""
    store = _Keeper()

    results = _run(
        store, "a" * 50, "b" * 500, "c" * 900, truncation=None, turn_output_bytes=450
    ).tool_results

    assert [result.ref is None for result in results] == [True, False, False]
    kept = [asyncio.run(store.get(str(result.ref))) for result in results[1:]]
    assert kept == ["b" * 500, "c" * 900]


def test_uncut_outputs_are_not_kept() -> None:
    """A session does not store its outputs twice."""
    store = _Keeper()

    (result,) = _run(store, "short").tool_results

    assert result.ref is None
    assert "keep" not in store.asked


def test_tools_own_output_place_is_kept() -> None:
    """A file that the tool wrote is no second time in the store."""
    store = _Keeper()

    (result,) = _run(store, ToolResult(output=_LINES, ref="full.log")).tool_results

    assert result.ref == "full.log"
    assert "the full text is in full.log" in result.notice
    assert "keep" not in store.asked


def test_cut_failures_message_is_kept_too() -> None:
    """What the tool printed, and why it failed."""
    store = _Keeper()
    given = ToolResult(output="one\n", error=ToolError(_LINES))

    (result,) = _run(store, given).tool_results

    assert asyncio.run(store.get(str(result.ref))) == f"one\n\nError: {_LINES}"
    assert result.error is not None
    assert result.error.message.count("\n") == 10
    assert result.notice.count("the full text is in out-") == 1


@pytest.mark.parametrize("problem", [OSError("disk full"), asyncio.CancelledError(), None])
def test_a_keep_that_fails_harms_nothing(
    problem: BaseException | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The result goes on without a reference, and the log says why."""

    class _Broken(MemoryStore):
        async def put(self, output: str) -> Any:
            if problem:
                raise problem

    with caplog.at_level(logging.ERROR, "agentic.loop"):
        result = _run(_Broken(), _LINES)

    (cut,) = result.tool_results
    assert cut.ref is None
    assert "ask for a narrower part" in cut.notice
    assert result.reply == "Done."
    assert "an output of t0 could not be stored" in caplog.text


def test_unkeeping_store_is_asked_for_nothing() -> None:
    """The ability is optional, as is the store."""

    class _Bare:
        def __init__(self) -> None:
            self.kept: list[Message] = []

        async def append(self, message: Message, /) -> None:
            self.kept.append(message)

        async def load(self) -> list[Message]:
            return list(self.kept)

    assert _run(_Bare(), _LINES).tool_results[0].ref is None
    assert _run(None, _LINES).tool_results[0].ref is None


def test_cancelled_keeping_leaves_no_call_open() -> None:
    """Output and message are stored, then the cancellation passes."""

    class _Slow(_Keeper):
        def __init__(self) -> None:
            super().__init__()
            self.keeping = asyncio.Event()

        async def put(self, output: str) -> str:
            self.keeping.set()
            await asyncio.sleep(0.05)
            return await super().put(output)

    async def cancel() -> list[Message]:
        store = _Slow()
        run = asyncio.create_task(_runner(store, _LINES).run("hi"))
        await store.keeping.wait()
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run
        assert run.cancelled()
        return await store.full()

    full = asyncio.run(cancel())

    assert [message.role for message in full] == ["user", "assistant", "tool"]
    assert full[2].tool_results[0].ref is not None
