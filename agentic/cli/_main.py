"""The door of the command, which stands without the extra too."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own, and give its exit status."""
    try:
        from agentic.cli._run import run  # noqa: PLC0415  the extra may be missing
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "click":
            raise
        remedy = "pip install 'agentic-weave[cli]'"
        sys.stderr.write(f"agentic: the command line is not installed: {remedy}\n")
        return 1
    return run(arguments)
