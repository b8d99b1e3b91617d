r"""The lines of a session file: format version 1.

An entry is a JSON object on one line, which ends with `\n`:

    {"v":1,"type":"message","message":{...}}     a message was appended
    {"v":1,"type":"replace","messages":[...]}    these messages replaced the history
    {"v":1,"type":"restore","messages":[...]}    a replace was undone, resulting in these messages

Messages that are appended together are an entry each, of which all but the last have `"more":true`.

The entry of a message may have a `"key"`, by which a repeated append finds it (its caller may not
know whether the first one was stored), and then `"redacted": true` once a redaction has changed it.

Messages have the form of `messages.to_plain`. Every entry contains the version, so that a reader
that starts at the end needs no header. An entry of another version or type is skipped if it
contains `"optional": true`, and otherwise refused. Blank lines are skipped.

Fields that this version does not know are kept and ignored. If a later version adds a field that
must not be ignored, it lists the name under `"must_understand"`, in the entry or in the message: a
reader that does not know every name in that list refuses the entry.

The text is UTF-8. A lone surrogate is written as the three bytes of its surrogatepass form, because
two adjacent ones would be read as one character if they were escaped. NaN and infinities are
written as Python's json writes them.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import attrs

from agentic.errors import ConfigError, HistoryConflict, HistoryCorrupt, HistoryTooNew
from agentic.history._validate import check_message
from agentic.messages import Message, from_plain
from agentic.messages._plain import to_json
from agentic.messages._timeline import same

Kind: TypeAlias = Literal["message", "replace", "restore"]
_KINDS: tuple[str, ...] = get_args(Kind)
_VERSION = 1
_LEAST = 3
"""The fields of the entry of a message without a key: `v`, `type` and `message`."""
_KEY = b'"key":'
# Made once: `json.dumps` would make an encoder for each line.
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_UTF_8 = ("utf-8", "surrogatepass")
_loads = json.JSONDecoder().decode
_FIELDS = {"v", "type", "more", "key", "message", "messages", "redacted", "optional"}
_FIELDS |= {"must_understand"}
BEGINNING = b'{"v":'
"""The beginning of every entry, or of a torn one as far as it goes."""

MESSAGE = b'{"v":1,"type":"message",'
"""The beginning of the entry of a message, as this library writes it."""

MORE = MESSAGE + b'"more":true,'
"""The beginning of the entry of a message that was appended together with the next one: it counts
only if that one is there, so such an entry at the end of a file was never acknowledged."""

REDACTION = b'{"v":1,"type":"redact",'
"""The beginning of a redaction entry. Messages loaded before it still contain what was removed."""


@attrs.frozen
class Entry:
    """One step in the life of a history."""

    kind: Kind
    messages: tuple[Message, ...]
    """The message that was appended, or the complete history from this entry on."""
    key: str | None = None
    """The key that a message was appended with."""
    redacted: bool = False
    """Whether a message with a key is no longer what was appended."""

    def check_repeated(self, message: Message, session: str) -> None:
        """Raise HistoryConflict for a second message with a key, unless this one was redacted."""
        # What it says is compared, and the stored message stays: whoever appends it again may have
        # read the clock again meanwhile, or counted the tokens.
        if not self.redacted and not same(self.messages[0], message, "meaning"):
            problem = (
                f"already has another message with the key {self.key!r}: use a key for one message "
                "only, and repeat an append with the same message"
            )
            raise HistoryConflict(session, problem)


def encode_message(message: Message, key: str | None = None) -> bytes:
    r"""Return the line that appends a message.

    >>> encode_message(Message("user", "hello"))
    b'{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"}}\n'

    Raises:
        ConfigError: `message` is not a Message, or could not be read back.
    """
    name = "" if key is None else f'"key":{_dumps(key)},'
    # The version comes first, so that even a torn entry is recognized by how it begins.
    return f'{{"v":1,"type":"message",{name}"message":{_to_json(message)}}}\n'.encode(*_UTF_8)


def encode_view(kind: Literal["replace", "restore"], messages: Iterable[Message]) -> bytes:
    r"""Return the line that makes these messages the history.

    >>> encode_view("replace", [])
    b'{"v":1,"type":"replace","messages":[]}\n'

    Raises what `encode_message` raises.
    """
    texts = ",".join(map(_to_json, messages))
    return f'{{"v":1,"type":"{kind}","messages":[{texts}]}}\n'.encode(*_UTF_8)


def decode(line: bytes, session: str, offset: int = 0) -> Entry | None:
    """Decode an entry from its line, without the newline; return None for one that is skipped.

    Errors name the session and the offset of the line.

    >>> decode(b'{"v":2,"type":"bookmark","optional":true}', "a.jsonl") is None
    True

    Raises:
        HistoryCorrupt: the line is complete but is not an entry.
        HistoryTooNew: only a newer version can read the entry.
    """
    try:
        if line.startswith(MESSAGE):
            return _read(parse_line(line))
        return _read(parse_line(line)) if line.strip() else None
    except _UnknownError as unknown:
        raise HistoryTooNew(session, offset, str(unknown)) from unknown
    except (ValueError, RecursionError) as problem:
        raise HistoryCorrupt(session, offset, str(problem)) from problem


def parse_line(line: bytes) -> Any:
    """Return the JSON data in a line, or raise ValueError, or RecursionError if it is too deep."""
    return _loads(line.decode(*_UTF_8))


def dump_line(plain: dict[str, Any]) -> bytes:
    """Return JSON data as a line, without the newline."""
    return _dumps(plain).encode(*_UTF_8)


def count_summarized(messages: Sequence[Message]) -> int | None:
    """Return how many messages the newest summary among these covers; None without a summary.

    >>> count_summarized([Message("user", "hello")]) is None
    True
    """
    counts = (one.summary.messages_summarized for one in reversed(messages) if one.summary)
    return next(counts, None)


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
        plain = parse_line(line)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(plain, dict) and plain.get("type") == "message"
    key = plain.get("key") if is_message else None
    return key if isinstance(key, str) else None


def _to_json(message: Message) -> str:
    """Return the JSON form of a message that can be read back.

    An unreadable entry would make the whole session unreadable, and entries cannot be removed. So
    the check comes before the write.
    """
    try:
        return to_json(check_message(message))
    except ConfigError:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(
            "message",
            message,
            "messages whose native payload and extra fields are JSON data",
            f"convert what is not JSON ({problem})",
        ) from problem


class _UnknownError(ValueError):
    """An entry contains something unknown to this version that changes its meaning."""


def _read(plain: Any) -> Entry | None:
    if not isinstance(plain, dict):
        raise ValueError("the line is not a JSON object")  # noqa: TRY004  any text that will not do
    try:
        return _read_known(plain)
    except _UnknownError:
        # A newer version decides which of its entries an older reader may skip.
        if plain.get("optional") is True:
            return None
        # Any other JSON file: a newer version of this library would not help.
        if type(plain.get("v")) is not int:
            raise ValueError("the line is not an entry of a session") from None
        raise


def _read_known(plain: dict[str, Any]) -> Entry:
    kind, version = plain.get("type"), plain.get("v")
    # The type, too, as where a file is recognized as a session: true and 1.0 equal 1.
    if type(version) is not int or version != _VERSION or kind not in _KINDS:
        raise _UnknownError(f"an entry of type {kind!r} in version {version!r} of the format")
    # As nearly every entry is; what it says is as below.
    if kind == "message" and len(plain) == _LEAST and type(plain.get("message")) is dict:
        return Entry("message", (_read_message(plain["message"]),))
    names = plain.get("must_understand", [])
    # str(), because an item may be anything, and what is unhashable cannot be looked up.
    if not isinstance(names, list) or not all(name in _FIELDS for name in map(str, names)):
        raise _UnknownError(f"an entry of type {kind!r} with must_understand {names!r}")
    # A message is one item, a view a list of them: the rest is the same.
    plains = [plain.get("message")] if kind == "message" else plain.get("messages")
    if not isinstance(plains, list):
        raise ValueError(f"an entry of type {kind!r} without messages")  # noqa: TRY004  as above
    key = plain.get("key")
    return Entry(
        kind,
        tuple(map(_read_message, plains)),
        key if isinstance(key, str) else None,
        plain.get("redacted") is True,
    )


def _read_message(plain: Any) -> Message:
    try:
        return from_plain(plain)
    except ConfigError as problem:
        # Not damaged but newer: the error should say "update", not "restore the file".
        if problem.name in {"v", "must_understand"}:
            sentence = f"a message with {problem.name} {problem.given!r}"
            raise _UnknownError(sentence) from problem
        raise
