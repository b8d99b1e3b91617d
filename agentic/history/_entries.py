r"""What one line of a session file says. This is the format, version 1.

An entry is a JSON object on a line of its own, and the line ends with `\n`:

    {"v":1,"type":"message","message":{...}}     a message was appended
    {"v":1,"type":"replace","messages":[...]}    the history was replaced, by these
    {"v":1,"type":"restore","messages":[...]}    a replace was taken back, which leaves these

Messages have the form of `messages.to_plain`. The version stands in every entry, so that a reader
who starts at the end needs no header. An entry of another version or type is passed over if it says
`"optional": true`, and refused otherwise. A blank line says nothing.

Fields that this version does not know are kept and change nothing. A later version that adds one
which does lists its name under `"must_understand"`, in the entry or in the message: a reader who
does not know every name there refuses the entry.

The text is UTF-8, and a lone surrogate the three bytes of its surrogatepass form: as escapes, two
that stand side by side would be read as one character. NaN and infinities are written as Python's
json writes them.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import attrs

from agentic.errors import ConfigError, HistoryCorrupt, HistoryTooNew
from agentic.history._validate import check_message
from agentic.messages import Message, from_plain, to_plain

__all__ = [
    "BEGINNING",
    "REDACTION",
    "Entry",
    "Kind",
    "count_summarized",
    "decode",
    "encode_message",
    "encode_view",
]

Kind: TypeAlias = Literal["message", "replace", "restore"]
_KINDS: tuple[str, ...] = get_args(Kind)
_VERSION = 1
_FIELDS = {"v", "type", "message", "messages", "optional", "must_understand"}
BEGINNING = b'{"v":'
"""How every entry begins, a torn one too as far as it goes."""

REDACTION = b'{"v":1,"type":"redact",'
"""How the entry of a redaction begins: what was loaded before it still says what was removed."""


@attrs.frozen
class Entry:
    """One step in the life of a history."""

    kind: Kind
    messages: tuple[Message, ...]
    """The message that was appended, or the complete history from here on."""


def encode_message(message: Message) -> bytes:
    r"""Return the line that appends a message.

    >>> encode_message(Message("user", "hello"))
    b'{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"}}\n'

    Raises:
        ConfigError: no message, or one that could not be read back.
    """
    return _encode({"type": "message", "message": _readable(message)})


def encode_view(kind: Literal["replace", "restore"], messages: Iterable[Message]) -> bytes:
    r"""Return the line that makes these messages the history.

    >>> encode_view("replace", [])
    b'{"v":1,"type":"replace","messages":[]}\n'

    Raises:
        ConfigError: no message, or one that could not be read back.
    """
    return _encode({"type": kind, "messages": [_readable(message) for message in messages]})


def decode(line: bytes, session: str, offset: int = 0) -> Entry | None:
    """Read an entry from its line without the newline; None for one that may be passed over.

    An error names the session, and the offset at which the line begins there.

    >>> decode(b'{"v":2,"type":"bookmark","optional":true}', "a.jsonl") is None
    True

    Raises:
        HistoryCorrupt: the line is complete and yet no entry.
        HistoryTooNew: it is one that only a newer version can read.
    """
    if not line.strip():
        return None
    try:
        return _read(json.loads(line.decode("utf-8", "surrogatepass")))
    except _UnknownError as unknown:
        raise HistoryTooNew(session, offset, str(unknown)) from unknown
    except (ValueError, RecursionError) as problem:
        raise HistoryCorrupt(session, offset, str(problem)) from problem


def count_summarized(messages: Sequence[Message]) -> int | None:
    """Return how many messages the newest summary among these stands for; None without one.

    >>> count_summarized([Message("user", "hello")]) is None
    True
    """
    counts = (one.summary.messages_summarized for one in reversed(messages) if one.summary)
    return next(counts, None)


def _readable(message: Message) -> dict[str, Any]:
    """Return the JSON form of a message, after a look whether it can be read back.

    An entry that cannot be read would make the whole session unreadable, and nothing may be taken
    out of it: so the look comes before the writing.
    """
    plain = to_plain(check_message(message))
    from_plain(plain)
    return plain


def _encode(entry: dict[str, Any]) -> bytes:
    try:
        text = json.dumps({"v": _VERSION, **entry}, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(
            "message",
            entry,
            "messages whose native payload and extra fields are JSON data",
            f"convert what is not JSON ({problem})",
        ) from problem
    return text.encode("utf-8", "surrogatepass") + b"\n"


class _UnknownError(ValueError):
    """Something in an entry that changes its meaning and that this version does not know."""


def _read(plain: Any) -> Entry | None:
    if not isinstance(plain, dict):
        raise ValueError("the line is not a JSON object")  # noqa: TRY004  any text that will not do
    try:
        return _read_known(plain)
    except _UnknownError:
        if plain.get("optional") is True:
            return None
        if type(plain.get("v")) is not int:
            raise ValueError("the line is not an entry of a session") from None
        raise


def _read_known(plain: dict[str, Any]) -> Entry:
    kind, version = plain.get("type"), plain.get("v")
    if version != _VERSION or kind not in _KINDS:
        raise _UnknownError(f"an entry of type {kind!r} in version {version!r} of the format")
    needed = plain.get("must_understand", [])
    if not isinstance(needed, list) or not all(name in _FIELDS for name in map(str, needed)):
        raise _UnknownError(f"an entry of type {kind!r} with must_understand {needed!r}")
    found = [plain.get("message")] if kind == "message" else plain.get("messages")
    if not isinstance(found, list):
        raise ValueError(f"an entry of type {kind!r} without messages")  # noqa: TRY004  as above
    return Entry(kind, tuple(map(_read_message, found)))


def _read_message(plain: Any) -> Message:
    try:
        return from_plain(plain)
    except ConfigError as problem:
        if problem.name in {"v", "must_understand"}:
            told = f"a message with {problem.name} {problem.given!r}"
            raise _UnknownError(told) from problem
        raise
