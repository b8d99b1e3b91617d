"""A number of lines or bytes on the command line: `2000`, `50KB`, `1M`, or `all`.

A kilobyte has 1,024 bytes however it is spelled, as in an agent's file.
"""

import re
from typing import Any

import click

from agentic.truncate import Default

__all__ = ["LINES", "SIZE"]

_BITS = {"": 0, "k": 10, "m": 20, "g": 30}
_SIZE = re.compile(r"([0-9]+)\s*([kmg]?)(?:b|ib|)", re.IGNORECASE)


class _Limit(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A whole number from 0, `all` for None, or nothing for the default."""

    def __init__(self, name: str, pattern: re.Pattern[str], allowed: str) -> None:
        self.name = name
        self._pattern = pattern
        self._allowed = allowed

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Default | None:
        """Read the number."""
        if isinstance(value, Default):
            return value
        if not isinstance(value, str):
            return int(value)
        if value.lower() == "all":
            return None
        found = self._pattern.fullmatch(value.strip())
        if not found:
            self.fail(f"{value!r} is not {self._allowed}", param, ctx)
        return _multiply(*found.groups())


def _multiply(digits: str, prefix: str = "") -> int:
    """Give the number that is spelled.

    >>> _multiply("50", "K"), _multiply("800")
    (51200, 800)
    """
    return int(digits) << _BITS[prefix.lower()]


LINES = _Limit("number", re.compile(r"([0-9]+)"), "a whole number, or 'all'")
SIZE = _Limit("size", _SIZE, "a whole size such as 800, 50KB or 1M, or 'all'")
