"""What most of a conversation is, in words: why it does not fit."""

from collections import Counter
from collections.abc import Sequence

from agentic.messages import Message, Round, find_task, leading_system_count, split_rounds
from agentic.tokens._messages import count_tokens

__all__ = ["describe_largest"]


def describe_largest(messages: Sequence[Message], *, overhead_tokens: int = 0) -> str:
    """Name what most of a request is, `overhead_tokens` being what is sent beside the messages.

    Sizes are estimated: four characters a token.

    >>> describe_largest([Message("system", "Be brief. " * 100), Message("user", "Why?")])
    'the system prompt'
    >>> describe_largest([Message("user", "Why? " * 100), Message("assistant", "Because.")])
    'the latest request'
    """
    sizes = Counter({"what is sent beside the messages": overhead_tokens})
    rounds, leading = split_rounds(messages), leading_system_count(messages)
    task = find_task(messages)
    for found in rounds:
        name = _named(found, leading, task)
        if name == "older messages" and found is rounds[-1]:
            name = "the newest round"
        sizes[name] += count_tokens(found.messages)
    return max(sizes, key=sizes.__getitem__)


def _named(found: Round, leading: int, task: tuple[int, ...]) -> str:
    at = found.positions[0]
    if found.messages[0].summary is not None:
        return "the summary"
    if at < leading:
        return "the system prompt"
    if found.pinned:
        return "pinned messages"
    if asked := set(task).intersection(found.positions):
        return "the latest request" if task[-1] in asked else "the opening request"
    return "older messages"
