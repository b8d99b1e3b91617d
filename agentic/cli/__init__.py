"""The `agentic` command: cut, count, talk, and look after stored sessions.

`agentic --help` lists the commands; each loads only what it needs. The exit status is 0 if all went
well, 1 for a problem, which is told in a sentence on stderr, 2 for a command line that is none, 130
after Ctrl-C, and 141 where whoever read the output stopped reading.
"""

from agentic.cli._main import main

__all__ = ["main"]
