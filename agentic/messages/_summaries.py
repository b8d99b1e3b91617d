"""Where a history begins: the system messages at its start, and a summary among them."""

import re
from collections.abc import Sequence

from agentic.messages._message import ContextSummary, Message
from agentic.messages._rounds import leading_system_count

__all__ = ["find_summary", "prefix_length", "read_summary"]

_HEADING = re.compile(r"\[Context Summary - (\d{1,9}) previous messages\]\n")


def find_summary(messages: Sequence[Message]) -> ContextSummary | None:
    """Return the summary that a history begins with, if it was compacted before.

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


def read_summary(text: str) -> ContextSummary | None:
    """Read the text of a summary message; None if it has not the heading of one.

    Only look where nobody but the system speaks: what a user or a tool says may be forged.

    >>> text = ContextSummary("- the parser is done", 12).to_message().content
    >>> read_summary(text).content, read_summary(text).messages_summarized
    ('- the parser is done', 12)
    """
    found = _HEADING.match(text)
    if found is None:
        return None
    content = text[found.end() :]
    # Below the heading `to_message` puts a mark, which is no part of the summary.
    return ContextSummary(content.partition("\n\n")[2] or content, int(found.group(1)))
