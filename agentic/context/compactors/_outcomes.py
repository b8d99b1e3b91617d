r"""How a tool call went, read off its result.

A result that carries an error failed. Besides, a command failed if its output states an exit code
other than 0; and any call failed if the first line of its output, or the last, starts like an error
(`Error:`, `fatal:`, `Traceback`, `FAILED`, `SomeError: ...`) or ends like one of a shell's.
"""

import re

import attrs

from agentic.context.compactors._lines import head_lines, line_where, lowered, shorten, tail_lines
from agentic.context.compactors._tools import ToolKind
from agentic.messages import ToolResult

__all__ = ["Outcome", "read_outcome"]

_LINE_LIMIT = 240
_CODE_WINDOW = 200

# For text in lower case: `re` is slow where case does not matter.
_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exit(?:ed)?(?: with)?(?: exit)? (?:code|status))"
    r"[\"'>:=\s]{0,4}(-?[0-9]{1,10})\b"
)
_STATUS_LINE = re.compile(
    rf"\W{{0,3}}(?:(?:the )?(?:command|process) )?{_EXIT_CODE.pattern}\W*(?:\w+>)?"
)
_NO_OUTPUT = "(no output)"
_ERROR_START = re.compile(
    r"(?i:error|fatal|panic|exception|npm err(?:or|!))\b[^:]{0,40}:"
    r"|Traceback \(most recent|FAIL(?:ED)?\b|[\w.]*(?:Error|Exception)\s*:"
)
_ERROR_END = re.compile(
    r": (?:No such file or directory|(?:command )?not found|Permission denied)$|: No module named"
)
_ERROR_WORD = re.compile(
    r"\b(?:errors?|fatal|panic|failed|failures?|exception|cannot|denied|refused|not found|"
    r"no such file|no module|unable|undefined|unexpected|invalid)\b"
)
_ERROR_NAME = re.compile(r"E(?<=\wE)(?:rror|xception)\b")


@attrs.frozen
class Outcome:
    """How a call went."""

    failed: bool
    exit_code: int | None = None
    """None where the output states none."""
    lines: tuple[str, ...] = ()
    """The line that says most; of a failure the line that names the error, and the last one."""


def read_outcome(result: ToolResult, kind: ToolKind | None) -> Outcome:
    r"""Tell how a call went.

    >>> read_outcome(ToolResult("c1", "bash", "ran 9\nTypeError: no len()\nexit code: 1"), "run")
    Outcome(failed=True, exit_code=1, lines=('TypeError: no len()',))
    """
    text = f"{result.output}\n{result.error.message}" if result.error else result.output
    exit_code = _exit_code(text) if kind == "run" else None
    first = next(filter(_says_more, head_lines(text)), "")
    last = next(filter(_says_more, tail_lines(text)), "")
    failed = bool(result.error or exit_code) or _is_error(first) or _is_error(last)
    if not failed:
        return Outcome(failed, exit_code, _shown(last if kind == "run" else first))
    return Outcome(failed, exit_code, _shown(line_where(_error_at, text) or first, last))


def _exit_code(text: str) -> int | None:
    """Find the exit code that an output states at its end or at its start."""
    for window in (text[-_CODE_WINDOW:], text[:_CODE_WINDOW]):
        low = window.lower()
        if _may_state_code(low) and (stated := _EXIT_CODE.findall(low)):
            return int(stated[-1])
    return None


def _may_state_code(low: str) -> bool:
    """Look for a word first: that is several times faster than `re`, and few texts have one."""
    return "code" in low or "status" in low


def _is_error(line: str) -> bool:
    return bool(_ERROR_START.match(line) or (": " in line and _ERROR_END.search(line)))


def _error_at(text: str) -> int:
    """Find the first word that tells of an error; -1 if there is none."""
    found = _ERROR_WORD.search(lowered(text)), _ERROR_NAME.search(text)
    return min((each.start() for each in found if each), default=-1)


def _says_more(line: str) -> bool:
    """Tell whether a line does not only state how a command ended."""
    low = line.lower()
    return low != _NO_OUTPUT and not (_may_state_code(low) and _STATUS_LINE.fullmatch(low))


def _shown(*lines: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(shorten(line, _LINE_LIMIT) for line in lines if line))
