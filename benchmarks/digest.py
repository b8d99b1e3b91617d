"""The speed of `Digest`, compared with that of tiktoken.

    python benchmarks/digest.py [--against COMMIT]

The input is the long sessions in shared/data/transcripts next to the checkout, one by one, without
the system messages at the start and without thinking. Then all of them are read as one
conversation, to show that the time grows linearly with the text. Megabytes are millions of
characters: contents, arguments, outputs. Seconds are processor time, the best of a few runs.
Alternating with the digests of all sessions, tiktoken counts the same texts. The ratio of the two
depends less on the machine; the median over the runs is reported.

`--against` compares with an earlier commit instead: processes of both take turns at the first and
at the last million characters of that one conversation. The ratio is that of the medians.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

import attrs

from agentic.app.replay import read_transcripts
from agentic.context.compactors import Digest
from agentic.messages import Message, leading_system_count, to_plain
from agentic.tokens import Counter, TiktokenCounter
from agentic.tokens._count import message_texts

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SIZES = (2_000, 8_000, 20_000)
LEAST_MESSAGES, RUNS, TURNS = 100, 7, 5
MEGABYTE = 1_000_000
GOALS = {2_000: 20.0 / 17.7, 8_000: 10.0 / 17.7, 20_000: 10.0 / 17.7}
"""20 and 10 MB/s on the machine on which the goal was set, where tiktoken reached 17.7 MB/s."""
AGAINST = {8_000: 0.5, 20_000: 0.5}
"""The goals of `--against` 80268017, before a note explained more than it listed."""


def main() -> None:
    """Print megabytes per second for digests of several sizes, or a ratio to a commit."""
    parser = argparse.ArgumentParser(prog="python benchmarks/digest.py")
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit to compare with")
    options = parser.parse_args()
    sessions = read_sessions()
    if not sessions:
        print(f"no sessions in {DATA}")
    elif options.against:
        compare(options.against, [message for session in sessions for message in session])
    else:
        print_speeds(sessions)


def compare(commit: str, messages: Sequence[Message]) -> None:
    """Print what a megabyte takes at a commit and now, and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(ROOT), "archive", commit, "agentic"]
        files = subprocess.run(archive, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as tar:
            tar.extractall(folder, filter="data")
        print(f"seconds of the processor, the median of {TURNS} runs")
        print(f"{'1 MB':8}{'max_tokens':>10}{commit[:9]:>10}{'now':>8}{'ratio':>8}{'goal':>6}")
        pieces = {
            "first": first_megabyte(messages),
            "last": first_megabyte(messages[::-1])[::-1],
        }
        for name, piece in pieces.items():
            file = Path(folder) / f"{name}.jsonl"
            file.write_text("\n".join(json.dumps(to_plain(each)) for each in piece))
            for size in SIZES:
                taken: dict[str, list[float]] = {folder: [], str(ROOT): []}
                for _ in range(TURNS):
                    for tree, runs in taken.items():
                        runs.append(seconds_in(tree, file, size))
                then, now = map(statistics.median, taken.values())
                goal = AGAINST.get(size, "")
                row = f"{name:8}{size:10}{then:10.3f}{now:8.3f}{now / then:8.2f}{goal:>6}"
                print(row, flush=True)


def first_megabyte(messages: Sequence[Message]) -> list[Message]:
    """Return the first messages, up to a megabyte."""
    ends = accumulate(size_of([message]) for message in messages)
    return [message for message, end in zip(messages, ends, strict=True) if end <= MEGABYTE]


def seconds_in(tree: str, file: Path, size: int) -> float:
    """Return the seconds that a digest takes with the package in a folder."""
    worker = Path(__file__).with_name("digest_seconds.py")
    done = subprocess.run(
        [sys.executable, str(worker), str(file), str(size)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": tree},
    )  # fmt: skip
    return float(done.stdout)


def print_speeds(sessions: Sequence[Sequence[Message]]) -> None:
    """Print megabytes per second, beside tiktoken."""
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(DATA / "tiktoken_cache"))
    tiktoken = TiktokenCounter()
    if not tiktoken.is_exact:
        print("tiktoken has no vocabulary, and nothing to compare with")
        return
    together = [message for session in sessions for message in session]
    texts = [text for message in together for text in message_texts(message)]
    print(f"{len(sessions)} sessions, {size_of(together) / 1e6:.2f} MB")
    print(f"{'max_tokens':>10}{'MB/s':>8}{'as one, MB/s':>14}{'of tiktoken':>13}")
    for size in SIZES:
        digest = Digest(max_tokens=size)
        each = sum(min(seconds(digest.write, [*one]) for _ in range(RUNS)) for one in sessions)
        pairs = [
            (seconds(digest.write, together), seconds(count_all, tiktoken, texts))
            for _ in range(RUNS)
        ]
        in_one = min(mine for mine, _ in pairs)
        quotient = statistics.median(theirs / mine for mine, theirs in pairs)
        missed = "" if quotient >= GOALS[size] else f"   the goal is {GOALS[size]:.0%}"
        speed, speed_in_one = (size_of(together) / 1e6 / taken for taken in (each, in_one))
        print(f"{size:10}{speed:8.1f}{speed_in_one:14.1f}{quotient:13.1%}{missed}")


def count_all(counter: Counter, texts: list[str]) -> int:
    """Count texts one by one."""
    return sum(map(counter.count, texts))


def seconds(work: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of a call, in seconds."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def size_of(messages: Sequence[Message]) -> int:
    """Count the characters of all texts."""
    return sum(
        len(message.content)
        + sum(len(call.arguments) for call in message.tool_calls)
        + sum(len(result.text) for result in message.tool_results)
        for message in messages
    )


def read_sessions() -> list[list[Message]]:
    """Read the long sessions; none if the folder does not exist."""
    paths = [
        path
        for path in sorted((DATA / "transcripts").glob("*.jsonl"))
        if path.name != "index.jsonl"
    ]
    sessions = map(read_session, paths)
    return [session for session in sessions if len(session) >= LEAST_MESSAGES]


def read_session(path: Path) -> list[Message]:
    """Read a session without its thinking, which is not sent to a provider again."""
    [transcript] = read_transcripts(path)
    messages = [attrs.evolve(message, reasoning="") for message in transcript.messages]
    return messages[leading_system_count(messages) :]


if __name__ == "__main__":
    main()
