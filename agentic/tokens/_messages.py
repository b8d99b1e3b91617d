"""Counting messages and conversations.

A message is its texts (content, reasoning, names and arguments of calls, outputs, errors and
notices of results), a flat estimate for each media part, and an overhead for the role and the
delimiters that a provider adds.
"""

from collections.abc import Iterable, Iterator

from agentic._given import is_whole
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens._counter import Counter, approx_token_counter

__all__ = ["count_message_tokens", "count_tokens", "message_texts"]


def count_message_tokens(
    message: Message,
    counter: Counter = approx_token_counter,
    *,
    per_message_overhead: int = 4,
    tokens_per_media: int = 600,
) -> int:
    """Count one message.

    >>> count_message_tokens(Message("user", "12345678"))
    6

    Raises:
        ConfigError: something that is no Message, a size below 0.
    """
    if not isinstance(message, Message):
        raise ConfigError(
            "message", message, "a messages.Message", "make one by Message(role, content)"
        )
    is_whole(0, per_message_overhead, "per_message_overhead", "leave it at 4")
    is_whole(0, tokens_per_media, "tokens_per_media", "leave it at 600")
    texts = sum(counter.count(text) for text in message_texts(message))
    return texts + per_message_overhead + tokens_per_media * len(message.media)


def count_tokens(
    messages: Iterable[Message],
    counter: Counter = approx_token_counter,
    *,
    per_message_overhead: int = 4,
    tokens_per_media: int = 600,
) -> int:
    """Count a conversation: the sum over its messages.

    >>> count_tokens([Message("user", "12345678"), Message("assistant", "1234")])
    11
    >>> count_tokens([])
    0
    """
    return sum(
        count_message_tokens(
            message,
            counter,
            per_message_overhead=per_message_overhead,
            tokens_per_media=tokens_per_media,
        )
        for message in messages
    )


def message_texts(message: Message) -> Iterator[str]:
    """Give every text of a message that a provider counts; empty ones are left out."""
    if message.content:
        yield message.content
    if message.reasoning:
        yield message.reasoning
    for call in message.tool_calls:
        yield call.name
        yield call.arguments
    for result in message.tool_results:
        if result.output:
            yield result.output
        if result.error:
            yield result.error.message
        if result.notice:
            yield result.notice
