"""Text from outside on a terminal: it is to be read, not to be carried out."""

import json
import re
from typing import Any

__all__ = ["ended", "escaped", "json_line", "printable"]

_BIDI = "\u202a-\u202e\u2066-\u2069"
"""What turns the order of characters round, so that a line shows something else than it says."""
_CONTROLS = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]|\r(?=\n)|[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_ESCAPED = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Leave out what a terminal would obey, and what would show the text in another order.

    >>> printable("\x1b[2Jred\x07\r\n\tgreen \u202eder")
    'red\n\tgreen der'
    """
    return _CONTROLS.sub("", text)


def escaped(line: str) -> str:
    r"""Write the same characters in a line of JSON as escapes: it means what it meant.

    >>> escaped('"red\u202e"')
    '"red\\u202e"'
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def json_line(plain: Any) -> str:
    r"""Give the line of JSON that a command prints.

    >>> json_line({"title": "ü\x9b"})
    '{"title": "ü\\u009b"}'
    """
    return escaped(json.dumps(plain, ensure_ascii=False))


def ended(text: str) -> str:
    """End a sentence, if it is not ended.

    >>> ended("it is red"), ended("did you mean 'red'?."), ended("it is red.")
    ('it is red.', "did you mean 'red'?", 'it is red.')
    """
    whole = text.rstrip(".")
    return whole if whole.endswith(("?", "!", "…")) else f"{whole}."
