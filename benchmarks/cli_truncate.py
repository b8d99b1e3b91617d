"""The cost of `agentic truncate` compared with head(1) and tail(1): seconds, and peak memory in MB.

Each command is a separate process whose output is discarded; the best of three runs is reported.
tail(1) reads a file from its end, and head(1) stops early. `agentic truncate` reads a whole file,
so that its notice has exact numbers, and a pipe only as far as necessary.

    python benchmarks/cli_truncate.py           a file of 1 GB, made in a temporary folder
    python benchmarks/cli_truncate.py --quick   one of 100 MB
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MB = 1_000_000
LINE = b"2026-11-21 10:15:02 INFO worker-7 finished job 48151 in 23 ms\n"
RUNS = 3
AGENTIC = f"{shlex.quote(sys.executable)} -m agentic truncate"
COMMANDS = [
    ("the start of a file", "head -n 800 big", f"{AGENTIC} --head -n 800 big"),
    ("the end of a file", "tail -n 800 big", f"{AGENTIC} --tail -n 800 big"),
    ("both ends of a file", "wc -l big", f"{AGENTIC} --middle -n 800 big"),
    ("the end of a pipe", "cat big | tail -n 800", f"cat big | {AGENTIC} --tail -n 800"),
    ("an endless pipe", "yes | head -n 800", f"yes | {AGENTIC} --head -n 800"),
    ("nothing at all", "tail -n 1 /dev/null", f"{AGENTIC} -n 1 /dev/null"),
]


def main() -> None:
    """Print a line for each task."""
    parser = argparse.ArgumentParser(description="agentic truncate beside head(1) and tail(1).")
    parser.add_argument("--quick", action="store_true", help="100 MB instead of 1 GB")
    size = (100 if parser.parse_args().quick else 1_000) * MB
    with tempfile.TemporaryDirectory() as folder:
        block = LINE * (MB // len(LINE))
        with (Path(folder) / "big").open("wb") as big:
            for _ in range(size // len(block)):
                big.write(block)
        print(f"{size // MB:,} MB{'':16} {'theirs s':>9} {'ours s':>9} {'peak MB':>9}")
        for task, theirs, ours in COMMANDS:
            print(
                f"{task:24} {seconds(theirs, folder):>9.3f} {seconds(ours, folder):>9.3f} ", end=""
            )
            print(f"{peak(ours, folder) / MB:>9.1f}")


def seconds(command: str, folder: str) -> float:
    """Return the shortest time of a shell command."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, check=False)
        best = min(best, time.perf_counter() - start)
    return best


def peak(command: str, folder: str) -> float:
    """Return the peak memory of the last process of a pipe, in bytes."""
    source, _, last = command.rpartition(" | ")
    with subprocess.Popen(
        ["/bin/sh", "-c", f"exec {source or 'true'}"], cwd=folder, stdout=subprocess.PIPE
    ) as feeding:
        running = subprocess.Popen(
            shlex.split(last),
            cwd=folder,
            stdin=feeding.stdout,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if feeding.stdout:
            feeding.stdout.close()  # so that an endless source notices that its reader is gone
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss * 1024


if __name__ == "__main__":
    main()
