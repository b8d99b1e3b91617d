"""Who is told what model calls used that were made for somebody else."""

import asyncio
import contextvars
import threading

import pytest

from agentic.errors import ConfigError
from agentic.usage import Usage, report
from agentic.usage._usage import ReportedCall, collect


def test_reports_inside_the_block_are_summed() -> None:
    """With a total, as any sum of usages; None is a provider that does not say."""
    with collect() as collected:
        report(Usage(input=10, output=2))
        report(None)
        report(Usage(input=5, output=1))

    assert collected.usage == Usage(input=15, output=3, total=18)


def test_calls_are_told_one_by_one() -> None:
    """What a call cost depends on its model, and on its own size."""
    with collect() as collected:
        report(Usage(input=10), model="gpt-4o", provider="openai")
        report(Usage(input=5))

    assert collected.calls == [
        ReportedCall(Usage(input=10, total=10), "gpt-4o", "openai"),
        ReportedCall(Usage(input=5, total=5)),
    ]


def test_reports_outside_blocks_are_lost() -> None:
    """Nobody asked: nothing fails, and no later block gets them."""
    report(Usage(input=10))
    with collect() as collected:
        pass
    report(Usage(input=10))

    assert collected.usage == Usage()


def test_the_innermost_block_collects() -> None:
    """What one block has, no other counts again."""
    with collect() as outer:
        with collect() as inner:
            report(Usage(input=1))
        report(Usage(input=2))

    assert (outer.usage.input, inner.usage.input) == (2, 1)


def test_tasks_and_threads_report_to_block() -> None:
    """Those that begin inside it, whatever else runs meanwhile."""

    async def work(tokens: int) -> int:
        with collect() as collected:
            tasks = [asyncio.create_task(call(tokens)) for _ in range(3)]
            await asyncio.gather(*tasks, asyncio.to_thread(report, Usage(input=tokens)))
        return collected.usage.input

    async def call(tokens: int) -> None:
        await asyncio.sleep(0)
        report(Usage(input=tokens))

    async def both() -> list[int]:
        return await asyncio.gather(work(1), work(100))

    assert asyncio.run(both()) == [4, 400]


def test_what_is_no_usage_is_refused() -> None:
    """Also where nobody collects: a provider's own record is to be mapped first."""
    with pytest.raises(ConfigError, match="usage"):
        report({"input_tokens": 3})  # type: ignore[arg-type]


def test_own_thread_reports_with_copied_context() -> None:
    """A thread begins with a context of its own, so it is the copy that tells it of the block."""
    with collect() as collected:
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(report, Usage(input=3)))
        thread.start()
        thread.join()

    assert collected.usage.input == 3
