"""What an append with a key finds: the entry that was appended with that key, if there is one.

An append with a key may be repeated, by a caller that does not know whether the first one was
stored. The caller may have read its clock again meanwhile, or counted its tokens, so what is
compared is what the message says: role, text, calls and results. The stored message stays.
"""

import hashlib
import json

from agentic.errors import HistoryConflict
from agentic.history._entries import Entry
from agentic.history._replace import say_the_same
from agentic.messages import Message

__all__ = ["check_repeated", "hash_key", "read_key"]

_KEY = b'"key":'


def check_repeated(stored: Entry, message: Message, session: str) -> None:
    """Raise if a key is used for a second message. After a redaction, nobody can tell.

    Raises:
        HistoryConflict: the stored entry holds another message.
    """
    if not stored.redacted and not say_the_same(stored.messages[0], message):
        problem = (
            f"already has another message with the key {stored.key!r}: use a key for one message "
            "only, and repeat an append with the same message"
        )
        raise HistoryConflict(session, problem)


def hash_key(key: str) -> int:
    """Return the number by which a database finds a key: 8 bytes in its index, whatever the key.

    >>> hash_key("run-7/1") == hash_key("run-7/1") != hash_key("run-7/2")
    True
    """
    content = key.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(content, digest_size=8, person=b"key").digest()
    # Signed, as the 64-bit integers of both databases are.
    return int.from_bytes(digest, signed=True)


def read_key(line: bytes) -> str | None:
    """Return the key in the line of an entry; None if it has none or cannot be read.

    >>> read_key(b'{"v":1,"type":"message","key":"k1","message":{"v":1,"role":"user"}}')
    'k1'
    """
    # In a string of JSON the quotation marks would be escaped: most lines are never decoded.
    if _KEY not in line:
        return None
    try:
        plain = json.loads(line.decode("utf-8", "surrogatepass"))
    # The json module has no error of its own for a line that is nested too deeply.
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(plain, dict) and plain.get("type") == "message"
    key = plain.get("key") if is_message else None
    return key if isinstance(key, str) else None
