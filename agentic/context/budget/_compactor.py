"""Asking a compactor for a summary, with a time limit."""

from agentic._lazy import asyncio
from agentic._protocols import Compactor
from agentic.errors import CompactionRefused
from agentic.messages import Message, SummaryText

__all__ = ["summarize"]


async def summarize(
    compactor: Compactor,
    messages: list[Message],
    instructions: str | None,
    timeout_seconds: float | None,
) -> SummaryText:
    """Ask for a summary; it has no notes if the answer is a plain str.

    Raises:
        CompactionRefused: there is no text in the answer, or the compactor was cancelled.
        TimeoutError: it took too long; it was told to stop and is not waited for.
    """
    guided = getattr(compactor, "compact_with", None)
    if instructions and guided:
        task = asyncio.ensure_future(guided(messages, instructions))
    else:
        task = asyncio.ensure_future(compactor.compact(messages))
    try:
        finished, _ = await asyncio.wait({task}, timeout=timeout_seconds)
    finally:
        task.cancel()
        task.add_done_callback(_retrieve)
    if not finished:
        raise TimeoutError(f"the compactor took longer than {timeout_seconds} s")
    if task.cancelled():
        raise CompactionRefused("the compactor was cancelled")
    content = task.result()
    if not isinstance(content, str) or not content.strip():
        raise CompactionRefused(f"the compactor answered {content!r:.80}, which is no summary")
    return SummaryText(content.strip(), SummaryText(content).notes)


def _retrieve(task: "asyncio.Future[str]") -> None:
    """Take note of an error that comes after the end, lest asyncio log it as nobody's."""
    if not task.cancelled():
        task.exception()
