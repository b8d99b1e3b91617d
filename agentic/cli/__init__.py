"""The `agentic` command: cut, count, talk, look after stored sessions, and replay transcripts.

`agentic --help` lists the commands; each loads only what it needs. The exit status is 0 if all went
well, 1 for a problem, which is told in a sentence on stderr, 2 for a command line that is none, 130
after Ctrl-C, and 141 where whoever read the output stopped reading.
"""

import collections.abc
import sys

__all__ = ["main"]


def main(arguments: collections.abc.Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own, and return its exit status.

    Without the extra `cli` it says how to install that.
    """
    try:
        from agentic.cli._command_line import run  # noqa: PLC0415  the extra may be missing
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "click":
            raise
        remedy = "pip install 'agentic-weave[cli]'"
        sys.stderr.write(f"agentic: the command line is not installed: {remedy}\n")
        return 1
    return run(arguments)
