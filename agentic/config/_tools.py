"""Tools by reference: functions, tools, and lists of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from agentic import tools
from agentic.config._reference import Reference
from agentic.errors import ConfigError

__all__ = ["RECALL", "check_tool", "resolve_tools"]

RECALL = "recall"
"""The session's own tool."""


def check_tool(text: object, folder: Path) -> str:
    """See that a reference can be meant; nothing is imported.

    Raises:
        ConfigError: it is no reference, or names a file that is not there.
    """
    if not isinstance(text, str):
        raise ConfigError("tools", text, f"{RECALL}, FILE.py:NAME or PACKAGE.MODULE:NAME")
    if text != RECALL:
        Reference.read(text, folder)
    return text


def resolve_tools(text: str, folder: Path) -> Iterator[tools.Tool]:
    """Import what a reference names: a function, a tool, or several of them in a list.

    Raises:
        ConfigError: it cannot be imported, or is no function that can be a tool.
    """
    found = Reference.read(text, folder).resolve()
    for each in found if isinstance(found, list | tuple) else (found,):
        yield _tool(text, each)


def _tool(text: str, found: Any) -> tools.Tool:
    if isinstance(found, type):
        found = _made(text, found)
    if isinstance(found, tools.Tool):
        return found
    try:
        made: tools.Tool = tools.tool(found)
    except ConfigError as error:
        raise attrs.evolve(error, given=text) from error
    return made


def _made(text: str, found: type[Any]) -> Any:
    try:
        return found()
    except Exception as error:
        message = f"cannot create a tool by {text}: {type(error).__name__}: {error}"
        raise ConfigError("tools", text, "a function, or a tool", message=message) from error
