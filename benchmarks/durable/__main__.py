"""Print what durable runs cost: `python -m benchmarks.durable [options]`; about three minutes.

On PostgreSQL, a server of its own that waits for its disk, and on SQLite. The ways to make a turn
are measured in turn, and each by its fastest round; ratios are to the engine's steps alone. Needs
the extras `durable` and `postgres`, and Linux.
"""

import argparse
import asyncio
import platform
import runpy
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from psycopg.conninfo import conninfo_to_dict

from benchmarks.durable._fleet import (
    Place,
    measure_load,
    measure_sizes,
    measure_submit,
    measure_waiting,
)
from benchmarks.durable._steps import Cost, measure_steps

SERVER = Path(__file__).parents[2] / "tests" / "history" / "postgres" / "server.py"
NAMES = {
    "bare": "the engine's steps alone",
    "wrapped": "with agentic.durable",
    "served": "a run of the service",
    "plain": "the loop without durability",
}


def main() -> None:
    """Measure what was asked for."""
    given = _parse()
    print(f"{platform.machine()}, {platform.python_implementation()} {platform.python_version()}")
    with runpy.run_path(str(SERVER))["Server"](fsync=not given.no_fsync) as server:
        for kind in given.databases:
            with _place(kind, server, given) as make:
                print(f"\n# {kind}")
                for part in given.parts:
                    PARTS[part](make, given)


@contextmanager
def _place(kind: str, server: Any, given: argparse.Namespace) -> Iterator[Any]:
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        names = iter(range(100))

        def make(calls: int) -> Place:
            if kind == "sqlite":
                runs, sessions = (f"{folder}/{name}-{next(names)}.db" for name in ("runs", "s"))
                return Place(f"sqlite:///{runs}", sessions, given.turns, calls)
            of = conninfo_to_dict(server.make_database())
            who, where = f"{of['user']}:{of['password']}", f"{of['host']}:{of['port']}"
            url = f"postgresql://{who}@{where}/{of['dbname']}"
            return Place(url, url, given.turns, calls)

        yield make


def print_steps(make: Any, given: argparse.Namespace) -> None:
    """Print what a turn costs, by what."""
    for calls, retry in ((1, "always"), (3, "always"), (1, "never")):
        steps = 1 + calls * (2 if retry == "never" else 1)
        place = attrs.evolve(make(calls), turns=3 * given.turns)
        costs = asyncio.run(measure_steps(place, given.rounds, retry))
        note = ", retry='never'" if retry == "never" else ""
        print(f"\n## a turn of {calls} calls{note}: {steps} steps")
        bare = costs["bare"]
        for name, found in costs.items():
            wall, used = _least(found, "wall"), _least(found, "processor")
            print(
                f"  {NAMES[name]:28} {wall:6.1f} ms, {wall / steps:4.1f} a step, "
                f"{wall / _least(bare, 'wall'):5.2f}; "
                f"processor {used:6.1f} ms, {used / _least(bare, 'processor'):5.2f}"
            )


def print_load(make: Any, given: argparse.Namespace) -> None:
    """Print turns per second with several workers, and what a turn leaves in the database."""
    place, turns = make(given.calls), 0
    print(f"\n## {given.sessions} sessions of {given.turns} turns, {given.calls} calls each")
    for workers in given.workers if place.is_postgres else [1]:
        load = asyncio.run(measure_load(place, workers, given.sessions))
        turns += (given.sessions + workers) * given.turns
        cores = ", ".join(
            f"{name} {value:.2f}" for name, value in load.cores.items() if name != "of"
        )
        print(f"  {workers} workers: {load.turns_per_second:.1f} turns per second")
        print(f"    processors busy, of {load.cores['of']:.0f}: {cores}")
        if load.waits:
            waits = ", ".join(f"{kind} {number:.2f}" for kind, number in load.waits.items())
            print(f"    connections active: {waits}; {load.commits:.1f} transactions a turn")
    print("  a turn leaves")
    sizes = measure_sizes(place, turns)
    for name, (rows, size) in sizes.items():
        print(f"    {name:28} {rows:6.2f} rows {size:8.0f} bytes")
    print(f"    {'all':28} {'':11} {sum(size for _, size in sizes.values()):8.0f} bytes")


def print_submit(make: Any, given: argparse.Namespace) -> None:
    """Print how long a submission takes."""
    times = asyncio.run(measure_submit(make(given.calls), given.submits))
    p50, p99 = (1000 * times[int(len(times) * share)] for share in (0.5, 0.99))
    print(f"\n## submit: median {p50:.1f} ms, p99 {p99:.1f} ms, of {len(times)}")


def print_waiting(make: Any, given: argparse.Namespace) -> None:
    """Print what a session takes whose run waits for a person."""
    found = asyncio.run(measure_waiting(make(1), given.waiting))
    print("\n## runs that wait for approval, in one worker")
    for each in found:
        print(f"  {each.count:5}: {each.megabytes:6.1f} MB, {each.cores:.2f} processors")
    first, last = found[1], found[-1]
    if last.count > first.count:
        growth = (last.megabytes - first.megabytes) / (last.count - first.count)
        print(f"  {1024 * growth:.0f} KB for each")


PARTS = {
    "steps": print_steps,
    "load": print_load,
    "submit": print_submit,
    "waiting": print_waiting,
}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durable", description=__doc__)
    option = parser.add_argument
    option("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    databases = ["postgresql", "sqlite"]
    option("--databases", nargs="+", choices=databases, default=databases)
    option("--workers", nargs="+", type=int, default=[1, 2, 4])
    option("--sessions", type=int, default=40, help="sessions that are served side by side")
    option("--turns", type=int, default=10, help="turns of a run")
    option("--calls", type=int, default=3, help="tool calls of a turn")
    option("--rounds", type=int, default=5, help="of the ways that are compared")
    option("--submits", type=int, default=500)
    option("--waiting", nargs="+", type=int, default=[50, 500], help="waiting runs, rising")
    option("--folder", help="where the SQLite files are; by default, that of temporary files")
    option("--no-fsync", action="store_true", help="the server does not wait for its disk")
    return parser.parse_args()


def _least(found: list[Cost], field: str) -> float:
    # Whatever else the machine does makes a round slower, and never faster.
    return float(min(getattr(cost, field) for cost in found))


if __name__ == "__main__":
    main()
