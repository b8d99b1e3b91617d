"""Fact: commands that failed and never succeeded later, each by the line that names its error."""

import re
from collections.abc import Sequence

from benchmarks.retention.facts.shell import simple_commands
from benchmarks.retention.facts.transcript import Call, Raw, calls_of

__all__ = ["error_lines", "failures_of", "kept_failures"]

SHOWN = 40
"""So many characters of the line must stand in a view, or all of a shorter line."""
_NAMES_ERROR = re.compile(
    r"\b[A-Z]?\w*(?:Error|Exception)\b|^(?:[a-z_]\w*\.)+[A-Z]\w+:|\bFAIL(?:ED|URE)?\b|"
    r"(?i:\berror(?:\[\w+\])?\s*:|\berror TS[0-9]+|\bfatal:|\bpanic|\bnpm (?:error|err!)|"
    r"\bassert\w* failed|command not found|no such file|not found|permission denied|\bcannot\b|"
    r"\bunable to\b|\btimed out\b|\bsyntax error|\bmalformed\b|\bno module named\b)"
)
_SOURCE = re.compile(r"raise |except |File \"")
"""How a line of a traceback begins that shows where the error is, and does not name it."""
_CAPTION = re.compile(
    r"</?\w+>|.*\b(?:exit(?:ed)?|return) ?(?:with )?(?:code|status)\b.*", re.IGNORECASE
)
_REFUSED = re.compile(
    r"the user doesn't want|rejected by (?:the )?user|user (?:denied|rejected)", re.IGNORECASE
)
_ONLY_SHOW = {
    "tail",
    "head",
    "grep",
    "cat",
    "wc",
    "sort",
    "less",
    "tee",
    "uniq",
    "sed",
    "awk",
    "echo",
}


def failures_of(messages: Sequence[Raw]) -> list[list[str]]:
    """Return, for each command that failed and never succeeded later, the lines of its error.

    Commands are one if they end in the same simple command, whatever is before it (`cd`, a file
    that is written first), behind it (`| tail -5`), or redirected. The same failure of a command
    counts once: the last one. A command whose output names no error, or that the user refused, does
    not count.
    """
    standing: dict[str, list[str]] = {}
    for call in calls_of(messages):
        if not call.command or call.output is None:
            continue
        for about in [_about(call.command)] if call.failed else _all_of(call.command):
            standing.pop(about, None)
        if call.failed and not _REFUSED.search(call.output):
            standing[_about(call.command)] = error_lines(call)
    return [lines for lines in standing.values() if lines]


def error_lines(call: Call) -> list[str]:
    """Return the lines of an output that name an error."""
    lines = [" ".join(line.split()) for line in (call.output or "").split("\n")]
    lines = [line for line in lines if not _CAPTION.fullmatch(line) and not _SOURCE.match(line)]
    return [line for line in lines if _NAMES_ERROR.search(line)]


def kept_failures(messages: Sequence[Raw], view: str) -> tuple[int, int]:
    """Count the failures of which a line of the error stands in a view, and all of them."""
    shown = "\n".join(" ".join(line.split()) for line in view.split("\n"))
    failures = failures_of(messages)
    return sum(any(_stands(line, shown) for line in lines) for lines in failures), len(failures)


def _stands(line: str, shown: str) -> bool:
    starts = range(max(1, len(line) - SHOWN + 1))
    return any(line[at : at + SHOWN] in shown for at in starts)


def _about(command: str) -> str:
    return _all_of(command)[-1]


def _all_of(command: str) -> list[str]:
    """Return the simple commands that do something, each as one text."""
    found = [
        f"{' '.join(each.words)} {each.body}".strip()
        for each in simple_commands(command)
        if each.words and not (each.piped and each.program in _ONLY_SHOW) and each.program != "cd"
    ]
    return found or [command]
