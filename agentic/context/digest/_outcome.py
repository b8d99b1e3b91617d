"""How a call went: whether it failed, and the line of its output that names the error.

A result that carries an error failed. Otherwise the exit code that an output shows decides, and
where it shows none, a short table of what shells, interpreters and editing tools print. The words
are those of programs, which hardly any program translates.
"""

import re

from agentic.context.digest._cut import cut
from agentic.context.digest._turns import Called

__all__ = ["error_line", "failed", "last_line"]

_ENDS = 400
"""Characters at either end of an output in which an exit code or a refusal is looked for: harnesses
write them around what the command printed, and a file that is printed may hold any text."""
_LINE_CHARS = 200
"""Longest line that is quoted: two lines of a terminal, enough to recognize an error by."""

_LONG = 4000
"""Characters of a line that are looked at: minified files have lines of megabytes."""
_SHORT = 60
"""Longest line that only states an exit code."""

_EXIT_CODE = re.compile(
    r"(?:return_?code|exit_?code|exited with(?: code| status)?|exit(?: code| status))"
    r"[\"'>:=\s]{0,4}(-?[0-9]{1,5})\b"
)
_NOTHING = "(no output)"
_TRACEBACK = "Traceback (most recent call last)"
_SHELL_ERROR = re.compile(
    r": (?:(?:command )?not found|No such file or directory|Permission denied)$"
    r"|: No module named \S+$|^(?:fatal|error|npm error): ",
    re.MULTILINE,
)
_REFUSAL = re.compile(
    r"(?:Error|error|ERROR)\b.{0,30}:|<tool_use_error>|.{0,80}(?:String to replace not found|"
    r"No such file|Could not find|not found in|no changes|did not apply)",
    re.DOTALL,
)
_NAMED_ERROR = re.compile(r"(?:E +)?[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b(?::|$)")
_ERROR_WORD = re.compile(
    r"\b(?:error|errors|fatal|panic|failed|failure|exception|cannot|denied|refused|not found|"
    r"no such|no module|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z_]+>")


def failed(turn: Called, *, hidden: bool = False) -> bool:
    """Return whether a call failed. A call without a result has not failed.

    `hidden` says that the exit code is that of a filter behind the command, so that it says little.
    """
    if turn.result is None:
        return False
    if turn.result.error is not None:
        return True
    output = turn.result.output
    if turn.kind != "run":
        return bool(_REFUSAL.match(output))
    code = _exit_code(output)
    if code is not None and (code or not hidden):
        return code != 0
    if _TRACEBACK in output:
        return True
    # In a long output such a line may be the text of a file.
    return len(output) <= _ENDS and bool(_SHELL_ERROR.search(_TAG.sub("", output).rstrip()))


def _exit_code(output: str) -> int | None:
    for window in (output[-_ENDS:], output[:_ENDS]):
        if found := _stated_codes(window):
            return int(found[-1])
    return None


def _stated_codes(text: str) -> list[str]:
    low = text.lower()
    # Few texts have these words, and finding out is much faster than matching.
    return _EXIT_CODE.findall(low) if "code" in low or "exit" in low else []


def error_line(turn: Called) -> str:
    """Return the line that names the error, at most 200 characters of it; empty if none does."""
    named = worded = ""
    for line in filter(None, map(_said, _printed(turn).split("\n"))):
        # The last error of a traceback is the one that was raised; a bare name says too little.
        if _NAMED_ERROR.match(line):
            named = line if ":" in line or not named else named
        elif not worded and _ERROR_WORD.search(line) and _TRACEBACK not in line:
            worded = line
    return cut(named or worded, _LINE_CHARS)


def last_line(turn: Called) -> str:
    """Return the last line that a program printed, if it is a short one."""
    lines = _printed(turn)[-_LONG:].split("\n")
    last = next(filter(None, map(_said, reversed(lines))), "")
    return last if len(last) <= _LINE_CHARS // 2 else ""


def _printed(turn: Called) -> str:
    if turn.result is None or turn.result.error is None:
        return turn.output
    return f"{turn.result.output}\n{turn.result.error.message}"


def _said(line: str) -> str:
    """Return a line without tags and indentation; nothing if it only states the exit code."""
    said = " ".join(_TAG.sub("", line[:_LONG]).split())
    stated = len(said) <= _SHORT and _stated_codes(line[:_LONG])
    return "" if stated or said == _NOTHING else said
