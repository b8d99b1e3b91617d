"""What a model may ask of the recall tool, and what it must not."""

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["CHARS", "DESCRIPTION", "PARAMETERS", "PLACES", "Asked", "InvalidRecall", "check"]

PLACES = (8, 30)
CHARS = (6_000, 12_000)
"""By default, and at most. The most is below the 51,200 bytes that a tool's output may have."""
_QUERY_CHARS = 1_000
_MOST_SKIPPED = 10_000

DESCRIPTION = """\
Find again what was said and done in this session and is no longer in front of you: messages that \
a summary replaced, tool outputs that were cleared, the full text of outputs that were cut short.
Search with `query`: plain text, or a regular expression with regex=true; case is ignored, the \
newest comes first. Then read on with `ref`, the reference that a place, a notice or a placeholder \
names: out-... is an output kept whole, text-... a message that a summary cut, a tool call's id \
its result, m17 the 17th message, m17.2 the second result in it."""

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to search for."},
        "ref": {
            "type": "string",
            "description": "What to read. With a query, what to search in.",
        },
        "regex": {
            "type": "boolean",
            "description": "Whether the query is a regular expression (Python's).",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "How many places to skip; reading, at which character to begin.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": f"How many places to show ({PLACES[0]} unless given, {PLACES[1]} at "
            f"most); reading, how many characters ({CHARS[0]}, {CHARS[1]} at most).",
        },
    },
}
_TYPES: dict[str, type] = {"query": str, "ref": str, "regex": bool, "offset": int, "limit": int}


class InvalidRecall(Exception):
    """What the model asked for cannot be done; the text says why and what to do."""


@attrs.frozen(kw_only=True)
class Asked:
    """The arguments of a call, checked."""

    query: str = ""
    ref: str = ""
    regex: bool = False
    offset: int = 0
    limit: int | None = None

    def within(self, bounds: tuple[int, int]) -> int:
        """Return how much to show: the default, or what was asked, up to the most."""
        usual, most = bounds
        return usual if self.limit is None else min(self.limit, most)


def check(arguments: Mapping[str, Any]) -> Asked:
    """Read the arguments of a call; null says nothing.

    >>> check({"query": "port", "limit": None}).within(PLACES)
    8

    Raises:
        InvalidRecall: one of them cannot be meant.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for name, value in given.items():
        kind = _TYPES.get(name)
        if kind is None:
            raise InvalidRecall(f"there is no argument {name!r}: pass {', '.join(_TYPES)}")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise InvalidRecall(
                f"{name} is {value!r:.80}: pass a JSON {PARAMETERS['properties'][name]['type']}"
            )
    if given.get("offset", 0) < 0 or given.get("limit", 1) < 1:
        raise InvalidRecall("pass an offset from 0 and a limit from 1, or leave them out")
    if not given.get("query") and not given.get("ref"):
        raise InvalidRecall("pass a query to search for, or a ref to read")
    if len(given.get("query", "")) > _QUERY_CHARS:
        raise InvalidRecall(
            f"the query is longer than {_QUERY_CHARS:,} characters: pass a part of it"
        )
    if given.get("query") and given.get("offset", 0) > _MOST_SKIPPED:
        raise InvalidRecall(
            f"a search skips {_MOST_SKIPPED:,} places at most: search for something less frequent"
        )
    return Asked(**given)
