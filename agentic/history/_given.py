"""What may be handed to a store: messages, and nothing that only looks like one."""

from collections.abc import Iterable

from agentic.errors import ConfigError
from agentic.messages import Message

__all__ = ["check_message", "check_messages"]


def check_message(given: object) -> Message:
    """Give the message back, or say that it is none.

    >>> check_message(Message("user", "hello")).content
    'hello'

    Raises:
        ConfigError: anything but a `Message`.
    """
    if not isinstance(given, Message):
        raise ConfigError("message", given, "a Message", "build one, or call messages.from_plain()")
    return given


def check_messages(given: Iterable[object]) -> list[Message]:
    """Give the messages as a list of one's own.

    >>> check_messages(())
    []

    Raises:
        ConfigError: one of them is anything but a `Message`.
    """
    if not isinstance(given, Iterable):
        raise ConfigError("messages", given, "a list of Messages", "pass [] for none")
    return [check_message(message) for message in given]
