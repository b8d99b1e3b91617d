"""What an earlier commit took and what this one takes, each beside its limit or a peer.

    python benchmarks/before_after.py FOLDER [--repeats 3] [--parts NAME ...]

FOLDER is a worktree at the earlier commit. Each part is a script of this folder, which prints
ratios to something that it measures beside it; those of both commits take turns, and the table has
the medians. What computes runs on one core: a thread that moves to another one finds a cold cache,
which makes a figure half as large again. Half an hour on a machine that does nothing else.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

HERE = Path(__file__).resolve().parent
NOW = HERE.parent
NUMBER = r"([\d.,]+)"


@attrs.frozen
class Row:
    """A figure: the pattern that finds it in what a part prints."""

    what: str
    pattern: str
    goal: float | None = None
    by: str = ""
    """The pattern of what it is divided by, if the part does not print the ratio."""


@attrs.frozen
class Part:
    """A script with its arguments, and the rows that it prints."""

    arguments: Sequence[str]
    rows: Sequence[Row]
    one_core: bool = True


def _cell_of(begin: str, column: int) -> str:
    """Return the pattern of a number in the row of a table that begins so."""
    return rf"(?m)^ *{begin}" + r" +[\d.]+" * (column - 1) + rf" +{NUMBER}"


def _of_stores() -> Iterator[Row]:
    payloads, stores = ("decoded", "without payload"), ("JSONL", "SQLite", "PostgreSQL")
    files = stores[:2]
    names = [
        *((f"load, {store}, {payload}", 2.2) for store in stores for payload in payloads),
        *(
            (f"append one, JSONL, {payload}, beside json.dumps and write", 3.0)
            for payload in payloads
        ),
        *(
            (f"append several (8), SQLite, {payload}, beside openai-agents", 0.5)
            for payload in payloads
        ),
        *(
            (f"run on a stored conversation, {store}, beside openai-agents", 0.1)
            for store in stores
        ),
        *(
            (f"bytes, {store}, {payload}, beside bare JSON", goal)
            for store, goal in zip(files, (1.3, 2.0), strict=True)
            for payload in payloads
        ),
        ("WAL of an open SQLite store at rest, MB", 4.0),
    ]
    for name, goal in names:
        yield Row(name, rf'"{re.escape(name)}": {NUMBER}', goal)


_SERVED = "(?s)a turn of 1 calls: .*?a run of the service.*?processor"
_LENGTHS = ("2,000", "8,000", "16,000")
PARTS = {
    "sight": Part(
        ["first_sight.py"],
        [
            *(
                Row(
                    f"a stranger beside the first sight of {length} messages",
                    _cell_of(length, 7),
                    5,
                )
                for length in _LENGTHS[:2]
            ),
            *(
                Row(f"the event loop stands still, {length} messages, ms", _cell_of(length, 3), 50)
                for length in _LENGTHS[:2]
            ),
        ],
        one_core=False,
    ),
    "fit": Part(
        ["first_fit.py", "--rounds", "3"],
        [
            *(
                Row(f"first cut of {length} messages, by decoding them", _cell_of(length, 3), 5)
                for length in _LENGTHS
            ),
            Row("memory of 200 turns, all sent, by its list", rf"all of it +{NUMBER}", 1.5),
            Row("memory of 200 turns, cut, by its list", rf"cut +{NUMBER}", 1.5),
            Row("memory of 200 turns in a proxy, by the JSON", rf"in a proxy +{NUMBER}", 2.5),
        ],
    ),
    "stores": Part(["stores.py", "--turns", "500", "--postgres", "--json"], [*_of_stores()]),
    "help": Part(
        ["help_texts.py"],
        [
            Row(f"agentic {name} --help, by python -c pass", rf"{name} --help {NUMBER}", 12)
            for name in ("replay", "chat", "serve")
        ],
    ),
    "counters": Part(
        ["counters.py"],
        [
            Row(f"{name}, by quicktok.count", rf"{name}: .*, {NUMBER}", goal)
            for counter, goal in (("QuicktokCounter", 1.15), ("EstimateCounter", 1))
            for name in (
                f"{counter}, {size} characters of {kind}"
                for size in ("40", "40,000")
                for kind in ("prose", "code")
            )
        ],
    ),
    "loop": Part(
        ["peers.py", "--here", "--repeats", "1", "loop"],
        [
            Row(
                f"Runner, a turn with one call, by {peer}",
                rf"agentic \S+ +{NUMBER}",
                goal,
                rf"{peer} \S+ +{NUMBER}",
            )
            for peer, goal in (("langchain", 0.09), ("openai-agents", None), ("pydantic-ai", None))
        ],
    ),
    "durable": Part(
        ["-m", "benchmarks.durable", "--parts", "steps", "--databases", "postgresql"],
        [
            Row(
                "a turn of the service, one call, by the engine's steps alone",
                rf"{_SERVED} +[\d.]+ ms, +{NUMBER}",
                1.25,
            ),
            Row(
                "the same, ms of the processor",
                rf"{_SERVED} +{NUMBER}",
            ),
        ],
        one_core=False,
    ),
    "transactions": Part(
        [
            *("-m", "benchmarks.durable", "--parts", "load", "--databases", "postgresql"),
            *("--calls", "1", "--workers", "1", "--sessions", "10"),
        ],
        [Row("transactions of a turn of the service", rf"{NUMBER} transactions a turn", 12)],
        one_core=False,
    ),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python benchmarks/before_after.py")
    parser.add_argument("before", type=Path, metavar="FOLDER")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    if not (options.before / "agentic").is_dir():
        parser.error(f"{options.before} is no checkout: git worktree add FOLDER 80268017 makes one")
    print("| what | before | now | goal |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        checkouts = {"before": options.before.resolve(), "now": NOW}
        for name in options.parts:
            print_rows(PARTS[name], checkouts, options.repeats, cache)


def print_rows(part: Part, checkouts: dict[str, Path], repeats: int, cache: str) -> None:
    """Print the rows of a part."""
    figures: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(repeats):
        for column, checkout in checkouts.items():
            text = run(part, checkout, cache)
            for row in part.rows:
                figure = find(row, text)
                if figure is not None:
                    figures[row.what, column].append(figure)
                elif column == "now":
                    sys.exit(f"{' '.join(part.arguments)} does not print: {row.what}\n{text}")
    for row in part.rows:
        cells = [_cell(figures[row.what, column]) for column in checkouts]
        goal = "" if row.goal is None else f"{row.goal:g}"
        print(f"| {row.what} | {' | '.join(cells)} | {goal} |", flush=True)


def run(part: Part, checkout: Path, cache: str) -> str:
    """Return what a part prints about a checkout."""
    script, *options = part.arguments
    # A package's own modules follow the names of its checkout.
    command = [sys.executable, *([script] if script == "-m" else [str(HERE / script)]), *options]
    if part.one_core and (taskset := shutil.which("taskset")):
        command = [taskset, "--cpu-list", str(min(os.sched_getaffinity(0))), *command]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": cache}
    # Byte code is at hand, as in an installation.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE
    )
    return done.stdout.decode()


def find(row: Row, text: str) -> float | None:
    """Return the figure of a row, or None if it is not there."""
    found = re.search(row.pattern, text)
    if found is None:
        return None
    figure = float(found[1].replace(",", ""))
    if not row.by:
        return figure
    divisor = re.search(row.by, text)
    return None if divisor is None else figure / float(divisor[1].replace(",", ""))


def _cell(figures: list[float]) -> str:
    return f"{statistics.median(figures):.3g}" if figures else ""


if __name__ == "__main__":
    main()
