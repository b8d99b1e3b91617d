"""How a call went: whether it failed, its exit code, and the line that names the error.

A result that carries an error failed. Otherwise the exit code that an output shows decides, and
where it shows none, a short table of what shells, interpreters and editing tools print. The words
are those of programs, which hardly any program translates.
"""

import re

from agentic.context.digest._cut import LINE, cut, one_line
from agentic.messages import ToolResult

__all__ = ["ENDS", "error_line", "exit_code", "failed", "last_line", "shows_error"]

ENDS = 400
"""Characters at either end of an output in which an exit code or a refusal is looked for: harnesses
write them around what the command printed, and a file that is printed may hold any text."""

_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exited with(?: code| status)?|exit(?: code| status))"
    r"[\"'>:=\s]*(-?[0-9]+)\b"
)
_TRACEBACK = "Traceback (most recent call last)"
_SHELL_ERROR = re.compile(
    r": (?:(?:command )?not found|No such file or directory|Permission denied)$"
    r"|: No module named \S+$|^(?:fatal|error|npm error): ",
    re.MULTILINE,
)
_REFUSAL = re.compile(
    r"(?:Error|error|ERROR)\b[^\n]*:|<tool_use_error>|[^\n]*(?:String to replace not found|"
    r"No such file|Could not find|not found in|no changes|did not apply)"
)
_NAMED_ERROR = re.compile(
    r"^[ \t]*(?:E +)?[\w.]*(?:Error|Exception|Exit|Interrupt)\b(?::.*)?$", re.MULTILINE
)
_ERROR_WORD = re.compile(
    r"\b(?:error|errors|fatal|panic|failed|failure|exception|cannot|denied|refused|not found|"
    r"no such|no module|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z_]+>")


def failed(result: ToolResult, *, is_command: bool) -> bool:
    """Return whether a call failed."""
    if result.error is not None:
        return True
    if not is_command:
        return bool(_REFUSAL.match(result.output))
    code = exit_code(result)
    return shows_error(result) if code is None else code != 0


def exit_code(result: ToolResult) -> int | None:
    r"""Return the exit code that a result states; None if it states none.

    >>> exit_code(ToolResult("c1", "bash", "no rule\nexit code: 2"))
    2
    """
    ends = f"{result.output[:ENDS]}\n{result.output[ENDS:][-ENDS:]}"
    stated = _stated_codes(ends + _error_text(result))
    return int(stated[-1]) if stated else None


def shows_error(result: ToolResult) -> bool:
    """Return whether an interpreter or a shell said that a command failed, whatever the code."""
    # In a long output such a line may be the text of a file.
    is_short = len(result.output) <= ENDS
    is_refused = is_short and _SHELL_ERROR.search(_tidy(result.output)) is not None
    return is_refused or _TRACEBACK in result.output


def error_line(result: ToolResult) -> str:
    """Return the line that names the error, if it is long the beginning; empty if none does."""
    text = _tidy(result.output + _error_text(result))
    # The last error of a traceback is the one that was raised; a bare name says too little.
    named = sorted(_NAMED_ERROR.findall(text), key=lambda line: ":" in line)
    return cut(one_line(named[-1] if named else _worded(text)), LINE)


def last_line(result: ToolResult) -> str:
    """Return the last line that a program printed, if it is a short one."""
    lines = _tidy(result.output[-ENDS:]).split("\n")
    last = next((line for line in reversed(lines) if line.strip() and not _is_code(line)), "")
    return one_line(last) if len(last) <= LINE // 2 else ""


def _worded(text: str) -> str:
    """Return the first line that has a word for an error; empty if there is none."""
    end = 0
    while word := _ERROR_WORD.search(text, end):
        start = text.rfind("\n", 0, word.start()) + 1
        end = (text + "\n").index("\n", word.end())
        line = text[start:end]
        if _TRACEBACK not in line and not _is_code(line):
            return line
    return ""


def _tidy(text: str) -> str:
    return _TAG.sub("", text).rstrip()


def _error_text(result: ToolResult) -> str:
    return "" if result.error is None else f"\n{result.error.message}"


def _is_code(line: str) -> bool:
    """Return whether a line only states the exit code, or that nothing was printed."""
    is_short = len(line) < LINE // 2
    return line == "(no output)" or (is_short and bool(_stated_codes(line)))


def _stated_codes(text: str) -> list[str]:
    low = text.lower()
    # Few texts have these words, and finding out is much faster than matching.
    return _EXIT_CODE.findall(low) if "code" in low or "exit" in low else []
