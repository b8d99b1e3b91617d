"""Where a history begins: the system messages at its start, and a summary among them."""

from collections.abc import Sequence

from agentic.messages._message import ContextSummary, Message
from agentic.messages._rounds import leading_system_count

__all__ = ["find_summary", "prefix_length"]


def find_summary(messages: Sequence[Message]) -> ContextSummary | None:
    """Give the summary that a history begins with, if it was compacted before.

    >>> find_summary([ContextSummary("done", 3).to_message()]).messages_summarized
    3
    """
    length = prefix_length(messages)
    return messages[length - 1].summary if length else None


def prefix_length(messages: Sequence[Message]) -> int:
    """Count the system messages at the start, up to a summary if one is among them.

    What follows the summary was kept by the compaction that made it, system messages included:
    `leading_system_count` counts those too.

    >>> prefix_length([Message("system", "Be brief."), Message("user", "Why?")])
    1
    """
    length = leading_system_count(messages)
    return next((i + 1 for i in range(length) if messages[i].summary), length)
