"""What a store accepts and can return: messages, names, titles, paths and times.

What checks an argument raises ConfigError, which says what is allowed.

A time at either end of `datetime`'s range, which some time zones cannot represent, becomes the
nearest that all can.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

from agentic.errors import ConfigError
from agentic.messages import Message

_SESSION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_KEY_CHARACTERS = 200
_TITLE_CHARACTERS = 200
_NO_LINE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that may not occur in a single line of valid text."""
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)
_MIDDLE_YEAR = 5000


def absolute(path: Any) -> Path:
    """Return an absolute path, so that a later change of directory does not affect it.

    A link is followed: by its own name it would have outputs and a lock of its own.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise ConfigError("path", path, "a str or a Path", "pass the path of the session")
    try:
        # Here, with a remedy: open() would raise a bare ValueError at the first write.
        octets = os.fsencode(path)
    except UnicodeEncodeError:
        octets = b"\0"
    if b"\0" in octets:
        kind = "a path without NUL and without characters that no file name has"
        raise ConfigError("path", path, kind, "check where the name comes from")
    full = Path(path).absolute()
    return Path(os.path.realpath(full)) if full.is_symlink() else full


def check_key(key: object) -> str | None:
    """Return the key of an append, or raise if it is not allowed; None means no key.

    >>> check_key("run-7/turn-2/reply")
    'run-7/turn-2/reply'
    """
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= _KEY_CHARACTERS):
        kind = f"a str of 1 to {_KEY_CHARACTERS} characters"
        raise ConfigError("key", key, kind, "shorten it, for instance to its hash")
    return key


def check_keys(keys: object, count: int) -> list[str | None]:
    """Return the keys of so many messages that are appended together.

    >>> check_keys("reply", 1), check_keys(None, 2), check_keys(["reply", None], 2)
    (['reply'], [None, None], ['reply', None])
    """
    if keys is None:
        return [None] * count
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        given: Sequence[object] = [keys]
    else:
        given = keys
    names = [check_key(key) for key in given]
    distinct = {name for name in names if name is not None}
    if len(names) != count or len(distinct) != len(names) - names.count(None):
        kind = f"{count} keys, each another one" if count != 1 else "one key"
        raise ConfigError("key", keys, kind, "give each message a different key, or None")
    return names


def check_lease(store: Any, _: object, lease: object) -> None:
    """Validate the lease of a store: None, or one of its session."""
    if lease is not None and getattr(lease, "session_id", None) != store.session_id:
        kind = f"a Lease of session {store.session_id!r}"
        raise ConfigError("lease", lease, kind, "acquire one for this session")


def check_lease_terms(owner: object, seconds: object) -> None:
    """Raise unless a lease has a valid owner and lasts for more than no time.

    >>> check_lease_terms("worker-1", 30)
    """
    # PostgreSQL's type `text` cannot hold NUL.
    if not isinstance(owner, str) or not 0 < len(owner) <= _KEY_CHARACTERS or "\0" in owner:
        kind = f"a str of 1 to {_KEY_CHARACTERS} characters without NUL"
        raise ConfigError("owner", owner, kind, "pass the id of the worker")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < inf:
        raise ConfigError("seconds", seconds, "a number > 0", "try 30")


def check_message(message: object) -> Message:
    """Return the message, or raise if it is not one.

    >>> check_message(Message("user", "hello")).content
    'hello'
    """
    if not isinstance(message, Message):
        raise ConfigError(
            "message", message, "a Message", "build one, or call messages.from_plain()"
        )
    return message


def check_messages(given: Iterable[object]) -> list[Message]:
    """Return the messages as a new list.

    >>> check_messages(())
    []
    """
    if not isinstance(given, Iterable):
        raise ConfigError("messages", given, "a list of Messages", "pass [] for none")
    return [check_message(message) for message in given]


def check_session_id(name: object) -> str:
    """Return the id, or raise if it could lead out of its folder.

    >>> check_session_id("monday-1.b")
    'monday-1.b'
    """
    if not isinstance(name, str) or not is_session_id(name):
        raise ConfigError(
            "session_id",
            name,
            "1 to 128 of the characters A-Z a-z 0-9 . _ -, with no dot or dash at the start",
            "choose such a name; a title may hold any text",
        )
    return name


def is_session_id(text: str) -> bool:
    """Return whether a text has the form of a session id.

    >>> is_session_id("../monday")
    False
    """
    return _SESSION_ID.fullmatch(text) is not None


def check_title(title: object) -> str:
    """Return the title, or raise if it is not allowed.

    >>> check_title("Why the build is red")
    'Why the build is red'
    """
    if not isinstance(title, str) or not is_title(title):
        raise ConfigError(
            "title",
            title,
            f"one line of text, up to {_TITLE_CHARACTERS} characters",
            'shorten it; "" removes a title',
        )
    return title


def is_title(text: str) -> bool:
    r"""Return whether a text may be a title.

    >>> is_title("two\nlines")
    False
    """
    return len(text) <= _TITLE_CHARACTERS and not any(
        unicodedata.category(character) in _NO_LINE for character in text
    )


def in_utc(when: datetime) -> datetime:
    """Return a time in UTC, or the nearest that can be represented; no time zone means UTC.

    >>> in_utc(datetime.fromisoformat("0001-01-01T00:00:00+14:00")).isoformat()
    '0001-01-02T00:00:00+00:00'
    """
    try:
        utc = when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    # The time zone leads out of datetime's range, so the year says at which end.
    except OverflowError:
        return _EARLIEST if when.year < _MIDDLE_YEAR else _LATEST
    return min(max(utc, _EARLIEST), _LATEST)


def from_timestamp(seconds: float) -> datetime:
    """Return the time that many seconds after the epoch, or the nearest that can be represented.

    >>> from_timestamp(1e300).year
    9999
    """
    try:
        return in_utc(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return _LATEST if seconds > 0 else _EARLIEST
