"""How a call went: whether it failed, and the line that names the error.

A result that carries an error failed. Otherwise the exit code that an output shows decides, and
where it shows none, a short table of what shells, interpreters and editing tools print. The words
are those of programs, which hardly any program translates.
"""

import re

from agentic.context.digest._text import LINE, cut, one_line
from agentic.messages import ToolResult

__all__ = ["error_line", "failed", "last_line"]

_ENDS = 400
"""Characters at either end of an output in which an exit code is looked for: harnesses write it
around what the command printed, and a file that is printed may hold any text."""

_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exited with(?: code| status)?|exit(?: code| status))"
    r"[\"'>:=\s]*(-?[0-9]+)\b"
)
_TRACEBACK = "Traceback (most recent call last)"
_REFUSAL = re.compile(
    r"(?:Error|error|ERROR|fatal)\b[^\n]*:|<tool_use_error>|[^\n]*(?:No such file|not found in|"
    r"command not found|Permission denied|String to replace not found|no changes|did not apply)"
)
"""How the output of a call begins that was refused."""
_NAMED_ERROR = re.compile(
    r"^[ \t]*(?:E +)?[\w.]*(?:Error|Exception|Exit|Interrupt)\b(?::.*)?$", re.MULTILINE
)
_ERROR_WORD = re.compile(
    r"\b(?:errors?|fatal|panic|failed|failure|exception|cannot|denied|refused|not found|no such|"
    r"no module|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z_]+>")


def failed(result: ToolResult, *, is_command: bool) -> bool:
    r"""Return whether a call failed.

    >>> failed(ToolResult("c1", "bash", "no rule\nexit code: 2"), is_command=True)
    True
    """
    if result.error is not None:
        return True
    text = result.output
    if not is_command:
        return bool(_REFUSAL.match(text))
    if codes := _exit_codes(text if len(text) < _ENDS else f"{text[:_ENDS]}\n{text[-_ENDS:]}"):
        return codes[-1] != "0"
    # A long output may be the text of a file.
    return _TRACEBACK in text or (len(text) < _ENDS and bool(_REFUSAL.match(text)))


def error_line(result: ToolResult) -> str:
    """Return the line that names the error, if it is long the beginning; empty if none does."""
    message = f"\n{result.error.message}" if result.error else ""
    text = _TAG.sub("", result.output + message)
    # The last error of a traceback is the one that was raised; a bare name says too little.
    named = sorted(_NAMED_ERROR.findall(text), key=lambda line: ":" in line)
    lines = named[-1:] or [line for line in text.split("\n") if _ERROR_WORD.search(line)]
    told = (line for line in lines if _TRACEBACK not in line and not _is_code(line))
    return cut(one_line(next(told, "")), LINE)


def last_line(result: ToolResult) -> str:
    """Return the last line that a program printed, if it is a short one."""
    lines = _TAG.sub("", result.output[-_ENDS:]).split("\n")
    last = next((line for line in reversed(lines) if line.strip() and not _is_code(line)), "")
    return one_line(last) if len(last) <= LINE // 2 else ""


def _is_code(line: str) -> bool:
    """Return whether a line only states the exit code, or that nothing was printed."""
    return line == "(no output)" or (len(line) < LINE // 2 and bool(_exit_codes(line)))


def _exit_codes(text: str) -> list[str]:
    low = text.lower()
    # Few texts have these words, and finding out is much faster than matching.
    return _EXIT_CODE.findall(low) if "code" in low or "exit" in low else []
