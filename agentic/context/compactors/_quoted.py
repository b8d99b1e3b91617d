"""A message as a digest quotes it, and the reference by which it is found again.

A reference is `text-` and the first 12 hex digits of the SHA-256 of the quote, in UTF-8 with lone
surrogates in their surrogatepass form: it needs no place in the history, and survives every fold.
"""

import hashlib

from agentic.messages import Message

__all__ = ["message_ref", "quoted", "text_ref"]


def message_ref(message: Message) -> str:
    """Name a message by what it says, as the cuts in a digest do whose `recall` is set.

    >>> message_ref(Message("user", "Why is the build red?"))
    'text-16b0eae8ab6a'
    """
    return text_ref(quoted(message))


def quoted(message: Message) -> str:
    """Give the texts of a message, and the types of what was attached to it.

    >>> from agentic.messages import Media
    >>> quoted(Message("user", "Like this", media=[Media("image/png", b"PNG")]))
    'Like this [attached: image/png]'
    """
    texts = [message.content, *(result.text for result in message.tool_results)]
    said = "\n".join(text for text in texts if text.strip())
    attached = ", ".join(media.media_type for media in message.media)
    return " ".join(part for part in (said, attached and f"[attached: {attached}]") if part)


def text_ref(quote: str) -> str:
    """Give the reference of a quote that is whole."""
    return f"text-{hashlib.sha256(quote.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
