"""The reference by which a message is found again that a digest quotes in part.

It is `text-` and the first 12 hex digits of the SHA-256 of what the message says, in UTF-8 with
lone surrogates in their surrogatepass form: it needs no place in the history, and survives every
fold.
"""

import hashlib

from agentic.messages import Message

__all__ = ["message_ref", "quoted"]


def message_ref(message: Message) -> str:
    """Return the name of a message: it depends on what the message says, and on nothing else.

    >>> message_ref(Message("user", "Why is the build red?"))
    'text-16b0eae8ab6a'
    """
    said = quoted(message).encode("utf-8", "surrogatepass")
    return f"text-{hashlib.sha256(said).hexdigest()[:12]}"


def quoted(message: Message) -> str:
    """Return the texts of a message, and the types of what was attached to it.

    >>> from agentic.messages import Media
    >>> quoted(Message("user", "Like this", media=[Media("image/png", b"PNG")]))
    'Like this [attached: image/png]'
    """
    texts = [message.content, *(result.text for result in message.tool_results)]
    said = "\n".join(text for text in texts if text.strip())
    attached = ", ".join(media.media_type for media in message.media)
    return " ".join(part for part in (said, attached and f"[attached: {attached}]") if part)
