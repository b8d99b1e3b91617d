"""Stored text on a screen: what would move the cursor is left out, what is long is clipped."""

from datetime import datetime

from agentic.cli._printable import printable
from agentic.messages import Message

__all__ = ["clip", "describe", "local_time"]


def clip(text: str, width: int) -> str:
    r"""Put a text on one line of at most so many characters.

    >>> clip("one\n  two three", 10)
    'one two t…'
    """
    line = " ".join(printable(text[: 4 * width + 1_000]).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def describe(message: Message, width: int = 72) -> str:
    """Tell of a message in one line.

    >>> describe(Message("user", "Why is the build red?"))
    'user       Why is the build red?'
    """
    said = [message.content] if message.content.strip() else []
    said += [f"{call.name} {call.arguments}" for call in message.tool_calls]
    said += [f"{result.name}: {result.text}" for result in message.tool_results]
    said += [part.media_type for part in message.media]
    return f"{message.role:<10} {clip(' · '.join(said), max(1, width - 11))}"


def local_time(when: datetime) -> str:
    """Give a time as the clock on the wall shows it."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"
