"""Run the agents of every framework that is installed: `python -m benchmarks.worlds [NAME ...]`.

With `--environments FOLDER` a framework that is not installed here is run by the Python of
FOLDER/NAME-newest, which `tests/bridges/run_versions.py --folder FOLDER` makes. A module of this
folder is one framework. It has `ways() -> dict[str, Agent]`, from the name of a way to keep the
window to an agent, and `overhead() -> float`, the milliseconds of processor time that ours takes
for a turn on top of 2,000 messages.
"""

import argparse
import asyncio
import gc
import importlib
import logging
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

from benchmarks.worlds._run import measure

_HEADINGS = (
    *("framework", "way", "turns", "refused", "request missing", "summaries", "their dollars"),
    *("tokens sent", "cache", "dollars", "ms at 2,000"),
)


def main() -> int:
    """Print a row for each framework and way; return the exit status."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}")
    parser.add_argument("--environments", type=Path, help="the folder of run_versions.py")
    parser.add_argument("--rows", action="store_true", help="print no headings")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in names]:
        print(f"no framework named {unknown[0]!r}; there are: {', '.join(names)}")
        return 2
    if not options.rows:
        print(f"| {' | '.join(_HEADINGS)} |\n|{'---|' * len(_HEADINGS)}", flush=True)
    for name in options.names or names:
        _run(name, options.environments)
    return 0


def _run(name: str, environments: Path | None) -> None:
    try:
        module = importlib.import_module(f"benchmarks.worlds.{name}")
    except ImportError as problem:
        python = environments and environments / f"{name}-newest" / "bin" / "python"
        if python is None or not python.exists():
            print(f"not measured: {name} ({problem})", file=sys.stderr)
            return
        command = [str(python), "-m", "benchmarks.worlds", "--rows", name]
        root = str(Path(__file__).resolve().parents[2])
        subprocess.run(command, check=False, cwd=root, env={**os.environ, "PYTHONPATH": root})
        return
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # A full collection of what the imports made takes 100 ms, more than all turns together.
    gc.collect()
    gc.freeze()
    milliseconds = f"{module.overhead():.1f}"
    for way, agent in module.ways().items():
        started = time.perf_counter()
        try:
            row = asyncio.run(measure(agent)).row
        except Exception as error:  # noqa: BLE001  one way must not end the table
            row = f"given up: {type(error).__name__}: {error}"
        print(f"| {name} | {way} | {row} | {milliseconds if way == 'ours' else ''} |", flush=True)
        print(f"{name}, {way}: {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
