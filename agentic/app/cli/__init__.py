"""The `agentic` command: truncate, count, chat, manage stored sessions, and replay transcripts.

`agentic --help` lists the commands; each loads only what it needs. The exit status is 0 for
success, 1 for a problem (one sentence on stderr), 2 for an invalid command line, 130 after Ctrl-C,
and 141 if the reader of the output stopped reading.
"""

import collections.abc
import sys

from agentic._base import _imports

__all__ = ["main"]


def main(arguments: collections.abc.Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return its exit status.

    Without the extra `cli`, print how to install it.
    """
    try:
        with _imports.quietly():
            from agentic.app.cli._command_line import run  # noqa: PLC0415  the extra may be missing

        return run(arguments)
    # Ctrl-C while modules are imported, which takes longer than many a command; 130 as for `run`.
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "click":
            raise
        remedy = _imports.pip_install("agentic-weave[cli]")
        sys.stderr.write(f"agentic: the command line is not installed: {remedy}\n")
        return 1
