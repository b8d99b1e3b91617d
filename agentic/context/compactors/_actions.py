"""What a tool call was meant to do."""

import json
import re
from collections.abc import Mapping
from typing import Any

import attrs

from agentic.context.compactors._lines import one_line, shorten
from agentic.context.compactors._tools import ToolKind, ToolTable
from agentic.messages import ToolCall

__all__ = ["Action", "read_action"]

_LABEL_LIMIT = 160
_VALUE_LIMIT = 48

_PATCHED_FILE = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(?!/dev/null)(\S[^\n\t]*)",
    re.MULTILINE,
)
_RANGES = (
    ("offset", "limit"),
    ("start_line", "end_line"),
    ("startLine", "endLine"),
    ("line_start", "line_end"),
)


@attrs.frozen
class Action:
    """What a call was meant to do."""

    kind: ToolKind | None
    """None for a tool that the table does not know, or a call that names no path or command."""
    label: str
    """One line that names the call for a reader: a command, or the tool and its arguments."""
    paths: tuple[str, ...] = ()
    lines: str = ""
    """Which lines of the file, where the call says so: `10-60`."""
    arguments: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """What the call was given; nothing if it was no JSON object."""


def read_action(call: ToolCall, table: ToolTable) -> Action:
    """Tell what a call was meant to do. Arguments that are no JSON object are shown as they are.

    >>> read_action(ToolCall("c1", "bash", '{"command": "make test"}'), ToolTable())
    Action(kind='run', label='make test', paths=(), lines='')
    >>> read_action(ToolCall("c1", "find_flight", '{"to": "Oslo"}'), ToolTable()).label
    'find_flight to=Oslo'
    """
    arguments = _arguments(call)
    kind = table.kind_of(call.name, arguments)
    if kind == "run" and (command := table.command_of(arguments).strip()):
        return Action("run", _command_label(command), arguments=arguments)
    paths = () if kind in {None, "run"} else _paths(call, arguments, table)
    if not paths:
        return Action(None, _call_label(call, arguments), arguments=arguments)
    label = one_line(shorten(f"{call.name} {', '.join(paths)}", _LABEL_LIMIT))
    lines = _line_range(arguments)
    return Action(kind, label, paths, lines, arguments)


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    # Arguments nested too deeply raise a RecursionError.
    try:
        return call.parse()
    except (ValueError, RecursionError):
        return {}


def _command_label(command: str) -> str:
    first, _, rest = command.partition("\n")
    more = f" [+{rest.count(chr(10)) + 1} lines]" if rest else ""
    return (one_line(shorten(first, _LABEL_LIMIT)) or "a blank command") + more


def _call_label(call: ToolCall, arguments: Mapping[str, Any]) -> str:
    named = [f"{key}={_value(value)}" for key, value in arguments.items()]
    said = " ".join(named) if named else call.arguments.strip("{} \n")
    return one_line(shorten(f"{call.name} {said}", _LABEL_LIMIT)) or "a tool without a name"


def _value(value: object) -> str:
    if isinstance(value, str):
        return shorten(value, _VALUE_LIMIT)
    try:
        return shorten(json.dumps(value, ensure_ascii=False), _VALUE_LIMIT)
    except RecursionError:
        return "..."


def _paths(call: ToolCall, arguments: Mapping[str, Any], table: ToolTable) -> tuple[str, ...]:
    """Give the paths that a call names, if need be in the head lines of a patch."""
    named = table.paths_of(arguments)
    texts = [value for value in arguments.values() if isinstance(value, str)] or [call.arguments]
    found = named or [path for text in texts for path in _PATCHED_FILE.findall(text)]
    return tuple(dict.fromkeys(tidy for path in found if (tidy := one_line(path))))


def _line_range(arguments: Mapping[str, Any]) -> str:
    for first_name, last_name in _RANGES:
        first, last = arguments.get(first_name), arguments.get(last_name)
        if isinstance(first, int) and isinstance(last, int):
            return f"{first}-{first + last - 1 if last_name == 'limit' else last}"
    match arguments.get("view_range"):
        case [int(first), int(last)] if last > 0:
            return f"{first}-{last}"
    return ""
