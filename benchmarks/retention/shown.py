"""A conversation as the text that a model reads: what is counted, and what is searched.

Sizes are in tokens of four characters, for every strategy alike.
"""

from collections.abc import Sequence

from agentic.cli.replay import argument_texts, text_of
from agentic.messages import Message, split_rounds

__all__ = ["CHARS_PER_TOKEN", "argument_texts", "newest", "size_of", "text_of"]

CHARS_PER_TOKEN = 4


def size_of(text: str) -> float:
    """Give the size of a text in tokens."""
    return len(text) / CHARS_PER_TOKEN


def newest(messages: Sequence[Message], tokens: float) -> tuple[str, list[Message]]:
    """Give the newest text that fits, and the messages that are not wholly in it.

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
