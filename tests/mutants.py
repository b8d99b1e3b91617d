"""Draws a sample of mutmut's mutants, and counts per room what the tests noticed.

`python tests/mutants.py sample agentic.history 300` prints the names of 300 mutants, the same ones
each time. `python tests/mutants.py score` prints a line for each room.
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path

ROOMS = {
    "agentic.truncate": (),
    "agentic.messages._rounds": (),
    "agentic.context.budget": (),
    "agentic.context.view": (),
    "agentic.history": ("agentic.history.postgres",),
}
"""Each with what is left out of it: the tests of PostgreSQL start servers, so they are not run."""
SEED = 15
NOTICED = {"killed", "timeout", "segfault", "suspicious"}


def find_mutants(room: str) -> dict[str, str]:
    """Return what became of each mutant of a room, by its name, in the order of names."""
    from mutmut.stats import status_by_exit_code  # noqa: PLC0415  only here is it needed

    found = {}
    for path in Path("mutants").rglob("*.meta"):
        for name, code in json.loads(path.read_text())["exit_code_by_key"].items():
            if name.startswith(f"{room}.") and not name.startswith(ROOMS[room]):
                found[name] = status_by_exit_code[code]
    return dict(sorted(found.items()))


def sample(room: str, size: int) -> list[str]:
    """Return the names of so many mutants of a room, drawn by a fixed seed."""
    names = list(find_mutants(room))
    return random.Random(SEED).sample(names, min(size, len(names)))  # noqa: S311  not a secret


def score(room: str) -> str:
    """Return a line: how many mutants of a room were tried, and what became of them."""
    counted = Counter(find_mutants(room).values())
    everything = counted.total()
    tried = everything - counted.pop("not checked", 0)
    noticed = sum(counted[kind] for kind in NOTICED)
    share = f"{noticed / tried:.1%}" if tried else "-"
    kinds = ", ".join(f"{count} {kind}" for kind, count in counted.most_common())
    return f"{room}: {share} of {tried} tried, {everything} in all: {kinds}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["sample"]:
        lines = sample(sys.argv[2], int(sys.argv[3]))
    else:
        lines = list(map(score, ROOMS))
    print(*lines, sep="\n")
