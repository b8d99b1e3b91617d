"""Which limit of a policy a conversation has reached. Sizes in tokens."""

from agentic.context.budget._policy import Policy
from agentic.events import CompactionReason
from agentic.messages import Message, find_summary, prefix_length

__all__ = ["find_trigger", "is_long"]


def find_trigger(policy: Policy, messages: list[Message], tokens: int) -> CompactionReason | None:
    """Name what asks for a compaction of a conversation of this size; None if nothing does.

    >>> talk = [Message("user", "Why?")] * 12
    >>> find_trigger(Policy(0, max_messages=12), talk, 60)
    <CompactionReason.MESSAGES: 'messages'>
    >>> find_trigger(Policy(0, max_messages=12, max_tokens=60), talk, 60)
    <CompactionReason.TOKENS: 'tokens'>
    """
    over = policy.context_window and tokens > policy.available_tokens
    in_all = len(messages) - prefix_length(messages)
    former = find_summary(messages)
    fresh = in_all - (former.messages_kept if former else 0)
    # Where a summary took more room than the plan left to it, K may still be reached. Without a new
    # message another compaction would only drop what this one was told to keep.
    long = is_long(policy, in_all) and fresh > 0
    if long and policy.max_tokens is not None and tokens >= policy.max_tokens:
        # The limit that is reached first says what stays, also where one step passes both.
        by_window = over and policy.max_tokens > policy.available_tokens
        return CompactionReason.WINDOW if by_window else CompactionReason.TOKENS
    if over:
        return CompactionReason.WINDOW
    many = policy.max_messages is not None and fresh >= policy.max_messages
    return CompactionReason.MESSAGES if long and many else None


def is_long(policy: Policy, number: int) -> bool:
    """Return whether so many messages, leading ones aside, are enough for K and N to count."""
    return number >= policy.min_recent_messages + policy.trigger_margin
