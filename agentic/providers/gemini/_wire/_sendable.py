"""What typed fields may hold and the API refuses, and what is sent in its place.

A lone surrogate has no UTF-8, so that a JSON body with one is refused: it goes out as U+FFFD. An
argument that is no JSON object goes out as an object that holds its text.
"""

import json
import re
from typing import Any

__all__ = ["arguments_object", "function_name", "sendable"]

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:-]")
_STARTS_A_NAME = re.compile(r"[A-Za-z_]")
_LONGEST_NAME = 128


def sendable(value: Any) -> Any:
    r"""Replace lone surrogates, in a text or in any text inside JSON data.

    >>> sendable({"cut in two": ["\ud83d", "\ud83d\ude00"]}) == {"cut in two": ["\ufffd", "😀"]}
    True
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(str(key)): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def arguments_object(arguments: str) -> dict[str, Any]:
    """Read a call's arguments as the object that the API wants; other text is kept under a key.

    >>> arguments_object('{"path": "a.py"}'), arguments_object(""), arguments_object("{oops")
    ({'path': 'a.py'}, {}, {'arguments': '{oops'})
    """
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments)
        json.dumps(value, allow_nan=False)  # NaN and 1e999 are Python's, not JSON's
    except (ValueError, RecursionError):
        value = None
    kept: dict[str, Any] = sendable(value if isinstance(value, dict) else {"arguments": arguments})
    return kept


def function_name(name: str) -> str:
    """Give a name that the API takes for a function; one that it takes already stays as it is.

    A letter or an underscore, then letters, digits, underscores, dots, colons and dashes, 128
    characters in all: https://ai.google.dev/api/caching#FunctionDeclaration (2026-11).

    >>> function_name("read"), function_name("2 files"), function_name("")
    ('read', '_2_files', 'unnamed')
    """
    allowed = _NOT_IN_A_NAME.sub("_", name) or "unnamed"
    start = "" if _STARTS_A_NAME.match(allowed) else "_"
    return f"{start}{allowed}"[:_LONGEST_NAME]
