"""What a help text costs beside a bare interpreter, by whichever agentic is on the path.

    PYTHONPATH=CHECKOUT python benchmarks/help_texts.py

The processor time of `agentic NAME --help` by that of `python -c pass`, the least of six each.
"""

import os

from import_time import cost  # type: ignore[import-not-found]  # beside this script

NAMES = ("replay", "chat", "serve")
STARTS = 6


def main() -> None:
    """Print a line for each command."""
    start = "import sys; from agentic.__main__ import main; sys.argv[1:] = [{!r}, '--help']; main()"
    # The current folder would come before the path.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    ways = {"pass": "pass", **{name: start.format(name) for name in NAMES}}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(STARTS):
        for name, statement in ways.items():
            best[name] = min(best[name], cost(statement, environment))
    for name in NAMES:
        print(f"agentic {name} --help {best[name] / best['pass']:.2f}")


if __name__ == "__main__":
    main()
