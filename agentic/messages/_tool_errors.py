"""What the model reads of a call that failed: what was wrong, what is allowed, what to do next.

A text is cut to 2,000 characters and a line that says so. The important part of a longer text is at
its start, and the text costs its tokens again at every turn.
"""

import json
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from agentic._base._validate import nearest
from agentic.messages import ToolCall, ToolError

_MAX_CHARS = 2_000


class InvalidArguments(ValueError):
    """Arguments that do not fit; `args` describe the problems for the model."""


def bounded(text: str, max_chars: int = _MAX_CHARS) -> str:
    r"""Return the start of a long text, and a line that says how long it was.

    >>> bounded("0123456789", 4)
    '0123\n[The first 4 of 10 characters.]'
    """
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[The first {max_chars:,} of {len(text):,} characters.]"


def suggest(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests the most similar known name; empty if none is similar.

    >>> suggest("raed", ["run", "read"])
    'Did you mean read? '
    """
    near = nearest(name, names)
    return f"Did you mean {near}? " if near else ""


def not_found(name: str, available: Iterable[str]) -> ToolError:
    """Return the error for a call to a tool that does not exist."""
    names = list(available)
    hint = f"{suggest(name, names)}{_tools(names)}"
    return ToolError(bounded(f"there is no tool {_quoted(name)}. {hint}"), "not_found")


def not_allowed(name: str, available: Iterable[str]) -> ToolError:
    """Return the error for a call to a tool that this caller may not use."""
    problem = f"{_quoted(name)} may not be called here; calling it again will not help"
    return ToolError(bounded(f"{problem}. {_tools(available)}"), "not_allowed")


def refused(name: str, reason: str) -> ToolError:
    """Return the error for a call that somebody was asked to approve, and refused.

    >>> refused("push", "").message
    'push was not run, because approval was refused; do not call it again in the same way'
    """
    more = f": {reason.strip()}" if reason.strip() else "; do not call it again in the same way"
    message = f"{name} was not run, because approval was refused{more}"
    return ToolError(bounded(message), "not_allowed")


def not_asked(name: str, error: BaseException) -> ToolError:
    """Return the error for a call that needed approval, where asking for it failed."""
    problem = f"{name} was not run, because asking for approval failed: {raised(error).message}"
    return ToolError(bounded(problem), "not_run")


def schema_changed(name: str, parameters: object) -> ToolError:
    """Return the error for a call that was written for another schema than the current one."""
    message = (
        f"{name} has changed since the tools were listed, and was not run. List the tools again, "
        f"and call it by its present schema: {json.dumps(parameters, default=dict)}"
    )
    return ToolError(bounded(message), "schema_changed")


def bad_arguments(name: str, problems: Iterable[str]) -> ToolError:
    """Return the error for bad arguments, with one line per problem.

    >>> print(bad_arguments("read", ["path is missing"]).message)
    read was not run, since its arguments do not fit:
    - path is missing
    Correct them and call it again.
    """
    # The lines alone are bounded, so that what to do is read however many there are.
    lines = bounded("\n".join(f"- {problem}" for problem in problems))
    message = f"{name} was not run, since its arguments do not fit:\n{lines}"
    return ToolError(f"{message}\nCorrect them and call it again.", "bad_arguments")


def raised(error: BaseException) -> ToolError:
    """Return the error for a tool that raised: types and messages, without a traceback.

    >>> raised(FileNotFoundError("no file named a.py")).message
    'FileNotFoundError: no file named a.py'
    """
    return ToolError(bounded("\n".join(_sentences(error))), "raised")


def unreadable_result(error: Exception) -> ToolError:
    """Return the error for a tool that ran, but whose return value is not JSON."""
    # Not `not_run`, however useless the answer: what the tool does has been done.
    message = f"the tool ran, but its result cannot be shown: {raised(error).message}"
    return ToolError(message, "raised")


def parse_arguments(call: ToolCall) -> dict[str, Any] | ToolError:
    """Return a call's arguments, or an error that says where they are not valid JSON.

    >>> parse_arguments(ToolCall("c1", "read", '{"path": "a.py"}'))
    {'path': 'a.py'}
    """
    try:
        return call.parse()
    except json.JSONDecodeError as error:
        near = error.doc[max(0, error.pos - 20) : error.pos + 20]
        problem = (
            f"they are not JSON: {error.msg} at line {error.lineno}, column {error.colno}, "
            f"near {near!r}; allowed: one JSON object"
        )
    except ValueError as error:
        problem = f"{error}; allowed: one JSON object"
    return bad_arguments(call.name, [problem])


def _tools(available: Iterable[str]) -> str:
    names = ", ".join(available)
    return f"The tools you may call: {names}." if names else "There are no tools you may call."


def _quoted(name: str) -> str:
    # A model may make up a name of any length.
    return repr(bounded(name, 128))


def _sentences(error: BaseException) -> Iterator[str]:
    # A group only says how many they are: its members say what went wrong.
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _sentences(inner)
    else:
        # The standard library's formatting survives a failing __str__, and includes notes.
        yield "".join(traceback.format_exception_only(error)).strip()
