"""What `bridges.dicts.Conversation.fit` costs at every turn of a list of OpenAI dicts.

    python -m benchmarks.dicts [turns]
    python -m benchmarks.dicts --against COMMIT

A list that grows to 2,000 turns (4,000 messages) is sent at each of them: as it is, and as equal
but new objects, as a checkpointer or a web handler loads them. Counting and the compactor cost next
to nothing here, and the making of the copies is left out. Seconds are those of a clock on the wall:
on some machines reading that of the processor costs as much as half a turn. For comparison:
decoding the whole list at each turn, measured on every fiftieth turn and scaled up, and what other
libraries take for the same list (see `peers.py`).

`--against` compares with an earlier commit: processes of both take turns, seconds are those of the
processor, and the ratio is that of the medians.
"""

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

from agentic.providers import openai_chat
from benchmarks.dicts import growth
from benchmarks.dicts.growth import TURNS, WINDOW, Letters, exchange, measure
from benchmarks.dicts.peers import INSTALL, measure_peers

_ROOT = Path(__file__).parents[2]
_REPEATS = 5
_GOALS = {"same": 0.7, "equal": 0.6}
"""The goals of `--against` 80268017, before requests only grew."""
GOAL_SECONDS, GOAL_SECONDS_OF_COPIES = 0.5, 2.0


def decode_every_turn(turns: int) -> float:
    """Return the seconds that decoding the whole list takes at each turn."""
    history: list[dict[str, Any]] = []
    seconds = 0.0
    for number in range(turns):
        history += exchange(number)
        if number % 50 == 0:
            start = time.perf_counter()
            openai_chat.decode(history)
            seconds += time.perf_counter() - start
    return seconds * 50


def compare(commit: str, turns: int) -> None:
    """Print what both take, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(_ROOT), "archive", commit, "agentic"]
        files = subprocess.run(archive, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as tar:
            tar.extractall(folder, filter="data")
        print(f"{turns:,} turns, seconds of the processor, the median of {_REPEATS} runs")
        print(f"{'objects':10}{commit[:9]:>10}{'now':>8}{'ratio':>8}{'goal':>6}")
        for objects, goal in _GOALS.items():
            seconds: dict[str, list[float]] = {folder: [], str(_ROOT): []}
            for _ in range(_REPEATS):
                for tree, runs in seconds.items():
                    runs.append(_run(tree, turns, objects))
            then, now = map(statistics.median, seconds.values())
            print(f"{objects:10}{then:10.3f}{now:8.3f}{now / then:8.2f}{goal:6.1f}", flush=True)


def _run(tree: str, turns: int, objects: str) -> float:
    command = [sys.executable, growth.__file__, str(turns), objects]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": tree}
    )
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dicts")
    parser.add_argument("turns", type=int, nargs="?", default=TURNS)
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit to compare with")
    options = parser.parse_args()
    if options.against:
        compare(options.against, options.turns)
    else:
        print_table(options.turns)


def print_table(turns: int) -> None:
    """Print what each turn of a list costs here, and elsewhere."""
    whole = decode_every_turn(turns)
    print(f"{turns:,} turns, {2 * turns:,} messages, a window of {WINDOW:,} tokens")
    print(f"{'':32}{'seconds':>9}{'goal':>7}{'ratio':>9}{'summaries':>11}{'counted':>9}")
    for name, goal, copies in (
        ("fit, the same objects", GOAL_SECONDS, False),
        ("fit, equal but new objects", GOAL_SECONDS_OF_COPIES, True),
    ):
        seconds, letters = measure(turns, copies=copies)
        ratio = f"{seconds / whole:9.4f}"
        print(
            f"{name:32}{seconds:9.2f}{goal:7.1f}{ratio}{letters.summaries:11,}{letters.counted:9,}",
            flush=True,
        )
    print(f"{'decode all, every turn':32}{whole:9.2f}{'':7}{1:9.4f}", flush=True)
    for peer, taken in measure_peers(turns, WINDOW, exchange, Letters().count):
        if taken is None:
            print(f"{peer.name} is not installed and has no row; to have it: {INSTALL}")
        else:
            print(f"{peer.name:32}{taken:9.2f}{'':7}{taken / whole:9.4f}", flush=True)


if __name__ == "__main__":
    main()
