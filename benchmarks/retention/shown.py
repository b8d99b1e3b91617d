"""A conversation as the text that a model reads: what is counted, and what is searched.

Sizes are in tokens of four characters, for every way alike.
"""

from collections.abc import Iterator, Sequence

import attrs

from agentic.messages import Message, ToolCall, split_rounds

__all__ = ["CHARS_PER_TOKEN", "CharSize", "argument_texts", "newest", "size_of", "text_of"]

CHARS_PER_TOKEN = 4


@attrs.frozen
class CharSize:
    """Counts as this benchmark does."""

    def count(self, text: str, /) -> int:
        """Return the size of a text in whole tokens."""
        return -(-len(text) // CHARS_PER_TOKEN)


def size_of(text: str) -> float:
    """Return the size of a text in tokens."""
    return len(text) / CHARS_PER_TOKEN


def text_of(messages: Sequence[Message]) -> str:
    """Return messages as a text: contents, calls by name and the texts in them, outputs."""
    return "\n".join(part for message in messages for part in _parts(message) if part)


def argument_texts(call: ToolCall) -> list[str]:
    """Return the values in the arguments of a call; all of it as it is if it cannot be read."""
    try:
        return list(_values(call.parse()))
    except (ValueError, RecursionError):
        return [call.arguments]


def newest(messages: Sequence[Message], tokens: float) -> tuple[str, list[Message]]:
    """Return the newest text that fits, and the messages that are not wholly in it.

    Whole rounds while there is room; of the one before them the last lines.
    """
    room = int(tokens * CHARS_PER_TOKEN)
    kept: list[str] = []
    start = len(messages)
    for found in reversed(split_rounds(messages)):
        text = text_of(found.messages)
        if len(text) + 1 > room:
            kept.append(_last_lines(text, room))
            break
        kept.append(text)
        room -= len(text) + 1
        start = min(start, found.positions[0])
    return "\n".join(text for text in reversed(kept) if text), list(messages[:start])


def _last_lines(text: str, room: int) -> str:
    if room <= 0:
        return ""
    tail = text[-room:]
    return tail[tail.find("\n") + 1 :]


def _parts(message: Message) -> Iterator[str]:
    yield message.content
    for call in message.tool_calls:
        yield call.name
        yield from argument_texts(call)
    for result in message.tool_results:
        yield result.text


def _values(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _values(each)
    else:
        yield str(value)
